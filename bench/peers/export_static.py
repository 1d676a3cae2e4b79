"""Exports BERT-base with all sizes fixed: the program that compile time with and without symbols is compared on.

    export_static.py 1x128 bert_base_1x128.pt2
"""

import argparse
import pathlib
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "models"
sys.path.insert(0, str(EXAMPLES))
sys.dont_write_bytecode = True

import language_models

import torch

from save_program import save_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shape", help="BATCHxLENGTH")
    parser.add_argument("path", type=pathlib.Path)
    arguments = parser.parse_args()
    batch, length = (int(part) for part in arguments.shape.split("x"))
    model = language_models.load_language_model("bert_base")
    inputs = language_models.example_inputs(model, batch, length)
    with torch.no_grad():
        program = torch.export.export(model, inputs)
    unfinished = arguments.path.with_suffix(".part.pt2")
    save_program(program, unfinished)
    unfinished.rename(arguments.path)


if __name__ == "__main__":
    main()
