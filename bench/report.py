"""JSON lines on standard output while a benchmark runs, and a table on standard error at its end."""

import json
import math
import statistics
import sys

PEERS = ["eager", "torch.compile", "torch.compile-frozen", "onnxruntime", "openvino"]
# Share of the machine's processor time that others may take before a row counts as disturbed.
BUSY = 0.1


def interval(values: list[float]) -> tuple[float, float]:
    """95 % interval of the median, from order statistics: no assumption about the distribution."""
    ordered = sorted(values)
    count = len(ordered)
    below, rank = 0.0, 0
    while rank < count // 2:
        below += math.comb(count, rank) / 2**count
        if below > 0.025:
            break
        rank += 1
    # With fewer than 6 values no interval reaches 95 %; the whole range is the nearest.
    rank = max(rank, 1)
    return ordered[rank - 1], ordered[count - rank]


def geomean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def verdict(line: dict) -> str:
    """Times that were taken beside much other work decide nothing."""
    if line.get("others", 0) > BUSY:
        return "open"
    return "met" if line["met"] else "MISSED"


def rounded(value):
    """Six significant digits: more is noise."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


class Report:
    def __init__(self, bench: str):
        self.bench = bench
        self.lines: list[dict] = []
        self.empty_compile_ms: float | None = None

    def emit(self, case: str, **fields) -> dict:
        line = {"bench": self.bench, "case": case}
        line |= {name: rounded(value) for name, value in fields.items() if value is not None}
        to_ms = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}.get(line.get("unit"))
        if self.empty_compile_ms and to_ms and "tenon" in line:
            line["in_empty_compiles"] = rounded(line["tenon"] * to_ms / self.empty_compile_ms)
        print(json.dumps(line), flush=True)
        self.lines.append(line)
        return line

    def error(self, case: str, message: str, **fields) -> None:
        self.emit(case, error=message, **fields)

    def compare(self, case: str, unit: str, tenon: list[float], peer: str, theirs: list[float],
                lowest: float | None = None, **fields) -> float:
        """One value a round of each, taken in turns; the ratio is the median of the rounds' ratios, and is returned.
        A `lowest` ratio is missed when the whole interval is below it."""
        ratios = [b / a for a, b in zip(tenon, theirs)]
        low, high = interval(ratios)
        goal = {} if lowest is None else {"target": f"{lowest}", "met": high >= lowest}
        self.emit(case, tenon=statistics.median(tenon), peer=peer,
                  peer_value=statistics.median(theirs), unit=unit,
                  ratio=statistics.median(ratios), ratio_low=low, ratio_high=high,
                  tenon_minimum=min(tenon), peer_minimum=min(theirs), ratio_of_minima=min(theirs) / min(tenon),
                  rounds=len(ratios), **fields, **goal)
        return statistics.median(ratios)

    def alone(self, case: str, unit: str, tenon: list[float], **fields) -> None:
        self.emit(case, tenon=statistics.median(tenon), unit=unit, tenon_minimum=min(tenon),
                  rounds=len(tenon), **fields)

    def table(self) -> None:
        columns = ["case", "tenon", "minimum", "unit", "peer", "peer_value", "ratio", "interval", "of minima",
                   "target"]
        rows = [columns]
        for line in self.lines:
            if line["case"] == "calibration":
                continue
            if "error" in line:
                rows.append([line["case"], "error", "", "", line.get("peer", ""), line["error"][:60], *[""] * 4])
                continue
            def number(name):
                return f"{line[name]:.4g}" if name in line else ""
            span = f"{line['ratio_low']:.3f} .. {line['ratio_high']:.3f}" if "ratio_low" in line else ""
            target = line.get("target", "")
            if "met" in line:
                target += ": " + verdict(line)
            rows.append([line["case"], number("tenon"), number("tenon_minimum"), line.get("unit", ""),
                         line.get("peer", ""), number("peer_value"), number("ratio"), span,
                         number("ratio_of_minima"), target])
        widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
        calibration = next((line for line in self.lines if line["case"] == "calibration"), None)
        if calibration:
            print(", ".join(f"{name} {value}" for name, value in calibration.items()
                            if name not in ("bench", "case")), file=sys.stderr)
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), file=sys.stderr)
        busy = [line["case"] for line in self.lines if line.get("others", 0) > BUSY]
        if busy:
            print(f"Not quiet: others took more than {BUSY:.0%} of the machine during "
                  f"{', '.join(dict.fromkeys(busy))}; of these only the minima say something.", file=sys.stderr)
