"""The simulation's command in forks of one process that has loaded it: to load takes longer than most of it.

`python -m simulation.forks` reads the options of one command a line, as JSON, and writes its exit status and
what it printed, as JSON too.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

TESTS = Path(__file__).parents[1]


class Forks:
    """Asks that process; in each fork nothing is planted but what its own command says."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def simulate(self, *options: str) -> tuple[int, str]:
        """Run the command; return its exit status and what it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(options), file=self._process.stdin, flush=True)
        status, text = json.loads(self._process.stdout.readline())
        return int(status), str(text)


@contextlib.contextmanager
def forking() -> Iterator[Forks]:
    """Start that process, and end it."""
    with subprocess.Popen(
        [sys.executable, "-m", "simulation.forks"],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Forks(process)


def run_command(options: Sequence[str], output: BinaryIO) -> int:
    """Run a command in a fork and return its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        from simulation.__main__ import main

        status = main(options)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    from simulation.seeds import load

    load()
    for line in sys.stdin:
        with tempfile.TemporaryFile() as output:
            status = run_command(json.loads(line), output)
            output.seek(0)
            print(json.dumps([status, output.read().decode(errors="replace")]), flush=True)


if __name__ == "__main__":
    main()
