"""An analysis that takes long can be interrupted."""

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
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # Long enough to be in the kernel, where Python's own handlers do not run.
    time.sleep(6)
    assert process.poll() is None
    start = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=30)
    assert time.monotonic() - start < 2
    # The shell's number, where the signal came while Python itself was at work.
    assert process.returncode in (-number, 128 + number)
