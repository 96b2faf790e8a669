"""`datamill allocators trace`: what it says, what it leaves as it was, and what it cannot see."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

APPENDS = "kept = []\nfor number in range(1000):\n    kept.append(number)\n"
#: Reallocations of a list that grows to 1000 items (Objects/listobject.c).
REALLOCATIONS = 28


def trace(
    tmp_path: Path, *command: str, options: tuple[str, ...] = (), **settings: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from datamill.cli.main import main; main()",
            "allocators",
            "trace",
            *options,
            *(["--"] if command else []),
            *command,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, **settings},
    )


def read(tmp_path: Path, *command: str, options: tuple[str, ...] = (), **settings: str) -> dict[str, Any]:
    """Trace a program that ends well and return the JSON."""
    done = trace(tmp_path, *command, options=("--json", "found.json", "--quiet", *options), **settings)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def count(found: dict[str, Any], event: str, file: str) -> int:
    return sum(
        line["count"] for line in found["lines"] if line["event"] == event and line["file"].endswith(file)
    )


def write(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_report_names_file_line_function_count_and_share(tmp_path: Path) -> None:
    text = (
        "def move(history):\n    for i in range(1000):\n        history.append(i)\nmove([])\nprint('moved')\n"
    )
    done = trace(tmp_path, sys.executable, write(tmp_path, "go.py", text))
    assert done.returncode == 0
    assert done.stdout == "moved\n"
    assert f'File "{tmp_path}/go.py", line 3 in move: {REALLOCATIONS}, ' in done.stderr
    assert "Not visible:" in done.stderr


def test_json_has_totals_that_are_the_sums_of_its_lines(tmp_path: Path) -> None:
    found = read(tmp_path, sys.executable, "-c", APPENDS)
    assert set(found["totals"]) >= {"pool_init", "new_arena", "dict_resize", "set_resize", "list_resize"}
    for event, total in found["totals"].items():
        assert total == sum(line["count"] for line in found["lines"] if line["event"] == event)
    assert set(found["lines"][0]) == {"event", "file", "line", "function", "count"}
    assert count(found, "list_resize", "<string>") == REALLOCATIONS
    assert found["not_visible"]


def test_a_module_is_traced_without_what_finds_it(tmp_path: Path) -> None:
    write(tmp_path, "growing.py", APPENDS)
    found = read(tmp_path, sys.executable, "-m", "growing")
    assert count(found, "list_resize", "growing.py") == REALLOCATIONS
    assert not count(found, "list_resize", "runpy.py")


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("raise SystemExit(7)", 7),
        ("import os; os._exit(9)", 9),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os; os.abort()", -signal.SIGABRT),
        ("1 / 0", 1),
    ],
)
def test_the_program_ends_as_without_us_and_what_was_counted_is_there(
    tmp_path: Path, program: str, status: int
) -> None:
    done = trace(tmp_path, sys.executable, "-c", APPENDS + program, options=("--json", "found.json"))
    assert done.returncode == status
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert count(found, "list_resize", "<string>") == REALLOCATIONS


def test_children_by_fork_and_by_exec_are_counted(tmp_path: Path) -> None:
    child = write(tmp_path, "child.py", APPENDS)
    forks = f"""\
import os, subprocess, sys
for _ in range(30):
    if os.fork() == 0:
        exec(compile({APPENDS!r}, "forked", "exec"))
        os._exit(0)
    os.wait()
subprocess.run([sys.executable, {child!r}], check=True)
"""
    found = read(tmp_path, sys.executable, write(tmp_path, "parent.py", forks))
    assert count(found, "list_resize", "forked") == 30 * REALLOCATIONS
    assert count(found, "list_resize", "child.py") == REALLOCATIONS
    assert found["forks"] >= 30
    assert found["interpreter_count"] == 2


def test_threads_are_counted(tmp_path: Path) -> None:
    program = f"""\
import threading
def work():
    for _ in range(20):
        exec(code, {{}})
code = compile({APPENDS!r}, "threaded", "exec")
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    found = read(tmp_path, sys.executable, "-c", program)
    assert count(found, "list_resize", "threaded") == 8 * 20 * REALLOCATIONS


def test_a_program_that_closes_all_descriptors_is_counted(tmp_path: Path) -> None:
    found = read(tmp_path, sys.executable, "-c", f"import os; os.closerange(3, 4096)\n{APPENDS}")
    assert count(found, "list_resize", "<string>") == REALLOCATIONS


