"""Exports the trained sentence model three ways and checks each file against LibTorch.

minilm_sdpa.pt2        attention is aten.scaled_dot_product_attention
minilm_eager.pt2       attention is written out: matmul, add, softmax, matmul
minilm_decomposed.pt2  the first one after run_decompositions(): functional core operators

All take (ids, mask) i64[batch, length], batch 1..64, length 1..512, and give f32[batch, 384].
"""

import itertools

import places
import sentence_model  # before torch: it switches the network off

import numpy as np
import torch

from save_program import save_program

SENTENCES = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A cheetah is running behind its prey.",
]
# Of the pairs (1-2), (1-3), (1-4), (2-3), (2-4), (3-4).
COSINES = [0.7553, -0.1050, 0.1419, -0.0610, 0.0622, 0.0224]


def export(model: torch.nn.Module) -> torch.export.ExportedProgram:
    dims = {
        0: torch.export.Dim("batch", min=1, max=64),
        1: torch.export.Dim("length", min=1, max=512),
    }
    example = torch.ones(3, 9, dtype=torch.int64)
    with torch.no_grad():
        return torch.export.export(
            model, (example, example.clone()), dynamic_shapes={"ids": dims, "mask": dims}
        )


def check(name: str, program: torch.export.ExportedProgram, model: torch.nn.Module) -> None:
    """The file read back, against the module, at sizes other than the example's."""
    run = program.module()
    generator = torch.Generator().manual_seed(1)
    worst = 0.0
    for batch, length in [(1, 1), (1, 16), (5, 33), (64, 3), (1, 512)]:
        ids = torch.randint(0, 30522, (batch, length), generator=generator)
        mask = torch.ones_like(ids)
        mask[batch // 2 :, (length + 1) // 2 :] = 0
        with torch.no_grad():
            worst = max(worst, (run(ids, mask) - model(ids, mask)).abs().max().item())
    ids, mask = (torch.from_numpy(array) for array in sentence_model.tokenize(SENTENCES))
    with torch.no_grad():
        rows = run(ids, mask).numpy()
    cosines = [float(a @ b) for a, b in itertools.combinations(rows, 2)]
    print(f"{name}: largest difference from the module {worst:.2e},",
          "cosines", " ".join(f"{c:.4f}" for c in cosines))
    if worst > 2e-6 or np.abs(np.array(cosines) - COSINES).max() > 1e-3:
        raise SystemExit(f"{name} does not compute what the module computes")


def main() -> None:
    folder = places.models_folder()
    sdpa = sentence_model.load_sentence_model("sdpa")
    eager = sentence_model.load_sentence_model("eager")
    sdpa_program = export(sdpa)
    programs = {
        "minilm_sdpa": (sdpa_program, sdpa),
        "minilm_eager": (export(eager), eager),
        "minilm_decomposed": (sdpa_program.run_decompositions(), sdpa),
    }
    for name, (program, model) in programs.items():
        path = folder / f"{name}.pt2"
        save_program(program, path)
        check(name, torch.export.load(path), model)
        print(f"{path}: {path.stat().st_size} bytes,",
              sum(node.op == "call_function" for node in program.graph.nodes), "call nodes")


if __name__ == "__main__":
    main()
