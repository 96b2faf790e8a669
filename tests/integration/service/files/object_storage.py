"""An object storage that speaks S3 and checks signatures, s3s-fs, on this machine."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from running.free_ports import find_free_port

KEY, SECRET = "AKIATEST", "a secret of the tests"
BUCKET = "lab"


class ObjectStorage:
    """A server with one bucket, which may be ended and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        self.program = shutil.which("s3s-fs")
        if self.program is None:
            pytest.skip("s3s-fs is not installed: cargo install s3s-fs@0.14.1 --features binary")
        self.folder = folder / "storage"
        (self.folder / BUCKET).mkdir(parents=True)
        self.port = find_free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """The bucket as the coordinator is told of it."""
        return f"s3://{BUCKET}/files?endpoint=http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Have it answer."""
        asked = [self.program, "--host", "127.0.0.1", "--port", str(self.port)]
        asked += ["--access-key", KEY, "--secret-key", SECRET, str(self.folder)]
        self._process = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
            else:
                # Another one may listen there.
                assert self._process.poll() is None, "s3s-fs has ended"
                return
        raise AssertionError("s3s-fs does not listen")

    def end(self) -> None:
        """Have it gone; what it holds stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def list_objects(self) -> dict[str, int]:
        """What it holds: sizes by name."""
        found = (path for path in (self.folder / BUCKET).rglob("*") if path.is_file())
        return {path.relative_to(self.folder / BUCKET).as_posix(): path.stat().st_size for path in found}
