"""One process that speaks peer.py's protocol, from the side that drives it."""

import json
import subprocess


class ParticipantError(Exception):
    """It ended, or answered with an error."""


class Participant:
    def __init__(self, name: str, command: list[str], environment: dict | None = None):
        self.name = name
        self.times: list[float] = []
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        try:
            self.facts = self.read()
        except ParticipantError:
            self.kill()
            raise

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise ParticipantError(f"{self.name} ended with {self.process.wait()}")
        value = json.loads(line)
        if isinstance(value, dict) and "error" in value:
            raise ParticipantError(f"{self.name}: {value['error']}")
        return value

    def ask(self, line: str):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended; read() says how
        return self.read()

    def run(self, count: int) -> list[float]:
        return self.ask(f"run {count}")

    def end(self) -> None:
        self.process.communicate("quit\n")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