def test_only_regions_are_counted_where_that_is_asked_for(tmp_path: Path) -> None:
    program = f"""\
from datamill.allocators import disable, enable, region
exec(compile({APPENDS!r}, "before", "exec"))
for _ in range(3):
    with region():
        exec(compile({APPENDS!r}, "within", "exec"))
    exec(compile({APPENDS!r}, "between", "exec"))
assert enable() and disable() and not disable()
"""
    script = write(tmp_path, "program.py", program)
    found = read(tmp_path, sys.executable, script, options=("--regions",))
    counts = [count(found, "list_resize", name) for name in ("before", "within", "between")]
    assert counts == [0, 3 * REALLOCATIONS, 0]
    program = "from datamill.allocators import enable, region\nwith region(): assert not enable()\n"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_stacks_are_whole(tmp_path: Path) -> None:
    text = "def inner(kept):\n    for i in range(1000):\n        kept.append(i)\n"
    text += "def outer():\n    inner([])\nouter()\n"
    script = write(tmp_path, "deep.py", text)
    found = read(tmp_path, sys.executable, script, options=("--stacks", "--folded", "folded"))
    [stack] = [stack for stack in found["stacks"] if stack["event"] == "list_resize" and stack["count"] > 5]
    assert [(frame["function"], frame["line"]) for frame in stack["frames"]] == [
        ("inner", 3),
        ("outer", 5),
        ("<module>", 6),
    ]
    folded = (tmp_path / "folded").read_text(encoding="utf-8")
    assert f"list_resize;<module> (deep.py:6);outer (deep.py:5);inner (deep.py:3) {REALLOCATIONS}\n" in folded


@pytest.mark.parametrize(
    ("settings", "has_pools"),
    [
        ({"PYTHONMALLOC": "debug"}, True),
        ({"PYTHONMALLOC": "malloc"}, False),
        ({"PYTHONDEVMODE": "1"}, True),
        ({"PYTHONTRACEMALLOC": "3"}, True),
    ],
)
def test_other_allocators_are_seen_through_or_named(
    tmp_path: Path, settings: dict[str, str], has_pools: bool
) -> None:
    program = f"{APPENDS}many = [bytes(440) for _ in range(1000)]"
    found = read(tmp_path, sys.executable, "-c", program, **settings)
    assert count(found, "list_resize", "<string>") > REALLOCATIONS
    assert (count(found, "pool_init", "<string>") > 20) == has_pools
    assert any("PYTHONMALLOC=malloc" in sentence for sentence in found["not_visible"]) != has_pools


def test_a_program_without_python_is_traced_as_a_native_one(tmp_path: Path) -> None:
    done = trace(tmp_path, "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "events of the allocator in 1 program." in done.stderr
    assert "Heap extend" in done.stderr
    assert "Dict resize" not in done.stderr


@pytest.mark.parametrize(
    ("options", "command", "words"),
    [
        ((), (), "there is no program to trace"),
        ((), ("no-such-program",), "no-such-program is not here"),
        (("--json", "no/such/found.json"), ("true",), "there is no such folder"),
        (("--json", "."), ("true",), "is a folder"),
        (("--latencies", "calls.txt"), ("true",), "is not the name of a table"),
        (("--pid", "1"), (), "process 1 "),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_runs(
    tmp_path: Path, options: tuple[str, ...], command: tuple[str, ...], words: str
) -> None:
    done = trace(tmp_path, *command, options=options)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_that_already_runs_is_traced_where_its_interpreter_offers_that(tmp_path: Path) -> None:
    python = shutil.which("python3.14")
    if python is None:
        pytest.skip("no python3.14 here")
    loop = (
        f"import time\nwhile True:\n    exec(compile({APPENDS!r}, 'growing', 'exec'))\n    time.sleep(0.01)\n"
    )
    program = subprocess.Popen([python, write(tmp_path, "loop.py", loop)])
    try:
        options = ("--json", "found.json", "--pid", str(program.pid), "--for", "1")
        done = trace(tmp_path, options=options)
        assert done.returncode == 0, done.stderr
        assert program.poll() is None
    finally:
        program.kill()
        program.wait()
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    counted = count(found, "list_resize", "growing")
    assert counted > REALLOCATIONS
    # Whole rounds, but for the first and the last.
    assert counted % REALLOCATIONS == 0


def test_a_program_that_offers_no_way_in_is_named(tmp_path: Path) -> None:
    program = subprocess.Popen(["sleep", "60"])
    try:
        done = trace(tmp_path, options=("--pid", str(program.pid)))
    finally:
        program.kill()
        program.wait()
    assert done.returncode == 2
    assert f"process {program.pid} already runs" in done.stderr
    assert "datamill.allocators.enable()" in done.stderr


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    folders = [Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp"))]
    pid = f"{tmp_path}/pid"
    program = f"import os; open({pid!r}, 'w').write(os.environ['DATAMILL_TRACE_LEDGER'])"
    trace(tmp_path, sys.executable, "-c", program)
    ledger = Path(Path(pid).read_text(encoding="utf-8"))
    assert any(folder in ledger.parents for folder in folders)
    assert not ledger.parent.exists()


def test_what_a_killed_trace_left_is_removed_by_the_next(tmp_path: Path) -> None:
    pid = f"{tmp_path}/pid"
    kill_us = f"""\
import os, signal
open({pid!r}, "w").write(os.environ["DATAMILL_TRACE_LEDGER"])
os.kill(os.getppid(), signal.SIGKILL)
"""
    assert trace(tmp_path, sys.executable, "-c", kill_us).returncode == -signal.SIGKILL
    ledger = Path(Path(pid).read_text(encoding="utf-8"))
    assert ledger.exists()
    trace(tmp_path, "true")
    assert not ledger.parent.exists()
