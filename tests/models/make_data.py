"""Writes what LibTorch answers for the sentence model: data/ beside this file.

    $(third_party/install.sh --print-deps)/venv/bin/python tests/models/make_data.py

ids.npy, mask.npy        the four sentences of examples/sentences.txt, i64[4, longest]
eager32.npy, eager64.npy the embeddings, computed in float32 and in float64
masked_ids.npy, masked_mask.npy  three rows of which the second is masked in full
masked_VARIANT.npy       what minilm_VARIANT.pt2 itself answers for them (VARIANT sdpa, eager, decomposed)
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "models"))

import places
import sentence_model  # before torch: it switches the network off

import numpy as np
import torch

DATA = pathlib.Path(__file__).resolve().parent / "data"


def main() -> None:
    torch.set_num_threads(1)
    DATA.mkdir(exist_ok=True)
    lines = (ROOT / "examples" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    ids, mask = sentence_model.tokenize([line for line in lines if line.strip()])
    np.save(DATA / "ids.npy", ids)
    np.save(DATA / "mask.npy", mask)
    for name, dtype in [("eager32", torch.float32), ("eager64", torch.float64)]:
        model = sentence_model.load_sentence_model().to(dtype)
        with torch.no_grad():
            np.save(DATA / f"{name}.npy", model(torch.from_numpy(ids), torch.from_numpy(mask)).numpy())

    rows = np.random.default_rng(7).integers(1000, 30000, size=(3, 6))
    masked = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]])
    np.save(DATA / "masked_ids.npy", rows.astype(np.int64))
    np.save(DATA / "masked_mask.npy", masked.astype(np.int64))
    for variant in ["sdpa", "eager", "decomposed"]:
        program = torch.export.load(places.models_folder() / f"minilm_{variant}.pt2").module()
        with torch.no_grad():
            answer = program(torch.from_numpy(rows), torch.from_numpy(masked)).numpy()
        np.save(DATA / f"masked_{variant}.npy", answer)
        print(variant, "fully masked row:", answer[1, :4], "norm", float(np.linalg.norm(answer[1])))


if __name__ == "__main__":
    main()
