"""An analysis that takes long can be interrupted."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_analysis_at_once(number: signal.Signals, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = 400_000
    table = pl.DataFrame(
        {"a": random.integers(0, 2, rows), "x": random.random(rows), "y": random.random(rows)}
    )
    table.write_parquet(tmp_path / "t.parquet")
    command = [
        sys.executable, "-c", "from datamill.cli.main import main; main()",
        "analyze", "quantiles", "t.parquet", "--formula", "y ~ C(a) * x",
        "--errors", "rows", "--replicates", "20000",
    ]  # fmt: skip
    ended_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # Far enough to be in the kernel, where Python's own handlers do not run.
    deadline_s = time.monotonic() + 180
    while read_cpu_s(process.pid) < 6:
        assert process.poll() is None
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    before_s = read_cpu_s(process.pid)
    process.send_signal(number)
    process.communicate(timeout=120)
    # In processor time, which others on this machine do not lengthen; a minute of it would be left.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - ended_s - before_s < 4
    # The shell's number, where the signal came while Python itself was at work.
    assert process.returncode in (-number, 128 + number)


def read_cpu_s(pid: int) -> float:
    """Processor time that a process spent in its own code so far, all threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")
