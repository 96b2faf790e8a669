"""Files in a bucket of an object storage that speaks S3: `PREFIX/ab/abcd…`, as on the disk."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, urlsplit

import obstore
from django.conf import settings
from obstore.exceptions import BaseError
from obstore.store import S3Store

from datamill.experiment.errors import InputError
from datamill.service.files.disk import name_by_digest
from datamill.service.files.store import AwayError, DamagedFileError, check_disk_room

if TYPE_CHECKING:
    from obstore.store import S3Config

log = logging.getLogger("datamill.serve")

T = TypeVar("T")
_PIECE_BYTES = 1 << 20
#: What is asked for at a time: a whole file takes as long as its reader does, and no request may.
_ASKED_BYTES = 8 << 20
#: What is sent at a time, twice at once: 10 000 such parts, as many as S3 takes, are 160 GB.
_PART_BYTES = 16 << 20
_PARTS_AT_ONCE = 2
#: Who waits for a file gives up sooner than a storage that is away comes back.
_GIVE_UP = timedelta(seconds=20)
_AWAY = "the storage of files cannot be used just now"
_KEY, _SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
_REMEDY = "It is s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION; prefix and region may be left out."


@dataclass(frozen=True, slots=True)
class BucketFile:
    """A file of the store that lies in a bucket."""

    store: S3Store
    sha256: str
    size_bytes: int
    version: str

    @property
    def source(self) -> Callable[[], Iterator[bytes]]:
        """What yields its content."""
        return self.read

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the content in pieces, or what of it is from `start` to before `stop`.

        Without a range the last piece comes only where the digest is right: what is damaged is never taken
        for whole. Who asks for a range compares the digest when all of it is there.

        Raises:
            AwayError: the storage does not answer.
            DamagedFileError: its digest is another.
        """
        if start or stop is not None:
            yield from self._read_range(start, self.size_bytes if stop is None else stop)
            return
        digest, held = hashlib.sha256(), b""
        for piece in self._read_range(0, self.size_bytes):
            if held:
                yield held
            held = piece
            digest.update(held)
        if digest.hexdigest() != self.sha256:
            raise DamagedFileError(f"{self.sha256} is damaged in the storage of files: its digest is another")
        if held:
            yield held

    def _read_range(self, start: int, stop: int) -> Iterator[bytes]:
        for first in range(start, stop, _ASKED_BYTES):
            found = self._ask_for(first, min(first + _ASKED_BYTES, stop))
            for begin in range(0, len(found), _PIECE_BYTES):
                yield bytes(found[begin : begin + _PIECE_BYTES])

    def _ask_for(self, start: int, stop: int) -> memoryview:
        name = name_by_digest(self.sha256)
        return memoryview(_ask(lambda: obstore.get_range(self.store, name, start=start, end=stop)))

    @contextmanager
    def at_hand(self) -> Iterator[Path]:
        """Yield a copy on the disk, which goes when this ends.

        Raises:
            AwayError, DamagedFileError: as `read`.
            FullDiskError: the disk has no room for it.
        """
        folder = Path(settings.DATA_FOLDER) / "files"
        folder.mkdir(parents=True, exist_ok=True)
        check_disk_room(self.size_bytes)
        with NamedTemporaryFile(dir=folder, prefix="upload-at-hand-") as file:
            for piece in self.read():
                file.write(piece)
            file.flush()
            yield Path(file.name)


class BucketShelf:
    """Keeps files in a bucket, each under its digest.

    Args:
        url: `s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION`.

    Raises:
        InputError: the address cannot be read, or the environment has no key.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        told = dict(parse_qsl(parts.query))
        endpoint = told.pop("endpoint", "")
        region = told.pop("region", "us-east-1")
        if parts.scheme != "s3" or not parts.netloc or told or parts.fragment or "@" in parts.netloc:
            raise InputError("the address of the bucket cannot be read", where="--files", remedy=_REMEDY)
        if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
            raise InputError("the endpoint is not an address of the web", where="--files", remedy=_REMEDY)
        if not (os.environ.get(_KEY) and os.environ.get(_SECRET)):
            raise InputError(
                "the environment has no key of the storage",
                where="--files",
                remedy=f"Set {_KEY} and {_SECRET}.",
            )
        config: S3Config = {
            "access_key_id": os.environ[_KEY],
            "secret_access_key": os.environ[_SECRET],
            "region": region,
            "checksum_algorithm": "SHA256",
        }
        if endpoint:
            config["endpoint"] = endpoint

        def connect(longest: timedelta) -> S3Store:
            return S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                config=config,
                client_options={
                    "allow_http": endpoint.startswith("http://"),
                    "connect_timeout": timedelta(seconds=5),
                    "timeout": longest,
                },
                retry_config={"max_retries": 4, "retry_timeout": _GIVE_UP},
            )

        self._store = connect(timedelta(seconds=60))
        # Parts are larger than what is asked for, and the way out of a laboratory may be slow.
        self._sending = connect(timedelta(minutes=10))

    def find(self, sha256: str) -> BucketFile | None:
        """Return the file of this digest, or None if it is not kept.

        Raises:
            AwayError: the storage does not answer.
        """
        name = name_by_digest(sha256)
        try:
            facts = _ask(lambda: obstore.head(self._store, name))
        except FileNotFoundError:
            return None
        version = f"{facts['e_tag']}-{facts['last_modified'].timestamp()}"
        return BucketFile(self._store, sha256, facts["size"], version)

    def keep(self, part: Path, sha256: str) -> None:
        """Send a file that was checked, in parts, so that it is whole there or not at all; then it goes here.

        Raises:
            AwayError: the storage does not answer; the file stays.
        """
        size = part.stat().st_size
        name = name_by_digest(sha256)
        _ask(
            lambda: obstore.put(
                self._sending, name, part, chunk_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE
            )
        )
        found = self.find(sha256)
        if found is None or found.size_bytes != size:
            raise AwayError("the storage of files has not kept what it took")
        part.unlink()

    def remove(self, digests: Collection[str]) -> None:
        """Remove files; one that is not there is no error.

        Raises:
            AwayError: the storage does not answer.
        """
        names = [name_by_digest(sha256) for sha256 in digests]
        if names:
            _ask(lambda: obstore.delete(self._store, names))

    def check(self) -> None:
        """Make sure that the bucket is there for us.

        Raises:
            AwayError: the storage does not answer, and why, for its operator.
            InputError: it does, and refuses the key, or has no such bucket.
        """
        try:
            next(iter(obstore.list(self._store, chunk_size=1)), None)
        except (BaseError, OSError) as error:
            # For lists the client has no kinds of errors, but what the storage says.
            told = str(error)
            if "NoSuchBucket" in told:
                raise InputError("there is no such bucket", where="--files", remedy="Make it.") from None
            if " 401 " in told or " 403 " in told:
                raise InputError(
                    "the storage refuses the key",
                    where="--files",
                    remedy=f"Look at {_KEY} and {_SECRET}, and at what the key may do.",
                ) from None
            raise AwayError(f"{_AWAY}: {_shorten(error)}") from error


def _ask(question: Callable[[], T]) -> T:
    """Return what the storage answers; the log says why it does not, as that names where it is.

    Raises:
        AwayError: it does not answer, or refuses.
        FileNotFoundError: it has no such file.
    """
    try:
        return question()
    except FileNotFoundError:
        raise
    except (BaseError, OSError) as error:
        log.warning("%s: %s", _AWAY, _shorten(error))
        raise AwayError(_AWAY) from error


def _shorten(error: Exception) -> str:
    """Return the first line of what a client of the storage says, which repeats it at length."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
