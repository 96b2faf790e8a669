"""A coordinator that was backed up while it worked goes on from the copy, in another folder."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from integration.service.played_fleet import Coordinator

#: What the manual has people copy after the database.
COPIED = ("files", "publications", "keys", "tls", "nats-port", "session-key")


def ask(coordinator: Coordinator, method: str, path: str, key: str, body: bytes | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", coordinator.port, timeout=60)
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {key}"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_keys_users_and_files_are_there_after_the_return(tmp_path: Path) -> None:
    content = b"kept"
    file = f"/files/{hashlib.sha256(content).hexdigest()}"
    copy = tmp_path / "copy.sqlite3"
    first = Coordinator(tmp_path / "data")
    first.start()
    try:
        first.wait_until_well()
        settings = tmp_path / "config" / "datamill" / "coordinator.json"
        key = json.loads(settings.read_text(encoding="utf-8"))["api_key"]
        assert ask(first, "PUT", file, key, content) == 201
        options = ("serve", "--data", str(tmp_path / "data"), "--backup", str(copy))
        subprocess.run(
            [sys.executable, "-c", "from datamill.cli.main import main; main()", *options],
            check=True,
            timeout=120,
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")},
        )
    finally:
        first.kill(signal.SIGTERM)

    returned = tmp_path / "returned"
    returned.mkdir(mode=0o700)
    copy.rename(returned / "coordinator.sqlite3")
    for name in COPIED:
        source = tmp_path / "data" / name
        if source.is_dir():
            shutil.copytree(source, returned / name)
        elif source.exists():
            shutil.copy2(source, returned / name)
    second = Coordinator(returned)
    second.start()
    try:
        second.wait_until_well()
        assert ask(second, "GET", "/api/me", key) == 200
        assert ask(second, "HEAD", file, key) == 200
        assert ask(second, "GET", "/api/me", "dmk_of_nobody") == 401
    finally:
        second.kill(signal.SIGTERM)
