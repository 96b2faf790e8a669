"""`datamill allocators trace --served`: what Redis does for each command."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest


@contextmanager
def serving(folder: Path) -> Iterator[socket.socket]:
    """A traced Redis, and a connection to it; it ends afterwards."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    place = folder / "redis.sock"
    command = ["redis-server", "--port", "0", "--unixsocket", str(place), "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from datamill.cli.main import main; main()", "allocators", "trace"),
            *("--served", "commands.parquet", "--json", "found.json", "--", *command),
        ],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not place.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(place))
    try:
        yield client
        client.sendall(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")
        _, report = process.communicate(timeout=60)
        assert process.returncode == 0, report
        (folder / "report").write_text(report, encoding="utf-8")
    finally:
        process.kill()
        client.close()


def ask(client: socket.socket, *words: bytes) -> None:
    parts = b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)
    client.sendall(b"*%d\r\n" % len(words) + parts)
    client.recv(4096)


def test_each_command_has_a_row_and_those_that_need_more_memory_are_binned(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        for number in range(400):
            ask(client, b"SET", b"key-%d" % number, b"x" * 3000)
        for number in range(400):
            ask(client, b"GET", b"key-%d" % number)
    table = pl.read_parquet(tmp_path / "commands.parquet")
    assert table.columns[:6] == ["index", "latency_ns", "cycles", "binned", "event", "command"]
    counts = dict(table.group_by("command").len().iter_rows())
    assert (counts["SET"], counts["GET"]) == (400, 400)
    by_command = {name: table.filter(pl.col("command") == name) for name in ("SET", "GET")}
    # Each value is kept, so that the cache runs empty now and then; what is read is thrown away again.
    assert by_command["SET"]["binned"].sum() > 20 > by_command["GET"]["binned"].sum()
    assert (by_command["SET"]["requests"] > 0).all()
    assert (table["latency_ns"] > 0).all()
    report = (tmp_path / "report").read_text(encoding="utf-8")
    assert "Command" in report
    assert "No request was read" not in report
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found["programs"][0]["allocator"].startswith("jemalloc")
