"""What else runs while a trial does: waited for, kept away, named, and files that stay in memory."""

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from acceptance.conftest import Command

from datamill.execution.worker import find_worker, read_offers
from datamill.results.trials.log import read_log

HEAD = """
[experiment]
name = "quiet"
{}
[[package]]
name = "a"
path = "a"
[factors]
{}
"""
#: Half a second of work in which run.sh notes, by the kernel's own word, on which processors it is.
NOTE = """#!/bin/sh
python3 - <<'END'
import json, os, time
seen, end = set(), time.monotonic() + 0.5
while time.monotonic() < end:
    seen.add(int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[36]))
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError:
    pass
allowed = os.sched_getaffinity(0)
json.dump({"first": min(seen), "last": max(seen), "could": len(allowed)}, open("metrics.json", "w"))
END
"""
COLLECT = "#!/bin/sh\ntar czf out.tar.gz metrics.json && echo out.tar.gz\n"


class Neighbour:
    """A process of the host that never stops computing, and where it was seen, by the clock."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self.seen: list[tuple[int, int]] = []
        self.ended = threading.Event()

    def watch(self) -> None:
        """Note the processor on which the kernel last had it, two hundred times a second."""
        stat = Path(f"/proc/{self.pid}/stat")
        while not self.ended.wait(0.005):
            self.seen.append((time.time_ns(), int(stat.read_text().rsplit(")", 1)[1].split()[36])))


@contextlib.contextmanager
def neighbour() -> Iterator[Neighbour]:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        beside = Neighbour(process)
        watching = threading.Thread(target=beside.watch)
        watching.start()
        try:
            yield beside
        finally:
            beside.ended.set()
            watching.join()
            process.kill()


@pytest.mark.usefixtures("whole_machine")
def test_on_a_shielded_processor_the_trial_is_alone_and_nothing_stays_shielded(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    offer = read_offers(find_worker())["shield"]
    if "last" not in offer.levels:
        pytest.skip(f"no processor can be shielded here: {offer.missing}")
    before = (os.sched_getaffinity(0), os.sched_getaffinity(1))
    make_experiment(text=HEAD.format("", 'shield = "last"'), packages=("a",), run=NOTE, collect=COLLECT)
    with neighbour() as beside, neighbour():
        result = datamill("run", "experiment.toml", "--out", "out")
    assert result.returncode == 0, result.stderr
    (record,) = read_log(datamill.folder / "out" / "log.jsonl")
    assert record.run is not None, record
    assert record.disturbance is not None
    (fact,) = record.factors
    assert fact.observed == "last", fact.evidence
    last = max(os.sched_getaffinity(0))
    assert record.metrics["first"] == record.metrics["last"] == (last,)
    assert record.disturbance.processors == str(last)
    began = record.run.started_unix_ns
    during = {place for at, place in beside.seen if began <= at <= began + record.run.wall_time_ns}
    assert during
    assert last not in during
    if Path("/sys/fs/cgroup/cpuset/cgroup.procs").exists():
        assert record.metrics["could"] == (1.0,), "it could place itself elsewhere"
        assert not Path("/sys/fs/cgroup/cpuset/datamill-shield").exists()
    assert (os.sched_getaffinity(0), os.sched_getaffinity(1)) == before
    assert not record.unrestored


def test_files_that_are_locked_are_in_memory_after_the_trial_too(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(
        text=HEAD.format("", 'cache_preload = ["off", "locked"]'), packages=("a",), run="#!/bin/sh\n"
    )
    result = datamill("run", "experiment.toml", "--out", "out")
    assert result.returncode == 0, result.stderr
    facts = {
        record.levels["cache_preload"]: record.factors[0]
        for record in read_log(datamill.folder / "out" / "log.jsonl")
    }
    assert facts["off"].observed == "off"
    assert facts["locked"].observed == "locked", facts["locked"].evidence
    assert "pages locked" in facts["locked"].evidence


def test_a_trial_that_waits_in_vain_is_doubted_and_says_for_whom(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    rule = 'quiet = {limit = "600 ms", window = "300 ms", processors = 0.5}'
    make_experiment(text=HEAD.format(rule, 'aslr = "on"'), packages=("a",), run="#!/bin/sh\nsleep 0.2\n")
    with neighbour():
        result = datamill("run", "experiment.toml", "--out", "out")
    assert "not quiet" in result.stdout + result.stderr
    (record,) = read_log(datamill.folder / "out" / "log.jsonl")
    assert record.quiet is not None
    assert record.disturbance is not None
    assert not record.quiet.quiet
    assert record.quiet.waited_ns >= 600_000_000
    assert any(used.name == "sh" for used in record.quiet.busiest), record.quiet
    assert any(used.name == "sh" for used in record.disturbance.busiest), record.disturbance
    row = pl.read_parquet(datamill.folder / "out" / "table.parquet").row(0, named=True)
    assert row["quiet_wait_s"] == pytest.approx(record.quiet.waited_ns / 1e9)
    assert "sh " in row["busiest"]
    assert row["doubt"].startswith("not quiet: the machine was not quiet after")
