"""Exports BERT-base and GPT-2 (random weights) as bert_base.pt2 and gpt2.pt2, and checks them.

Batch 1..64 and length 1..512 (GPT-2: 1..1024) are dynamic.
"""

import argparse

import places
import language_models

import torch

from save_program import save_program


def export(model: torch.nn.Module) -> torch.export.ExportedProgram:
    dims = {
        0: torch.export.Dim("batch", min=1, max=64),
        1: torch.export.Dim("length", min=1, max=model.longest),
    }
    inputs = language_models.example_inputs(model, 3, 9)
    with torch.no_grad():
        return torch.export.export(model, inputs, dynamic_shapes=tuple(dims for _ in inputs))


def check(name: str, program: torch.export.ExportedProgram, model: torch.nn.Module) -> None:
    run = program.module()
    worst = 0.0
    for batch, length in [(1, 1), (1, 16), (5, 33)]:
        inputs = language_models.example_inputs(model, batch, length)
        with torch.no_grad():
            worst = max(worst, (run(*inputs) - model(*inputs)).abs().max().item())
    print(f"{name}: largest difference from the module {worst:.2e}")
    if worst > 1e-5:
        raise SystemExit(f"{name} does not compute what the module computes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", nargs="*", default=["bert_base", "gpt2"])
    for name in parser.parse_args().name:
        model = language_models.load_language_model(name)
        path = places.models_folder() / f"{name}.pt2"
        save_program(export(model), path)
        check(name, torch.export.load(path), model)
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
