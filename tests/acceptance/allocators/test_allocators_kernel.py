"""`datamill allocators kernel` on the kernel that runs here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from datamill.allocators.kernel.formats import parse_event_format, parse_page_size
from datamill.allocators.kernel.pages import list_records
from datamill.execution.tracing.trace_buffer import TraceBuffer, opening_buffer
from datamill.execution.tracing.tracefs import opening_tracefs
from datamill.experiment.errors import InputError

DATAMILL = (sys.executable, "-c", "from datamill.cli.main import main; raise SystemExit(main())")
MAPPING = """\
import mmap, os, sys
zero = os.open("/dev/zero", os.O_RDWR)
kept = [mmap.mmap(zero, 20, mmap.MAP_PRIVATE) for _ in range(10000)]
kept.append(mmap.mmap(-1, 64 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
if os.fork() == 0:
    for _ in range(30):
        os.getpgid(0)
    os._exit(0)
os.wait()
print(os.getpid())
sys.exit(5)
"""


@pytest.fixture(scope="module")
def tracefs() -> Iterator[Path]:
    try:
        with opening_tracefs() as folder:
            if not (folder / "events" / "syscalls").is_dir():
                pytest.skip("this kernel has no tracepoints of system calls")
            yield folder
    except InputError as error:
        pytest.skip(f"the kernel's tracepoints are not open to this test: {error}")


def trace(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DATAMILL, "allocators", "kernel", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.usefixtures("tracefs")
def test_every_call_of_a_program_and_its_child_is_there_once(tmp_path: Path) -> None:
    ended = trace(
        tmp_path,
        *("--only", "mmap,getpgid,execve", "--latencies", "calls.parquet", "--json", "found.json"),
        *("--", sys.executable, "-c", MAPPING),
    )
    assert ended.returncode == 5, ended.stderr
    table = pl.read_parquet(tmp_path / "calls.parquet")
    main = int(ended.stdout)
    # The interpreter maps some memory of its own.
    maps = table.filter((pl.col("call") == "mmap") & (pl.col("thread") == main))
    assert 10_001 <= maps.height < 10_300
    others = table.filter(pl.col("call") == "getpgid")
    assert others.height == 30
    assert main not in others["thread"].to_list()
    assert table["index"].to_list() == list(range(table.height))
    # Pages that are mapped beforehand are allocated in the call; it may have allocated a slab as well.
    largest = maps.sort("pages").tail(2)
    assert (largest["pages"] - largest["slab_pages"] >= 64).to_list() == [False, True], largest.to_dicts()
    # Ten thousand mappings are some 2 MB of the kernel's objects, of which a few may have been there.
    assert maps["slab_pages"].sum() > 100
    assert (maps["slab_pages"] <= maps["pages"]).all()
    assert (maps["binned"] == (maps["slab_pages"] > 0)).all() or maps["slab_refills"].null_count() == 0
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert (found["call_count"], found["events_lost"]) == (table.height, 0)
    assert 0 < found["idle_call_ns"] < 1e6
    assert "system calls; in" in ended.stderr


@pytest.mark.usefixtures("tracefs")
def test_direct_writes_are_requests_of_the_program_and_large_ones_are_split(tmp_path: Path) -> None:
    ended = trace(
        tmp_path,
        *("--only", "write", "--latencies", "calls.csv", "--requests", "requests.parquet", "--"),
        *("dd", "if=/dev/zero", "of=block", "bs=64k", "count=20", "oflag=direct"),
    )
    if "Invalid argument" in ended.stderr:
        pytest.skip("the file system of temporary folders has no direct writes")
    assert ended.returncode == 0, ended.stderr
    calls = pl.read_csv(tmp_path / "calls.csv").filter(pl.col("result") == 65536)
    assert calls.height == 20
    if calls["requests"].sum() == 0:
        pytest.skip("temporary folders are on no block device")
    requests = pl.read_parquet(tmp_path / "requests.parquet").filter(
        pl.col("own") & (pl.col("bytes") == 65536)
    )
    assert requests.height == calls["requests"].sum()
    assert (requests["latency_ns"] >= requests["device_ns"].fill_null(0)).all()
    # The call waits for its request.
    assert calls["latency_ns"].sum() > requests["latency_ns"].sum()


@pytest.mark.usefixtures("tracefs")
def test_the_end_of_the_program_by_a_signal_is_passed_on(tmp_path: Path) -> None:
    assert trace(tmp_path, "--quiet", "--", "sh", "-c", "kill -9 $$").returncode == -signal.SIGKILL


def test_a_command_that_is_killed_leaves_no_buffer_behind(tracefs: Path) -> None:
    with subprocess.Popen(
        [*DATAMILL, "allocators", "kernel", "--only", "read", "--", "sh", "-c", "echo; exec sleep 60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as traced:
        assert traced.stdout is not None
        traced.stdout.readline()
        buffer = tracefs / "instances" / f"datamill-calls-{traced.pid}"
        sleeping = (buffer / "set_event_pid").read_text(encoding="ascii").split()
        traced.kill()
    try:
        deadline = time.monotonic() + 30
        while buffer.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not buffer.exists()
    finally:
        for pid in sleeping:
            os.kill(int(pid), signal.SIGKILL)


def test_records_are_those_that_the_kernel_itself_writes_as_text(tracefs: Path) -> None:
    page_size = parse_page_size((tracefs / "events/header_page").read_text(encoding="ascii"))
    names = ("sched/sched_switch", "sched/sched_wakeup", "kmem/mm_page_alloc", "raw_syscalls/sys_enter")
    with opening_buffer(tracefs, "text", page_size) as buffer:
        for name in names:
            assert buffer.enable(name)
        buffer.put("events/kmem/mm_page_alloc/trigger", "stacktrace if order >= 0")
        buffer.put("tracing_on", "1")
        time.sleep(0.2)
        buffer.put("tracing_on", "0")
        told = [list_told(buffer, processor) for processor in range(len(buffer.pages))]
        while buffer.take_pages(most=1 << 30):
            pass
    formats = {}
    for name in (*names, "ftrace/kernel_stack"):
        form = parse_event_format((tracefs / "events" / name / "format").read_text(encoding="ascii"))
        formats[form.number] = "<stack" if form.name == "kernel_stack" else form.name
    for own, pages in zip(told, buffer.pages, strict=True):
        found = []
        for page in pages:
            for moment, at in list_records(page):
                number, _, _, thread = struct.unpack_from("<HBBi", page, at)
                # The kernel's text has microseconds, rounded.
                found.append(((moment + 500) // 1000, thread, formats[number]))
        assert found == own
    assert sum(map(len, told)) > 100


def list_told(buffer: TraceBuffer, processor: int) -> list[tuple[int, int, str]]:
    found = []
    text = (buffer.folder / f"per_cpu/cpu{processor}/trace").read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines():
        # What a stack is made of is no event.
        if line.startswith(("#", " =>")):
            continue
        before, _, after = line.partition(f" [{processor:03}] ")
        _, moment, name, *_ = after.split()
        seconds, _, parts = moment.rstrip(":").partition(".")
        thread = int(before.rpartition("-")[2])
        kind = "sys_enter" if name.startswith("sys_enter") or after.split()[2] == "NR" else name.rstrip(":(")
        found.append((int(seconds) * 1_000_000 + int(parts), thread, kind.partition("(")[0]))
    return found


def test_a_system_call_that_is_not_there_is_refused_before_the_program_starts(tracefs: Path) -> None:
    ended = trace(tracefs.parent, "--only", "mmpa", "--", "touch", "/nonexistent/file")
    assert ended.returncode == 2
    assert 'Did you mean "mmap"?' in ended.stderr


def test_without_the_right_to_mount_the_command_says_whose_right_it_is(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can give up its rights, with setpriv")
    asked = (
        "import datamill.execution.tracing.tracefs as tracefs\n"
        "from datamill.cli.main import main\n"
        "tracefs._MOUNTED = ()\n"
        "raise SystemExit(main())"
    )
    ended = subprocess.run(
        [
            *("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all"),
            *(sys.executable, "-c", asked, "allocators", "kernel", "--", "true"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "not open to us: Operation not permitted" in ended.stderr
    assert "Be root" in ended.stderr


def test_a_kernel_without_tracepoints_is_named_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datamill.execution.tracing.tracefs._MOUNTED", ())
    monkeypatch.setattr("datamill.execution.tracing.tracefs._is_known", lambda: False)
    with pytest.raises(InputError, match="this kernel has no tracefs"), opening_tracefs():
        pass
