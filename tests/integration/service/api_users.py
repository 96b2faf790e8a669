"""Users of the API in tests: each with a key, a package or two, and what they submit."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import warnings
from collections.abc import Mapping
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client, override_settings

from datamill.service.accounts import make_api_key, make_user
from datamill.service.files.store import keep_file, record_stored_file

SCRIPT = b"#!/bin/sh\ntrue\n"
TEXT = """
[experiment]
name = "two-loops"
question = "Which is faster?"
replicates = 2
seed = 5

[[package]]
name = "p1"
path = "p1"

[[package]]
name = "p2"
path = "p2"

[coverage]
machine = "100%"

[fleet]
reboot = "never"
debug = "never"
"""


class ApiUser:
    """Someone with a key; answers are decoded JSON with their status."""

    def __init__(self, name: str, *, admin: bool = False) -> None:
        # Passwords are hashed slowly on purpose, and none is used here.
        with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
            self.user: User = make_user(name, "a password of no use", admin=admin)
        self.key = make_api_key(self.user, "test")
        self._client = Client(headers={"Authorization": f"Bearer {self.key}"})

    def get(self, path: str, **parameters: Any) -> tuple[int, Any]:
        answer = self._client.get(f"/api{path}", parameters)
        return answer.status_code, answer.json()

    def load(self, path: str) -> bytes:
        """What is sent, as it is."""
        answer = self._client.get(f"/api{path}")
        assert answer.status_code == 200, answer.content
        return bytes(answer.content)

    def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        answer = self.ask(path, body)
        return answer.status_code, answer.json() if answer.content else None

    def ask(self, path: str, body: Any = None, **headers: str) -> Any:
        """The whole answer to a request that changes something."""
        content = msgspec.json.encode(body or {})
        return self._client.post(
            f"/api{path}", content, content_type="application/json", headers=headers or None
        )

    def read(self, path: str, **headers: str) -> bytes:
        """What is streamed, whole."""
        answer = self._client.get(f"/api{path}", headers=headers)
        assert answer.status_code == 200, answer.content
        with warnings.catch_warnings():
            # Without a server whatever is streamed has to be read as a whole.
            warnings.filterwarnings("ignore", "StreamingHttpResponse must consume asynchronous iterators")
            return b"".join(answer)


def pack(members: Mapping[str, bytes], *, mode: int = 0o755) -> bytes:
    """A `.tar.gz` of plain files."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=0)


def make_package(extra: str = "") -> bytes:
    """A package that holds what it must."""
    return pack({"run.sh": SCRIPT + extra.encode(), "collect.sh": SCRIPT})


def store(content: bytes, user: User, name: str = "p1", kind: str = "package") -> str:
    """Put a file into the coordinator's store, as an upload does; return its SHA-256."""
    digest = hashlib.sha256(content).hexdigest()
    settings.DATA_FOLDER.mkdir(parents=True, exist_ok=True)
    part = settings.DATA_FOLDER / "part"
    part.write_bytes(content)
    keep_file(part, digest, lambda: record_stored_file(digest, kind, user, len(content), name))
    return digest


def describe_file(name: str, digest: str, size: int = 400, **changes: Any) -> dict[str, Any]:
    return {"name": name, "kind": "package", "sha256": digest, "bytes": size, **changes}


def make_submission(user: User, text: str = TEXT, **options: Any) -> dict[str, Any]:
    """An experiment of two packages whose files are in the store."""
    files = []
    for name in ("p1", "p2"):
        content = make_package(f"# {name}\n")
        files.append(describe_file(name, store(content, user, name), len(content)))
    return {"text": text, "file_name": "experiment.toml", "packages": files, "options": options}
