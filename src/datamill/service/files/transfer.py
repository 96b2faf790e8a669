"""`/files/SHA256`: packages go to workers, artifacts come back; each named by its content."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connection, connections
from msgspec.structs import asdict
from starlette.datastructures import Headers
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from datamill.experiment.quantities import format_duration, format_size
from datamill.protocol.api.problems import Problem
from datamill.service.administration.quotas import find_quota
from datamill.service.files.disk import DiskFile, is_sha256
from datamill.service.files.ranges import RangedResponse
from datamill.service.files.rights import (
    FileUser,
    count_unclaimed,
    find_file_user,
    may_read,
    needs_not_bring,
)
from datamill.service.files.store import (
    AwayError,
    KeptFile,
    ask_store,
    enter_sent_file,
    find_file,
    keep_sent_file,
    record_stored_file,
)
from datamill.service.front_door.visitors.guesses import SECRETS
from datamill.service.front_door.visitors.visitors import mark_member

#: Written and hashed at a time; the event loop is free meanwhile.
_PIECE_BYTES = 1 << 20
_CHUNK_BYTES = 256 << 10
#: A sender that is silent for so long is gone.
_IDLE_S = 60.0
_KEPT_REMEDY = "Try again in half a minute."
_KINDS = ("package", "load", "factor", "artifact", "build")
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class _StoredFileResponse(FileResponse):
    chunk_size = _CHUNK_BYTES


@dataclass(frozen=True)
class Upload:
    """A piece of a file that is being sent."""

    sha256: str
    start: int
    length: int
    total: int


class FileStore:
    """An ASGI application for the files: GET, HEAD and PUT, each by a key.

    An upload goes to a part of its own for each user, and becomes a file when all of it is there and has the
    digest that it is named by. One that broke off goes on where it stopped: HEAD tells how far it got, in the
    header `Upload-Offset`, and PUT takes the rest with `Content-Range`.
    """

    def __init__(self) -> None:
        self._under_way: set[Path] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        begun = False

        async def begin(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            response = await self._answer(scope, receive)
            await response(scope, receive, begin)
        except AwayError as problem:
            # In mid-answer nothing can be said but that it ends here.
            if begun:
                raise
            refused = _refuse_for_now(problem.message, "/files", problem.remedy)
            await refused(scope, receive, send)

    def drop_abandoned(self, now_s: float) -> int:
        """Throw away uploads that have not moved for `ABANDONED_UPLOAD_S`; return how many there were.

        To be called in the event loop: between the look at what is under way and the removal nobody begins.
        """
        files = Path(settings.DATA_FOLDER) / "files"
        dropped = 0
        # Those of browsers are beside the files while they come, and while they are checked.
        for part in (*(files / "parts").glob("*"), *files.glob("upload-*"), *files.glob("tmp*.upload*")):
            with contextlib.suppress(OSError):
                if part not in self._under_way and now_s - part.stat().st_mtime > settings.ABANDONED_UPLOAD_S:
                    part.unlink()
                    dropped += 1
        return dropped

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        headers = Headers(scope=scope)
        sha256 = scope["path"].removeprefix("/files/")
        if not is_sha256(sha256):
            return _refuse(404, "files are named by the SHA-256 of their content", scope["path"])
        scheme, _, key = headers.get("authorization", "").partition(" ")
        user = await _find_user(key.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            return _refuse_stranger(scope, has_key=bool(key.strip()))
        mark_member(scope)
        # HEAD belongs to both: who brings a file asks how much of it is here.
        needed: Literal["submit", "read"] = "submit" if scope["method"] in ("PUT", "HEAD") else "read"
        if not user.may(needed) and not (scope["method"] == "HEAD" and user.may("read")):
            return _refuse(403, f"this key lacks the scope {needed}", "Authorization", "Use another key.")
        if scope["method"] == "PUT":
            return await self._store(sha256, user, scope, headers, receive)
        if scope["method"] not in ("GET", "HEAD"):
            return _refuse(405, "files are read and stored, nothing else", scope["path"])
        asked = needs_not_bring if scope["method"] == "HEAD" else may_read
        # Whether there is a file that is not for them is nobody's business either.
        kept = await _find(sha256) if await _ask(asked, user, sha256) else None
        if kept is None:
            part = _name_part(sha256, user)
            offset = part.stat().st_size if part.is_file() else 0
            return _refuse(404, "no such file, or none for you", f"/files/{sha256}", offset=offset)
        return _send(kept, sha256, user)

    async def _store(
        self, sha256: str, user: FileUser, scope: Scope, headers: Headers, receive: Receive
    ) -> Response:
        upload = _read_upload(sha256, headers)
        if isinstance(upload, Response):
            return upload
        # Of a file that another brought, all of it has to come again: a digest is no proof of its content.
        if await _ask(needs_not_bring, user, sha256):
            enter = partial(_record, sha256, user, scope)
            kept = await enter_sent_file(sha256, lambda kept: enter(kept.size_bytes))
            if kept is not None:
                return JSONResponse({"sha256": sha256}, 200)
        full = await _find_no_room(user, upload)
        if full is not None:
            return full
        part = _name_part(sha256, user)
        if part in self._under_way:
            # Not 409: who sends files gives up on what is refused, and this passes.
            return _refuse_for_now("this file is being stored just now", f"/files/{sha256}", _KEPT_REMEDY)
        self._under_way.add(part)
        try:
            return await _receive_upload(upload, part, user, scope, receive)
        finally:
            self._under_way.discard(part)


async def _receive_upload(
    upload: Upload, part: Path, user: FileUser, scope: Scope, receive: Receive
) -> Response:
    where = f"/files/{upload.sha256}"
    await asyncio.to_thread(part.parent.mkdir, parents=True, exist_ok=True)
    there = part.stat().st_size if part.is_file() else 0
    if upload.start > there:
        return _refuse(409, f"only {there} bytes of it are here", where, "Go on from there.", there)
    received = 0
    # A piece that was sent again replaces what followed its beginning.
    with part.open("r+b" if there else "wb", buffering=0) as file:
        file.seek(upload.start)
        file.truncate()
        try:
            async for piece in _read_pieces(receive):
                received += len(piece)
                if received > upload.length:
                    return _refuse(400, "more came than Content-Length said", where)
                await asyncio.to_thread(_write_whole, file.fileno(), piece)
        except OSError as error:
            return _refuse(507, f"cannot store it: {error.strerror}", where, offset=upload.start + received)
    there = upload.start + received
    if there < upload.total:
        status = 202 if received == upload.length else 400
        return JSONResponse({"received": there}, status, {"Upload-Offset": str(there)})
    digest = await asyncio.to_thread(_hash_file, part)
    if digest != upload.sha256:
        part.unlink(missing_ok=True)
        return _refuse(422, f"what came has the SHA-256 {digest}", where, "Send the file again.", 0)
    try:
        enter = partial(_record, upload.sha256, user, scope, upload.total)
        await keep_sent_file(part, upload.sha256, enter)
    except AwayError:
        # Without its last byte it is an upload that broke off: who tries again sends no more than that.
        os.truncate(part, max(upload.total - 1, 0))
        raise
    return JSONResponse({"sha256": upload.sha256}, 201)


async def _find(sha256: str) -> KeptFile | None:
    return await ask_store(partial(find_file, sha256))


def _send(kept: KeptFile, sha256: str, user: FileUser) -> Response:
    headers = {
        "etag": f'"{sha256}"',
        "cache-control": "private, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
        "content-disposition": f'attachment; filename="{sha256[:16]}"',
    }
    if isinstance(kept, DiskFile):
        return _StoredFileResponse(kept.source, media_type="application/octet-stream", headers=headers)
    # Workers compare digests themselves, and ask for the rest of what ended early.
    return RangedResponse(kept, headers, is_checked=not user.is_worker)


def _read_upload(sha256: str, headers: Headers) -> Upload | Response:
    where = f"/files/{sha256}"
    told = headers.get("content-length", "")
    if not (told.isascii() and told.isdecimal()):
        return _refuse(411, "the size is missing", where, "Send Content-Length.")
    start, total = 0, (length := int(told))
    if "content-range" in headers:
        piece = _CONTENT_RANGE.fullmatch(headers["content-range"])
        if piece is None:
            return _refuse(400, "Content-Range cannot be read", where, "It is bytes FIRST-LAST/TOTAL.")
        start, last, total = (int(number) for number in piece.groups())
        if last - start + 1 != length or last >= total:
            return _refuse(400, "Content-Range does not fit Content-Length", where)
    if total > settings.LARGEST_FILE_BYTES:
        most = format_size(settings.LARGEST_FILE_BYTES)
        return _refuse(413, f"it has {format_size(total)}; at most {most} are taken", where)
    return Upload(sha256, start, length, total)


async def _read_pieces(receive: Receive) -> Any:
    """Yield the body in pieces of about a mebibyte, until it ends or its sender is gone."""
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        try:
            message = await asyncio.wait_for(receive(), _IDLE_S)
        except TimeoutError:
            break
        if message["type"] == "http.disconnect":
            break
        body = message.get("body", b"")
        pieces.append(body)
        size += len(body)
        more = message.get("more_body", False)
        if size >= _PIECE_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    if size:
        yield b"".join(pieces)


def _write_whole(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _hash_file(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _name_part(sha256: str, user: FileUser) -> Path:
    return Path(settings.DATA_FOLDER) / "files" / "parts" / f"{sha256}.{user.label}"


@sync_to_async(thread_sensitive=False)
def _find_user(key: str) -> FileUser | None:
    with _own_connection():
        return find_file_user(key)


@sync_to_async(thread_sensitive=False)
def _ask(question: Callable[[FileUser, str], bool], user: FileUser, sha256: str) -> bool:
    with _own_connection():
        return question(user, sha256)


def _find_size(part: Path) -> int:
    """Bytes of an upload, none when it was kept or thrown away meanwhile."""
    try:
        return part.stat().st_size
    except FileNotFoundError:
        return 0


@sync_to_async(thread_sensitive=False)
def _find_no_room(user: FileUser, upload: Upload) -> Response | None:
    """Return the refusal of an upload for which there is no room, None when there is."""
    where = f"/files/{upload.sha256}"
    folder = Path(settings.DATA_FOLDER)
    disk = shutil.disk_usage(folder)
    reserve = min(settings.RESERVED_BYTES, disk.total // 20)
    if disk.free - upload.length < reserve:
        return _refuse(507, "the coordinator's disk is full", where, "Try again when its owner made room.")
    with _own_connection():
        files, held = count_unclaimed(user)
        most = settings.MOST_WORKER_BYTES if user.user is None else find_quota(user.user).stored_bytes
    own = _name_part(upload.sha256, user)
    parts = [part for part in own.parent.glob(f"*.{user.label}") if part != own]
    if len(parts) >= settings.MOST_PARTS:
        return _refuse(
            403,
            f"{len(parts)} of your uploads are not whole",
            where,
            "End those first, or come again tomorrow.",
        )
    most_files = settings.MOST_WORKER_FILES if user.is_worker else settings.MOST_USER_FILES
    if files >= most_files:
        return _refuse(
            413 if user.is_worker else 403, f"{files} files of yours are here, as many as are kept", where
        )
    held += sum(_find_size(part) for part in parts)
    if held + upload.total <= most:
        return None
    return _refuse(
        413 if user.is_worker else 403,
        f"{format_size(held)} of yours are here, and at most {format_size(most)} are kept",
        where,
        "" if user.is_worker else "Ask the operator of the coordinator for room.",
    )


def _record(sha256: str, user: FileUser, scope: Scope, size_bytes: int) -> None:
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    kind = "artifact" if user.is_worker else asked.get("kind", ["package"])[0]
    with _passing_connection():
        record_stored_file(
            sha256,
            kind if kind in _KINDS else "package",
            user.owner,
            size_bytes,
            asked.get("name", [""])[0],
            worker_id=user.worker_id,
        )


@contextlib.contextmanager
def _passing_connection() -> Any:
    """Give a thread that keeps files a connection for as long as this lasts: it needs none otherwise."""
    try:
        yield
    finally:
        connection.close()
        del connections[DEFAULT_DB_ALIAS]


@contextlib.contextmanager
def _own_connection() -> Any:
    """Give back the connection of a thread that the next request may not see again."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


def _refuse_stranger(scope: Scope, *, has_key: bool) -> JSONResponse:
    """Refuse an unknown key; guesses are counted together with those at the API."""
    wait_s = SECRETS.begin(str((scope.get("client") or ("",))[0])) if has_key else 0.0
    if wait_s <= 0:
        return _refuse(401, "no key, or one that is void", "Authorization", "Send Authorization: Bearer KEY.")
    answer = _refuse(
        429,
        "too many unknown keys or tokens came from your address",
        "Authorization",
        f"One that is good is taken at once. Try others in {format_duration(wait_s)}.",
    )
    answer.headers["Retry-After"] = str(int(wait_s) + 1)
    return answer


def _refuse_for_now(message: str, where: str, remedy: str) -> JSONResponse:
    answer = _refuse(503, message, where, remedy)
    answer.headers["Retry-After"] = str(AwayError.RETRY_AFTER_S)
    return answer


def _refuse(
    status: int, message: str, where: str, remedy: str = "", offset: int | None = None
) -> JSONResponse:
    """Answer as the API does, with how much of a file is here where that matters."""
    headers = {} if offset is None else {"Upload-Offset": str(offset)}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(asdict(Problem(message, where, remedy)), status, headers)
