"""Times peers on one model and shape, in turns, and prints minimum and median of each.

    compare.py --model minilm --shape 1x16 --threads 2
    compare.py --model gpt2 --shape 1x128 --peers onnxruntime openvino --program 'NAME=COMMAND ...'

--program adds another participant: a command that speaks peer.py's protocol (a JSON line when it is
ready, then "run N" and "quit"); {model}, {shape}, {threads} and {inputs} in it are replaced, the
last by the folder where in0.npy and in1.npy lie.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import sys
import tempfile
import time

import peer
from participant import Participant, ParticipantError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=peer.MODELS, required=True)
    parser.add_argument("--shape", default="1x16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", nargs="*", choices=peer.PEERS, default=peer.PEERS)
    parser.add_argument("--program", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--round-ms", type=float, default=200, help="time each gets a round")
    parser.add_argument("--json", type=pathlib.Path, help="also write all times there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as inputs:
        script = pathlib.Path(peer.__file__)
        # The first one writes the inputs; results of all peers lie beside them.
        commands = {
            name: [sys.executable, str(script), "--model", arguments.model, "--peer", name,
                   "--threads", str(arguments.threads), "--shape", arguments.shape,
                   "--dump", inputs]
            for name in arguments.peers
        }
        for program in arguments.program:
            name, _, command = program.partition("=")
            fields = {"model": arguments.model, "shape": arguments.shape,
                      "threads": arguments.threads, "inputs": inputs}
            commands[name] = [word.format(**fields) for word in shlex.split(command)]
        if arguments.program and not arguments.peers:
            parser.error("a program needs a peer beside it, which writes the inputs")
        try:
            participants = [Participant(name, command) for name, command in commands.items()]
        except ParticipantError as error:
            sys.exit(str(error))
    counts = {}
    for participant in participants:
        warm = min(participant.run(10))
        counts[participant.name] = max(1, min(1000, round(arguments.round_ms / max(warm, 1e-3))))
    for _ in range(arguments.rounds):
        for participant in participants:
            time.sleep(0.05)  # the last one's threads stop spinning
            participant.times += participant.run(counts[participant.name])
    best = min(min(participant.times) for participant in participants)
    print(f"{arguments.model} {arguments.shape}, {arguments.threads} threads, "
          f"{arguments.rounds} rounds in turns; ms")
    print(f"{'':22s}{'minimum':>10s}{'median':>10s}{'to best':>9s}"
          f"{'load s':>9s}{'first s':>9s}{'runs':>7s}")
    for participant in participants:
        times, facts = participant.times, participant.facts
        print(f"{participant.name:22s}{min(times):10.3f}{statistics.median(times):10.3f}"
              f"{min(times) / best:9.2f}{facts['ready']:9.2f}{facts['first']:9.2f}{len(times):7d}")
        participant.end()
    if arguments.json:
        arguments.json.write_text(json.dumps({p.name: {"facts": p.facts, "ms": p.times}
                                              for p in participants}))


if __name__ == "__main__":
    main()
