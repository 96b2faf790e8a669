"""A served coordinator with users who are logged in and have keys, and what its processes hold."""

from __future__ import annotations

import http.client
import json
import struct
import tarfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from integration.service.api_users import ApiUser, describe_file, make_package, store
from integration.service.databases import use_database
from integration.service.fleets import join
from integration.service.played_fleet import Coordinator

#: As Django's secret of a form: what the browser has and what the form says agree.
CSRF = "a" * 32
HEAD = '[experiment]\nname = "x"\n{keys}\n[[package]]\nname = "p1"\npath = "p1"\n[fleet]\nreboot = "never"\n'


@dataclass
class Answer:
    """An answer, whole, with how long it took."""

    status: int
    body: bytes
    headers: dict[str, str]
    elapsed_s: float

    @property
    def message(self) -> str:
        """The sentence of a refusal, of the API or on a page."""
        try:
            return str(json.loads(self.body)["message"])
        except ValueError:
            return self.body.decode(errors="replace")


@dataclass
class ServedUser:
    """Someone with a key, a session in a browser, and a package in the store."""

    coordinator: Coordinator
    user: User
    key: str
    session: str
    package: dict[str, Any]

    def ask(
        self, method: str, path: str, body: bytes = b"", *, timeout_s: float = 600.0, **headers: str
    ) -> Answer:
        """Send a request and wait for its answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.coordinator.port, timeout=timeout_s)
        began = time.monotonic()
        try:
            connection.request(method, path, body, self._head(path) | headers)
            answer = connection.getresponse()
            content = answer.read()
            return Answer(answer.status, content, dict(answer.getheaders()), time.monotonic() - began)
        finally:
            connection.close()

    def abandon(self, path: str, body: bytes, after_s: float) -> None:
        """Send a request and leave before its answer."""
        connection = self.begin(path, body)
        time.sleep(after_s)
        connection.close()

    def begin(self, path: str, body: bytes) -> http.client.HTTPConnection:
        """Send a request, and do not wait for its answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.coordinator.port, timeout=60)
        connection.request("POST", path, body, self._head(path))
        return connection

    def plan(self, text: str, **changes: Any) -> Answer:
        return self.ask("POST", "/api/experiments/plan", self.write(text, **changes))

    def write(self, text: str, **changes: Any) -> bytes:
        """The body of a submission."""
        body = {"text": text, "packages": [self.package], "options": {}, **changes}
        return json.dumps(body).encode()

    def post_form(self, path: str, **fields: str) -> Answer:
        form = urlencode({"csrfmiddlewaretoken": CSRF, **fields}).encode()
        return self.ask("POST", path, form, **{"Content-Type": "application/x-www-form-urlencoded"})

    def _head(self, path: str) -> dict[str, str]:
        if path.startswith(("/api/", "/files/")):
            return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        return {"Cookie": f"sessionid={self.session}; csrftoken={CSRF}"}


def make_users(coordinator: Coordinator, *names: str) -> list[ServedUser]:
    """Make users in the database of a coordinator that is not served yet."""
    made = []
    for name in names:
        known = ApiUser(name)
        session = SessionStore()
        session[SESSION_KEY] = str(known.user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = known.user.get_session_auth_hash()
        session.save()
        content = make_package(f"# {name}\n")
        package = describe_file("p1", store(content, known.user), len(content))
        made.append(ServedUser(coordinator, known.user, known.key, str(session.session_key), package))
    return made


@contextmanager
def serving_users(
    folder: Path, *names: str, workers: int = 2, url: str = "", options: tuple[str, ...] = ()
) -> Iterator[list[ServedUser]]:
    """Serve a coordinator with users and workers until the block ends."""
    data = folder / "data"
    data.mkdir(parents=True)
    kept, settings.DATA_FOLDER = settings.DATA_FOLDER, data
    # Sessions are signed with the key that the coordinator finds.
    kept_key, settings.SECRET_KEY = settings.SECRET_KEY, "k" * 50
    (data / "session-key").write_text(settings.SECRET_KEY)
    use_database(url or f"sqlite:///{data / 'coordinator.sqlite3'}")
    coordinator = Coordinator(data, options)
    try:
        for number in range(workers):
            join(f"m{number}")
        users = make_users(coordinator, *names)
        coordinator.start()
        coordinator.wait_until_well()
        yield users
    finally:
        if coordinator.process is not None and coordinator.process.poll() is None:
            coordinator.process.terminate()
            coordinator.process.wait(60)
        use_database("sqlite://")
        settings.DATA_FOLDER, settings.SECRET_KEY = kept, kept_key


def list_family(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for parent in found:
        for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found += map(int, tasks.read_text().split())
            except OSError:
                continue
    return found


def measure_memory(pid: int) -> int:
    """Return the bytes that a process and all below it hold, what they share counted once."""
    total = 0
    for member in list_family(pid):
        try:
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) << 10
        except OSError:
            continue
    return total


class MemoryWatch:
    """Looks again and again how much memory a process and all below it hold; `most` is the most so far."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self.most = measure_memory(pid)
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.05):
            self.most = max(self.most, measure_memory(self._pid))


def await_quiet(pid: int, most_bytes: int, seconds: float) -> int:
    """Wait until a process and all below it hold no more than so much; return what they hold."""
    ends_s = time.monotonic() + seconds
    while (held := measure_memory(pid)) > most_bytes and time.monotonic() < ends_s:
        time.sleep(0.1)
    return held


class RepeatedFile:
    """A gzip of whatever is written, of which what repeats takes neither space nor time."""

    def __init__(self) -> None:
        self._packer = _start_packer()
        self._sum, self._size = 0, 0
        self.packed = bytearray(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")

    def write(self, content: bytes) -> None:
        self._count(content)
        self.packed += self._packer.compress(content)

    def repeat(self, block: bytes, times: int) -> None:
        """Write a block again and again; packed with nothing before it, it is the same each time."""
        self.packed += self._packer.flush(zlib.Z_FULL_FLUSH)
        packer = _start_packer()
        packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
        for _ in range(times):
            self._count(block)
            self.packed += packed

    def finish(self) -> bytes:
        end = (self._sum, self._size & 0xFFFFFFFF)
        return bytes(self.packed + self._packer.flush() + struct.pack("<II", *end))

    def _count(self, content: bytes) -> None:
        self._sum = zlib.crc32(content, self._sum)
        self._size += len(content)


def _start_packer() -> Any:
    """What packs without the frame of a gzip."""
    return zlib.compressobj(9, zlib.DEFLATED, -15)


def pack_headers(*headers: tuple[bytes, int], repeat: int = 1, size: int = 512) -> bytes:
    """A `.tar.gz` of headers of types, each of which claims a size, and zeros behind the last."""
    file = RepeatedFile()
    content = b""
    for kind, claimed in headers:
        member = tarfile.TarInfo("x")
        member.type, member.size = kind, claimed
        content += member.tobuf(tarfile.GNU_FORMAT)[:512]
        if claimed <= 512:
            content += b"y".ljust(512, b"\0")
    file.repeat(content * 1000, repeat // 1000)
    file.write(content * (repeat % 1000))
    file.repeat(bytes(1 << 20), size >> 20)
    return file.finish()
