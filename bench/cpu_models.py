"""Inference of whole models: Tenon and every peer on the same inputs, in turns, each in its own process."""

import contextlib
import pathlib
import statistics
import tempfile
import time

import setting
from report import PEERS, Report, geomean
from participant import Participant, ParticipantError

TORCH_COMPILE = ["torch.compile", "torch.compile-frozen"]
OTHERS = ["onnxruntime", "openvino"]
# An element may differ by this much of the result's largest element.
TOLERANCE = 1e-4


def difference(folder: pathlib.Path, peer: str) -> float:
    import numpy as np

    ours, theirs = (np.load(folder / f"out_{name}.npy") for name in ["tenon", peer])
    if ours.shape != theirs.shape:
        return float("inf")
    worst = float(np.abs(ours.astype(np.float64) - theirs).max() / np.abs(theirs).max())
    return worst if worst == worst else float("inf")


def start(stack, out: Report, case: str, name: str, command: list[str]) -> Participant | None:
    try:
        participant = Participant(name, command)
    except ParticipantError as error:
        out.error(case, str(error), **({} if name == "tenon" else {"peer": name}))
        return None
    stack.callback(participant.kill)
    return participant


def take_turns(participants: list[Participant], rounds: int, round_ms: float) -> dict[str, list[float]]:
    """Name -> one time a round, the median of the round's runs, in ms."""
    counts = {}
    for participant in participants:
        warm = min(participant.run(5))
        counts[participant.name] = max(3, min(1000, round(round_ms / max(warm, 1e-3))))
    times = {participant.name: [] for participant in participants}
    for turn in range(rounds):
        first = turn % len(participants)
        for participant in participants[first:] + participants[:first]:
            time.sleep(0.05)  # the last one's threads stop spinning
            times[participant.name].append(statistics.median(participant.run(counts[participant.name])))
    return times


def measure(arguments, out: Report, model: str, shape: str) -> dict[str, float]:
    """Peer -> ratio; "others" -> the load beside it."""
    case = f"{model}_{shape}"
    with tempfile.TemporaryDirectory() as inputs, contextlib.ExitStack() as stack:
        # A peer writes the inputs; without one the worker draws the same.
        participants = [
            start(stack, out, case, peer, setting.peer_command(arguments, peer, model, shape, "--dump", inputs))
            for peer in arguments.peers
        ]
        participants = [participant for participant in participants if participant]
        given = ["--inputs", inputs] if participants else []
        tenon = start(stack, out, case, "tenon", setting.worker_command(
            arguments, model, shape, "--no-cache", "--dump", inputs, *given))
        if not tenon:
            return {}
        fields = {"threads": arguments.threads, "isa": tenon.facts["isa"]}
        load = setting.Load([participant.process.pid for participant in [tenon, *participants]])
        try:
            times = take_turns([tenon, *participants], arguments.rounds, 60 if arguments.quick else 200)
        except ParticipantError as error:
            out.error(case, str(error), **fields)
            return {}
        fields["others"] = load.others()
        ours = times.pop("tenon")
        if not times:
            out.alone(case, "ms", ours, **fields)
        ratios = {"others": fields["others"]}
        for peer, theirs in times.items():
            off = difference(pathlib.Path(inputs), peer)
            if off > TOLERANCE:
                out.error(case, f"the result differs by {off:.2g} of its largest element", peer=peer, **fields)
                continue
            # A row fails when the upper end of its interval is below the target.
            lowest = 0.97 if peer in TORCH_COMPILE else None
            ratios[peer] = out.compare(case, "ms", ours, peer, theirs, lowest, difference=off, **fields)
        return ratios


def summarize(out: Report, rows: list[dict[str, float]], names: list[str], target: float | None) -> None:
    """Geometric mean over the rows against the best of the named peers in each row."""
    best = [min(row[name] for name in names if name in row) for row in rows if set(names) & set(row)]
    if best:
        goal = {} if target is None else {"target": f"{target}", "met": geomean(best) >= target}
        out.emit("geomean", peer=" or ".join(names), unit="ratio", ratio=geomean(best), worst=min(best),
                 rows=len(best), others=max(row.get("others", 0) for row in rows), **goal)


def main() -> None:
    arguments = setting.parse(__doc__, rounds=20, quick_rounds=6)
    out = Report("cpu-models")
    setting.calibrate(arguments, out)
    rows = []
    for model in arguments.models:
        for shape in setting.MODELS[model][2]:
            if not arguments.cases or f"{model}_{shape}" in arguments.cases:
                rows.append(measure(arguments, out, model, shape))
    for peer in PEERS:
        summarize(out, rows, [peer], 1.25 if peer in TORCH_COMPILE else None)
    summarize(out, rows, TORCH_COMPILE, 1.25)
    summarize(out, rows, OTHERS, 1.05)
    out.table()


if __name__ == "__main__":
    main()
