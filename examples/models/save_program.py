"""Writes an exported program so that exporting it again gives the same bytes."""

import pathlib
import re

import torch


def save_program(program: torch.export.ExportedProgram, path: pathlib.Path) -> None:
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            # Both hold numbers that count what this process made before.
            node.meta.pop("from_node", None)
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = re.sub(r"<eval_with_key>\.\d+", "<generated>", trace)
    torch.export.save(program, path)
