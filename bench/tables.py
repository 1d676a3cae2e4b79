"""Puts results into docs/performance.md: JSON lines of run.sh in, Markdown tables between the page's markers out.

    bench/run.sh all > results.jsonl && python3 bench/tables.py results.jsonl
"""

import argparse
import json
import pathlib
import re

from report import BUSY, verdict

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "performance.md"


def number(value) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float)) else ""


def quiet(lines: list[dict]) -> str:
    shares = [line["others"] for line in lines if "others" in line]
    if not shares:
        return ""
    text = f"Other processes took up to {max(shares):.0%} of the machine meanwhile"
    if max(shares) > BUSY:
        return f"{text}: **not quiet, so these show that it runs and decide no target.**"
    return text + "."


def machine(lines: list[dict]) -> str:
    line = next((line for line in lines if line["case"] == "calibration"), None)
    if line is None:
        return ""
    return (f"{line['cpu']}, Tenon for {line['isa']}, {line['threads']} threads; one core: FMA peak "
            f"{line['fma_gflops']:.0f} GFLOP/s, matrix product 512x512x512 {line['gemm_gflops']:.0f} GFLOP/s; "
            f"an empty g++ run: {line['empty_compile_ms']:.0f} ms.")


def goal(line: dict) -> str:
    return f"{line['target']} {verdict(line).replace('MISSED', '**missed**')}" if "met" in line else ""


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def compared(lines: list[dict]) -> str:
    head = ["row", "Tenon", "peer", "its", "unit", "ratio", "95 % interval", "ratio of minima", "target"]
    rows = []
    for line in lines:
        if "error" in line:
            rows.append([line["case"], "error", line.get("peer", ""), line["error"], *[""] * 5])
        elif "ratio_low" in line:
            rows.append([line["case"], number(line["tenon"]), line["peer"], number(line["peer_value"]), line["unit"],
                         f"{line['ratio']:.2f}", f"{line['ratio_low']:.2f} to {line['ratio_high']:.2f}",
                         f"{line['ratio_of_minima']:.2f}", goal(line)])
        elif line["case"] == "geomean":
            rows.append(["geomean", "", line["peer"], "", "", f"{line['ratio']:.2f}", "", "", goal(line)])
    return table(head, rows) if rows else ""


def alone(lines: list[dict]) -> str:
    head = ["row", "median", "minimum", "unit", "in empty g++ runs", "peer", "its", "target"]
    rows = []
    for line in lines:
        if "tenon" in line and "ratio_low" not in line:
            multiple = line.get("in_empty_compiles", 0)
            rows.append([line["case"], number(line["tenon"]), number(line.get("tenon_minimum")), line["unit"],
                         number(multiple) if multiple >= 0.01 else "", line.get("peer", ""),
                         number(line.get("peer_value")), goal(line)])
    return table(head, rows) if rows else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    lines = [json.loads(line) for path in parser.parse_args().results
             for line in path.read_text().splitlines() if line]
    page = PAGE.read_text()
    for bench in dict.fromkeys(line["bench"] for line in lines):
        own = [line for line in lines if line["bench"] == bench]
        parts = [part for part in [f"{machine(own)} {quiet(own)}".strip(), compared(own), alone(own)] if part]
        marked = re.compile(rf"(<!-- figures of {bench} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not marked.search(page):
            raise SystemExit(f"{PAGE} has no place for {bench}")
        text = "\n\n".join(parts)
        page = marked.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
