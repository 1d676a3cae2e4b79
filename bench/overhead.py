"""What Tenon costs around the kernels, from Google Benchmark's repetitions."""

import json
import statistics
import subprocess

import setting
from report import Report

# case: (program, unit, target)
CASES = {
    "call_run": ("tenon_overhead", "ns", 1000),
    "function_run": ("tenon_overhead", "ns", None),
    "guard_check": ("tenon_guard_check", "ns", 100),
    "guard_recent": ("tenon_guard_check", "ns", None),
    "pipeline_bert_static": ("tenon_overhead", "ms", 40),
    "pipeline_bert_symbols": ("tenon_overhead", "ms", 60),
}


def repetitions(arguments, case: str) -> list[dict]:
    """Google Benchmark's repetitions; "real_time" and "cpu_time" are in the unit of the case."""
    program, unit, _ = CASES[case]
    command = [str(arguments.programs / program), f"--benchmark_filter=^{case}(/|$)", "--benchmark_format=json",
               f"--benchmark_repetitions={arguments.rounds}",
               f"--benchmark_min_time={0.05 if arguments.quick else 0.2}"]
    if program == "tenon_overhead":
        command += [f"--threads={arguments.threads}", f"--symbols={arguments.models_folder / 'bert_base.pt2'}",
                    f"--static={arguments.models_folder / 'bert_base_1x128.pt2'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{program} failed")
    runs = [run for run in json.loads(done.stdout)["benchmarks"] if run["run_type"] == "iteration"]
    for run in runs:
        if run.get("error_occurred"):
            raise RuntimeError(run["error_message"])
        if run["time_unit"] != unit:
            raise RuntimeError(f"expected {unit}, found {run['time_unit']}")
    if not runs:
        raise RuntimeError("no such case")
    return runs


def main() -> None:
    arguments = setting.parse(__doc__, rounds=20, quick_rounds=5)
    out = Report("overhead")
    setting.calibrate(arguments, out)
    for case in arguments.cases or CASES:
        _, unit, target = CASES[case]
        load = setting.Load()
        try:
            runs = repetitions(arguments, case)
        except (RuntimeError, ValueError, KeyError) as error:
            out.error(case, str(error))
            continue
        wall = [run["real_time"] for run in runs]
        if case.startswith("pipeline"):
            more = {"with_weights_ms": min(run["with_weights_ns"] for run in runs) / 1e6}
        else:
            more = {"processor_time_minimum": min(run["cpu_time"] for run in runs)}
        if target is not None:
            more |= {"target": f"{target} {unit}", "met": statistics.median(wall) < target}
        out.alone(case, unit, wall, threads=arguments.threads, others=load.others(), **more)
    out.table()


if __name__ == "__main__":
    main()
