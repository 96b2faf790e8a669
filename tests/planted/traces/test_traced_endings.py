"""A traced program runs and ends as alone on every interpreter here, and all that it did is counted."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from running.interpreters import list_interpreters

from datamill.allocators.trace import TracedLine
from datamill.conduct.tracing.trace_allocations import trace_allocations

INTERPRETERS = pytest.mark.parametrize("version", list_interpreters())
#: Reallocations of a list that grows to 1000 items (Objects/listobject.c).
REALLOCATIONS = 28
APPENDS = "kept = []\nfor number in range(1000):\n    kept.append(number)\n"
THREADS = f"""\
import threading
def work():
    for _ in range(20):
        exec(code, {{}})
code = compile({APPENDS!r}, "counted", "exec")
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
FORKS = f"""\
import os
for _ in range(20):
    if os.fork() == 0:
        exec(compile({APPENDS!r}, "counted", "exec"))
        os._exit(0)
    os.wait()
"""


@INTERPRETERS
@pytest.mark.parametrize(("program", "times"), [(THREADS, 160), (FORKS, 20)], ids=["threads", "children"])
def test_all_threads_and_children_are_counted(version: str, program: str, times: int) -> None:
    traced = trace_allocations([list_interpreters()[version], "-c", program])
    assert traced.status == 0
    assert count(traced.trace.lines, "counted") == times * REALLOCATIONS


@INTERPRETERS
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("import os; os._exit(9)", 9),
        ("import os; os.closerange(3, 4096)", 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_how_a_program_ends_is_passed_on_and_takes_no_counts(version: str, ending: str, status: int) -> None:
    traced = trace_allocations([list_interpreters()[version], "-c", APPENDS + ending])
    assert traced.status == status
    assert count(traced.trace.lines, "<string>") == REALLOCATIONS


@INTERPRETERS
def test_what_a_program_prints_is_what_it_prints_alone(tmp_path: Path, version: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PRINTS, encoding="utf-8")
    alone = subprocess.run([list_interpreters()[version], script], capture_output=True, text=True, check=True)
    printed = tmp_path / "printed"
    command = ["/bin/sh", "-c", f'exec "$@" >"{printed}"', "sh", list_interpreters()[version], str(script)]
    assert trace_allocations(command).status == 0
    assert printed.read_text(encoding="utf-8") == alone.stdout


PRINTS = """\
import gc, json, sys
data = {str(n): [n] * (n % 7) for n in range(2000)}
print(len(json.dumps(data)), sorted(set(map(len, data.values()))))
print([sys.getsizeof([None] * n) for n in range(20)])
def deep(n):
    return n and deep(n - 1) + 1
print(deep(500), gc.collect() >= 0, sys.getrefcount(deep.__code__) > 0)
try:
    {}["missing"]
except KeyError as error:
    print(repr(error), error.__traceback__.tb_lineno)
"""


def count(lines: Sequence[TracedLine], file: str) -> int:
    """Return how often lists were reallocated in a file."""
    return sum(line.count for line in lines if line.event == "list_resize" and line.file == file)
