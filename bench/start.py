"""How soon there is a result: interpreted, compiled for the first time, compiled from the cache."""

import os
import statistics
import tempfile
import time

import setting
from participant import Participant, ParticipantError
from report import Report

CASES = ["first_result", "bert_compiled_ready", "warm_start"]


def launch(arguments, model: str, shape: str, cache: str, *more: str) -> tuple[dict, int]:
    """The worker's first line, and when its process was asked for, on the clock of its "_at_ns"."""
    environment = os.environ | {"TENON_CACHE_DIR": cache}
    begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    worker = Participant("tenon", setting.worker_command(arguments, model, shape, *more), environment)
    facts = worker.facts
    worker.end()
    return facts, begun


def first_result(arguments, out: Report) -> None:
    """Tenon: from the start of the process, by the interpreter, without a cache. A peer: load and first run only,
    without the start of Python and its imports. Files are in the page cache."""
    model, shape = "minilm", "1x16"
    peers = [peer for peer in arguments.peers if peer in ("onnxruntime", "openvino")]
    times = {name: [] for name in ["tenon", *peers]}
    load = setting.Load()
    with tempfile.TemporaryDirectory() as inputs:
        for peer in peers:  # writes the inputs, makes the ONNX file when it is missing, fills the page cache
            Participant(peer, setting.peer_command(arguments, peer, model, shape, "--dump", inputs)).end()
        given = ["--inputs", inputs] if peers else []
        for turn in range(arguments.rounds + 1):
            facts, begun = launch(arguments, model, shape, inputs, "--policy", "vm", "--no-cache", *given)
            ours = (facts["first_at_ns"] - begun) / 1e6
            if turn == 0:
                continue  # filled the page cache
            times["tenon"].append(ours)
            for peer in peers:
                participant = Participant(peer, setting.peer_command(arguments, peer, model, shape, *given))
                times[peer].append((participant.facts["ready"] + participant.facts["first"]) * 1e3)
                participant.end()
    fields = {"threads": arguments.threads, "isa": facts["isa"], "import_ms": facts["import"] * 1e3,
              "pipeline_ms": facts["compile_ns"] / 1e6, "others": load.others()}
    if not peers:
        out.alone("first_result", "ms", times["tenon"], **fields)
    for peer in peers:
        lowest = 1.0 if peer == "onnxruntime" else None
        out.compare("first_result", "ms", times["tenon"], peer, times[peer], lowest, **fields)


def bert_compiled_ready(arguments, out: Report) -> None:
    """From the call of compile until every kernel is native, with an empty cache that is written."""
    times, from_start = [], []
    load = setting.Load()
    for turn in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as cache:
            facts, begun = launch(arguments, "bert_base", "1x128", cache)
        if facts["tier"] != 1 or facts["cache_hits"] != 0:
            raise ParticipantError(f"not a cold compile to native code: {facts}")
        times.append(facts["compiled"])
        from_start.append((facts["first_at_ns"] - begun) / 1e9)
    fields = {"threads": arguments.threads, "isa": facts["isa"], "kernels": facts["kernels"],
              "pipeline_ms": facts["compile_ns"] / 1e6, "first_result_s": statistics.median(from_start),
              "others": load.others()}
    goal = {"target": "1.5 s", "met": statistics.median(times) <= 1.5}
    if "torch.compile" in arguments.peers and not arguments.quick:
        # Half a minute: once.
        participant = Participant("torch.compile", setting.peer_command(
            arguments, "torch.compile", "bert_base", "1x128", "--cold"))
        participant.end()
        median = statistics.median(times)
        out.emit("bert_compiled_ready", tenon=median, peer="torch.compile", peer_value=participant.facts["first"],
                 unit="s", ratio=participant.facts["first"] / median, tenon_minimum=min(times), rounds=len(times),
                 **fields, **goal)
    else:
        out.alone("bert_compiled_ready", "s", times, **fields, **goal)


def warm_start(arguments, out: Report) -> None:
    """From the start of the process to the first result of compiled kernels that were in the cache."""
    times, in_main = [], []
    load = setting.Load()
    with tempfile.TemporaryDirectory() as cache:
        launch(arguments, "minilm", "1x16", cache)
        for _ in range(arguments.rounds):
            facts, begun = launch(arguments, "minilm", "1x16", cache)
            if facts["tier"] != 1 or facts["cache_hits"] < 1:
                raise ParticipantError(f"nothing came from the cache: {facts}")
            times.append((facts["first_at_ns"] - begun) / 1e6)
            in_main.append((facts["first_at_ns"] - facts["main_at_ns"]) / 1e6)
    out.alone("warm_start", "ms", times, threads=arguments.threads, isa=facts["isa"],
              import_ms=facts["import"] * 1e3, compile_ms=facts["compiled"] * 1e3,
              since_main_ms=statistics.median(in_main), others=load.others(),
              target="50 ms", met=statistics.median(times) < 50)


def main() -> None:
    arguments = setting.parse(__doc__, rounds=12, quick_rounds=4)
    out = Report("start")
    setting.calibrate(arguments, out)
    for case in arguments.cases or CASES:
        try:
            {"first_result": first_result, "bert_compiled_ready": bert_compiled_ready,
             "warm_start": warm_start}[case](arguments, out)
        except ParticipantError as error:
            out.error(case, str(error))
    out.table()


if __name__ == "__main__":
    main()
