"""Files of the coordinator: stored whole or not at all, in pieces, and only for those who may have them."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import override_settings
from integration.service.databases import use_database

from datamill.service.accounts import make_api_key, make_user
from datamill.service.files.disk import name_stored_file
from datamill.service.files.transfer import FileStore
from datamill.service.kept_secrets import hash_secret
from datamill.service.models import FleetWorker, StoredFile

WORKER_KEY = "key of a worker"
CONTENT = os.urandom(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Store:
    store: FileStore
    folder: Path
    keys: dict[str, str]

    def ask(
        self, who: str, method: str, sha256: str = SHA256, content: Any = None, **headers: str
    ) -> httpx.Response:
        async def run() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.store)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport, base_url="http://coordinator") as client:
                key = {"Authorization": f"Bearer {self.keys[who]}"} if who else {}
                told = {name.replace("_", "-"): value for name, value in headers.items()}
                return await client.request(
                    method, f"/files/{sha256}", content=content, headers={**key, **told}
                )

        return asyncio.run(run())

    def parts(self) -> list[Path]:
        return list((self.folder / "files" / "parts").glob("*"))


@pytest.fixture(scope="module")
def database_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "database"


@pytest.fixture
def store(tmp_path: Path, database_file: Path) -> Iterator[Store]:
    use_database(f"sqlite:///{database_file}")
    quick = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(DATA_FOLDER=tmp_path, LARGEST_FILE_BYTES=10_000_000, PASSWORD_HASHERS=quick):
        keys = {name: make_api_key(make_user(name, "password"), "key") for name in ("ada", "bob")}
        keys |= {"root": make_api_key(make_user("root", "password", admin=True), "key")}
        owner = StoredFile._meta.get_field("owner").related_model.objects.get(username="ada")
        FleetWorker.objects.create(
            worker_id="wone",
            name="one",
            owner=owner,
            public_key="U1",
            api_key_sha256=hash_secret(WORKER_KEY),
            inventory=b"{}",
            hardware={},
            policy=b"{}",
            joined_unix_s=0,
            heard_unix_s=0,
        )
        yield Store(FileStore(), tmp_path, {**keys, "worker": WORKER_KEY, "nobody": "dmk_wrong"})
    use_database("sqlite://")


def test_a_file_is_stored_under_its_digest_and_read_back(store: Store) -> None:
    assert store.ask("ada", "HEAD").status_code == 404
    assert store.ask("ada", "PUT", content=CONTENT).status_code == 201
    assert name_stored_file(SHA256).read_bytes() == CONTENT
    told = store.ask("ada", "GET")
    assert (told.status_code, told.content) == (200, CONTENT)
    stored = StoredFile.objects.get(sha256=SHA256)
    assert (stored.size_bytes, stored.kind, stored.owner.username) == (len(CONTENT), "package", "ada")
    assert store.ask("ada", "PUT", content=CONTENT).status_code == 200
    assert store.parts() == []


def test_ranges_are_answered_so_that_a_download_goes_on_where_it_broke_off(store: Store) -> None:
    store.ask("ada", "PUT", content=CONTENT)
    told = store.ask("ada", "GET", Range="bytes=1000000-")
    assert (told.status_code, told.content) == (206, CONTENT[1_000_000:])
    assert told.headers["content-range"] == f"bytes 1000000-{len(CONTENT) - 1}/{len(CONTENT)}"
    assert store.ask("ada", "GET", Range=f"bytes={len(CONTENT)}-").status_code == 416


def test_what_has_another_digest_is_not_kept(store: Store) -> None:
    told = store.ask("ada", "PUT", content=CONTENT[:-1] + bytes([CONTENT[-1] ^ 1]))
    assert (told.status_code, told.headers["upload-offset"]) == (422, "0")
    assert not name_stored_file(SHA256).exists()
    assert store.parts() == []
    assert not StoredFile.objects.exists()


def leave_half(store: Store, who: str = "ada") -> Path:
    """Send the first third of the file; return where it is."""
    half = {"Content_Range": f"bytes 0-999999/{len(CONTENT)}"}
    assert store.ask(who, "PUT", content=CONTENT[:1_000_000], **half).status_code == 202
    (part,) = (part for part in store.parts() if part.stat().st_size == 1_000_000)
    return part


def test_an_upload_that_has_not_moved_for_a_day_is_thrown_away_and_is_nobodys_burden(store: Store) -> None:
    part = leave_half(store)
    moved_s = part.stat().st_mtime
    assert store.store.drop_abandoned(moved_s + 86_000.0) == 0
    assert store.ask("ada", "HEAD").headers["upload-offset"] == "1000000"
    with override_settings(MOST_USER_BYTES=len(CONTENT)):
        other = hashlib.sha256(CONTENT[1:]).hexdigest()
        assert store.ask("ada", "PUT", other, content=CONTENT[1:]).status_code == 403
        assert store.store.drop_abandoned(moved_s + 86_401.0) == 1
        assert store.parts() == []
        assert store.ask("ada", "PUT", other, content=CONTENT[1:]).status_code == 201
    # Whoever comes back begins again.
    assert store.ask("ada", "HEAD").headers["upload-offset"] == "0"
    assert store.ask("ada", "PUT", content=CONTENT).status_code == 201


def test_an_upload_that_goes_on_is_kept_however_long_it_takes(store: Store) -> None:
    part = leave_half(store)
    os.utime(part, (0.0, 0.0))
    rest = {"Content_Range": f"bytes 1000000-{len(CONTENT) - 1}/{len(CONTENT)}"}

    async def send_slowly() -> AsyncIterator[bytes]:
        yield CONTENT[1_000_000:2_500_000]
        os.utime(part, (0.0, 0.0))
        assert store.store.drop_abandoned(1e6) == 0
        yield CONTENT[2_500_000:]

    rest["Content_Length"] = str(len(CONTENT) - 1_000_000)
    assert store.ask("ada", "PUT", content=send_slowly(), **rest).status_code == 201
    assert name_stored_file(SHA256).read_bytes() == CONTENT


def test_a_file_that_is_being_stored_is_refused_for_a_while(store: Store) -> None:
    again: list[httpx.Response] = []

    async def send_twice() -> AsyncIterator[bytes]:
        yield CONTENT[:2_000_000]
        transport = httpx.ASGITransport(app=store.store)  # type: ignore[arg-type]
        key = {"Authorization": f"Bearer {store.keys['ada']}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://coordinator") as client:
            again.append(await client.put(f"/files/{SHA256}", content=CONTENT, headers=key))
        yield CONTENT[2_000_000:]

    told = store.ask("ada", "PUT", content=send_twice(), Content_Length=str(len(CONTENT)))
    assert told.status_code == 201
    (refused,) = again
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
    assert "being stored just now" in refused.json()["message"]


def test_how_long_an_upload_may_rest_is_a_setting(store: Store) -> None:
    moved_s = leave_half(store).stat().st_mtime
    with override_settings(ABANDONED_UPLOAD_S=10.0):
        assert store.store.drop_abandoned(moved_s + 11.0) == 1
    # Files of the store itself stay for ever.
    store.ask("ada", "PUT", content=CONTENT)
    assert store.store.drop_abandoned(moved_s + 1e9) == 0
    assert name_stored_file(SHA256).is_file()


def test_an_upload_goes_on_piece_by_piece(store: Store) -> None:
    size = len(CONTENT)
    first = store.ask("ada", "PUT", content=CONTENT[:1000], Content_Range=f"bytes 0-999/{size}")
    assert (first.status_code, first.headers["upload-offset"]) == (202, "1000")
    assert store.ask("ada", "HEAD").headers["upload-offset"] == "1000"
    # Another's upload of the same file is another's.
    assert store.ask("bob", "HEAD").headers["upload-offset"] == "0"
    gap = store.ask("ada", "PUT", content=CONTENT[2000:], Content_Range=f"bytes 2000-{size - 1}/{size}")
    assert (gap.status_code, gap.headers["upload-offset"]) == (409, "1000")
    rest = store.ask("ada", "PUT", content=CONTENT[1000:], Content_Range=f"bytes 1000-{size - 1}/{size}")
    assert rest.status_code == 201
    assert name_stored_file(SHA256).read_bytes() == CONTENT


def test_what_came_before_a_connection_broke_is_kept_for_the_rest(store: Store) -> None:
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": CONTENT[:1_500_000], "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "PUT",
        "path": f"/files/{SHA256}",
        "query_string": b"",
        "headers": [
            (b"authorization", f"Bearer {store.keys['ada']}".encode()),
            (b"content-length", str(len(CONTENT)).encode()),
        ],
    }
    asyncio.run(store.store(scope, receive, send))
    assert store.ask("ada", "HEAD").headers["upload-offset"] == "1500000"
    size = len(CONTENT)
    rest = store.ask(
        "ada", "PUT", content=CONTENT[1_500_000:], Content_Range=f"bytes 1500000-{size - 1}/{size}"
    )
    assert rest.status_code == 201


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content_Length": "5000000000"}, 413),
        ({"Content_Length": "-1"}, 411),
        ({"Content_Length": "many"}, 411),
        ({"Content_Range": "bytes 5-1/7", "Content_Length": "3"}, 400),
        ({"Content_Range": "bytes 0-2/2", "Content_Length": "3"}, 400),
        ({"Content_Range": "lines 0-2/3", "Content_Length": "3"}, 400),
        ({"Content_Range": "bytes 0-2/5000000000", "Content_Length": "3"}, 413),
    ],
)
def test_sizes_that_cannot_be_are_refused_before_anything_is_written(
    store: Store, headers: dict[str, str], status: int
) -> None:
    told = store.ask("ada", "PUT", content=b"abc", **headers)
    assert told.status_code == status
    assert set(told.json()) == {"message", "where", "remedy"}
    assert store.parts() == []


def test_a_body_longer_than_it_said_is_refused(store: Store) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield CONTENT

    told = store.ask("ada", "PUT", content=pieces(), Content_Length="10")
    assert told.status_code == 400
    assert not name_stored_file(SHA256).exists()


def test_a_full_disk_is_told_and_what_came_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("datamill.service.files.transfer._write_whole", fail)
    told = store.ask("ada", "PUT", content=CONTENT)
    assert (told.status_code, "No space left" in told.json()["message"]) == (507, True)


@pytest.mark.parametrize("name", ["../../etc/passwd", "A" * 64, "a" * 63, "", "a" * 65])
def test_names_that_are_no_digests_are_no_files(store: Store, name: str) -> None:
    assert store.ask("root", "GET", name).status_code == 404


def test_files_are_for_those_who_brought_them(store: Store) -> None:
    store.ask("ada", "PUT", content=CONTENT)
    assert store.ask("", "GET").status_code == 401
    assert store.ask("nobody", "GET").status_code == 401
    assert store.ask("bob", "GET").status_code == 404
    assert store.ask("root", "GET").status_code == 200
    # A worker has no attempt under way that needs it.
    assert store.ask("worker", "GET").status_code == 404
    assert store.ask("ada", "DELETE").status_code == 405


def test_a_worker_stores_artifacts_until_it_is_removed(store: Store) -> None:
    assert store.ask("worker", "PUT", content=CONTENT).status_code == 201
    stored = StoredFile.objects.get(sha256=SHA256)
    assert (stored.kind, stored.owner) == ("artifact", None)
    FleetWorker.objects.update(state="removed")
    assert store.ask("worker", "HEAD").status_code == 401


@pytest.mark.parametrize(
    ("method", "scope", "status"),
    [("PUT", "submit", 201), ("PUT", "read", 403), ("GET", "submit", 403), ("HEAD", "publish", 403)],
)
def test_a_key_brings_and_reads_files_as_its_scope_has_it(
    store: Store, method: str, scope: str, status: int
) -> None:
    user = User.objects.get(username="ada")
    store.keys["narrow"] = make_api_key(user, "narrow", scopes=(scope,))
    content = CONTENT if method == "PUT" else None
    assert store.ask("narrow", method, content=content).status_code == status
    assert store.ask("ada", "PUT", content=CONTENT).status_code in (200, 201)
    readers = {"read": 200, "submit": 403, "publish": 403}
    assert store.ask("narrow", "GET").status_code == readers[scope]


def carry(store: Store, method: str, sha256: str, size: int) -> tuple[int, int]:
    """Send or fetch a file of so many zeros; return the status, and the most memory held meanwhile."""
    piece = b"\0" * 65_536
    statuses: list[int] = []
    left = size if method == "PUT" else 0

    async def receive() -> dict[str, Any]:
        nonlocal left
        if left <= 0:
            # The client stays, and says nothing more.
            await asyncio.Event().wait()
        left -= len(piece)
        return {"type": "http.request", "body": piece, "more_body": left > 0}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "method": method,
        "path": f"/files/{sha256}",
        "query_string": b"",
        "headers": [
            (b"authorization", f"Bearer {store.keys['ada']}".encode()),
            (b"content-length", str(size).encode()),
        ],
    }
    tracemalloc.start()
    try:
        asyncio.run(store.store(scope, receive, send))
        return statuses[0], tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_size_of_a_file(store: Store) -> None:
    sizes = (4 << 20, 32 << 20)
    digests = [hashlib.sha256(bytes(size)).hexdigest() for size in sizes]
    with override_settings(LARGEST_FILE_BYTES=1 << 30):
        for method, status in (("PUT", 201), ("GET", 200)):
            (first, small), (second, large) = (
                carry(store, method, digest, size) for digest, size in zip(digests, sizes, strict=True)
            )
            assert (first, second) == (status, status)
            # Pieces are of a mebibyte. How many are held at once is a matter of when threads meet:
            # two more are allowed, of 28 that the larger file has more.
            assert large < small + (2 << 20) + (64 << 10), method
            assert large < 6 << 20, method
