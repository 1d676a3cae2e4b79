"""Turns sentences into the inputs of minilm_*.pt2, and into LibTorch's answer to compare with.

    tokenize_sentences.py --ids ids.npy --mask mask.npy "First sentence." "Second one."
    tokenize_sentences.py --file sentences.txt --reference eager.npy --reference64 exact.npy

(Not named tokenize.py: Python's own module of that name would be hidden by it.)
"""

import argparse
import pathlib

import sentence_model

import numpy as np
import torch


def embed(ids: np.ndarray, mask: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    model = sentence_model.load_sentence_model().to(dtype)
    with torch.inference_mode():
        return model(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sentence", nargs="*")
    parser.add_argument("--file", type=pathlib.Path, help="text, one sentence a line")
    parser.add_argument("--ids", default="ids.npy", help="i64[batch, longest], padded with 0")
    parser.add_argument("--mask", default="mask.npy", help="i64[batch, longest], 1 at tokens")
    parser.add_argument("--reference", help="write LibTorch eager's f32[batch, 384]")
    parser.add_argument("--reference64", help="write the same computed in float64")
    arguments = parser.parse_args()
    sentences = list(arguments.sentence)
    if arguments.file:
        lines = arguments.file.read_text(encoding="utf-8").splitlines()
        sentences += [line for line in lines if line.strip()]
    if not sentences:
        parser.error("no sentence given")
    ids, mask = sentence_model.tokenize(sentences)
    if ids.shape[1] > 512:
        parser.error(f"{ids.shape[1]} tokens, the model takes 512")
    np.save(arguments.ids, ids)
    np.save(arguments.mask, mask)
    if arguments.reference:
        np.save(arguments.reference, embed(ids, mask, torch.float32))
    if arguments.reference64:
        np.save(arguments.reference64, embed(ids, mask, torch.float64))
    print(f"{len(sentences)} sentences, {ids.shape[1]} tokens at most")


if __name__ == "__main__":
    main()
