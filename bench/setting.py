"""What the benchmarks share: options, places of programs and models, and what the machine can do."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import report

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))
MODELS = {
    # name: (file, size of the vocabulary, shapes of the rows)
    "minilm": ("minilm_sdpa.pt2", 30522, ["1x16", "8x128"]),
    "bert_base": ("bert_base.pt2", 30522, ["1x128"]),
    "gpt2": ("gpt2.pt2", 50257, ["1x128"]),
}


def words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def parse(description: str, rounds: int, quick_rounds: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of tenon_worker ...")
    parser.add_argument("--models-folder", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", default="", help="Tenon's; peers choose their own")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it works")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--models", type=words, default=list(MODELS), help="comma separated")
    parser.add_argument("--peers", type=words, default=report.PEERS, help="comma separated; '' for none")
    parser.add_argument("--cases", type=words, help="comma separated")
    arguments = parser.parse_args()
    for name, known in [("models", list(MODELS)), ("peers", report.PEERS)]:
        unknown = set(getattr(arguments, name)) - set(known)
        if unknown:
            parser.error(f"--{name}: expected some of {', '.join(known)}, found {', '.join(sorted(unknown))}")
    arguments.rounds = arguments.rounds or (quick_rounds if arguments.quick else rounds)
    return arguments


def worker_command(arguments, model: str, shape: str, *more: str) -> list[str]:
    file, vocabulary, _ = MODELS[model]
    command = [str(arguments.programs / "tenon_worker"), "--model", str(arguments.models_folder / file),
               "--shape", shape, "--threads", str(arguments.threads), "--vocabulary", str(vocabulary), *more]
    return command + (["--isa", arguments.isa] if arguments.isa else [])


def peer_command(arguments, peer: str, model: str, shape: str, *more: str) -> list[str]:
    return [sys.executable, str(HERE / "peers" / "peer.py"), "--model", model, "--peer", peer,
            "--threads", str(arguments.threads), "--shape", shape, *more]


class Load:
    """What share of the machine's processor time went to others than this process, its ended children and the given
    ones: times taken beside much of that say little."""

    def __init__(self, pids: list[int] = []):
        self.pids = list(pids)
        self.start = (time.monotonic(), self.busy(), self.own())

    @staticmethod
    def busy() -> float:
        with open("/proc/stat") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
        return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # all but idle and waiting

    def own(self) -> float:
        seconds = sum(os.times()[:4])
        for pid in self.pids:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return seconds

    def others(self) -> float:
        elapsed, busy, own = (now - then for now, then in zip((time.monotonic(), self.busy(), self.own()), self.start))
        return max(0.0, (busy - own) / max(elapsed * (os.cpu_count() or 1), 1e-9))


def cpu_model() -> str:
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown"


def empty_compile_ms(compiler: str = "g++") -> float:
    """The least time in which the compiler makes a shared library of an empty file."""
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, "-x", "c++", "-shared", "-nostdlib", "-o", f"{folder}/empty.so", "/dev/null"]
        for _ in range(10):
            start = time.perf_counter()
            subprocess.run(command, check=True)
            best = min(best, (time.perf_counter() - start) * 1e3)
    return best


def calibrate(arguments, out: report.Report) -> None:
    command = [str(arguments.programs / "tenon_calibrate")] + ([arguments.isa] if arguments.isa else [])
    machine = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    out.empty_compile_ms = empty_compile_ms()
    out.emit("calibration", cpu=cpu_model(), threads=arguments.threads, **machine,
             empty_compile_ms=out.empty_compile_ms)
