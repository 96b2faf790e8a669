"""The coordinator as the client verbs see it: what they ask, and what became of it in sentences."""

from __future__ import annotations

import hashlib
import ipaddress
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec.structs import asdict

from datamill.cli.coordinator.coordinator_settings import (
    CA_VARIABLE,
    KEY_VARIABLE,
    read_settings,
)
from datamill.cli.coordinator.unanswered import asking_once
from datamill.client_settings import ClientSettings, name_settings_file
from datamill.conduct.fleet.coordinator_records import UnknownAnswerError, read_record
from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given
from datamill.protocol.api.accounts import KeyOwner
from datamill.protocol.api.plans import RefusedSubmission, SubmissionPlan
from datamill.protocol.api.problems import Problem

T = TypeVar("T")
#: What an address is asked with.
Parameter: TypeAlias = str | int | float | Sequence[str] | Sequence[int]
_CONNECT_TIMEOUT_S = 10.0
#: Large designs take the coordinator a while to plan.
_READ_TIMEOUT_S = 600.0
_PIECE_BYTES = 1 << 20
#: What must not happen twice is asked again after a connection that broke, with these pauses.
_PAUSES_S = (1.0, 2.0, 4.0)
#: The first request with a key may take as long as that.
_LONGEST_WORK_S = 600.0


class UnreachableError(InputError):
    """The coordinator does not answer: trying again later may help."""


class BrokenConnectionError(UnreachableError):
    """The connection broke, and what was asked may have been done."""


class StillDoingError(InputError):
    """The coordinator still works on the same request, sent before."""


class FailedAnswerError(InputError):
    """The answer says that something failed there, and not what became of the request."""


class MissingFilesError(InputError):
    """The coordinator lacks files of the experiment; `missing` are their SHA-256."""

    def __init__(self, message: str, missing: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing = missing


class ChangedPlanError(InputError):
    """The plan that was confirmed is no longer the experiment's; `plan` is."""

    def __init__(self, message: str, plan: SubmissionPlan) -> None:
        super().__init__(message)
        self.plan = plan


class CoordinatorClient:
    """Asks the coordinator; whatever goes wrong is an `InputError` that says what to do."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._client = httpx.Client(
            base_url=settings.url,
            headers={"Authorization": f"Bearer {settings.api_key}"},
            verify=_make_context(settings),
            timeout=httpx.Timeout(_READ_TIMEOUT_S, connect=_CONNECT_TIMEOUT_S),
            # A proxy knows nothing of this machine's own addresses.
            trust_env=not _is_loopback(settings.url),
        )

    def __enter__(self) -> CoordinatorClient:
        """Return itself."""
        return self

    @property
    def url(self) -> str:
        """The coordinator's address."""
        return self._settings.url

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._client.close()

    def get(self, path: str, kind: type[T], **parameters: Parameter) -> T:
        """Return the record, or the list of records, at a path below `/api`.

        A parameter that is a sequence is sent once for each of its values.

        Raises:
            UnknownAnswerError: when the answer is not that record.
        """
        with self._explain():
            return self._read(self._client.get(f"/api{path}", params=parameters), kind)

    def post(self, path: str, kind: type[T], body: msgspec.Struct | None = None) -> T:
        """Ask for something to be done at a path below `/api`, and return the answer as a record.

        Raises:
            MissingFilesError: when an experiment's files have to be uploaded first.
            ChangedPlanError: when an experiment's plan is no longer the one that was confirmed.
            UnknownAnswerError: when the answer is not that record.
        """
        content = b"" if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        with self._explain():
            return self._read(self._client.post(f"/api{path}", content=content, headers=headers), kind)

    def post_once(
        self, path: str, kind: type[T], body: msgspec.Struct, meaning: msgspec.Struct | None = None
    ) -> T:
        """Ask for something that must not be done twice, and return the answer as a record.

        It is asked again by itself where the connection breaks, and by the same command typed again: with the
        same key, so that the coordinator answers as it did the first time. `meaning` is what makes two
        requests the same, if not all of the body.

        Raises:
            MissingFilesError, ChangedPlanError, UnknownAnswerError: as `post`.
        """
        content = msgspec.json.encode(body)
        told = msgspec.json.encode(body if meaning is None else meaning)
        with asking_once(self._settings, path, content, told) as asking:
            headers = {
                "Content-Type": "application/json",
                "Idempotency-Key": f'"{asking.request.key}"',
            }
            try:
                answer = self._ask_until_answered(f"/api{path}", asking.request.body, headers)
            except (UnreachableError, StillDoingError, FailedAnswerError) as problem:
                raise _say_repeatable(problem) from None
            except InputError:
                asking.is_settled = True
                raise
            asking.is_settled = True
            return self._read(answer, kind)

    def _ask_until_answered(self, path: str, content: bytes, headers: dict[str, str]) -> httpx.Response:
        """Return the answer to a request, which is sent again after a connection that broke."""
        pauses, deadline_s = iter(_PAUSES_S), time.monotonic() + _LONGEST_WORK_S
        broke = False
        while True:
            try:
                with self._explain():
                    answer = self._client.post(path, content=content, headers=headers)
                    _check_answer(answer)
                    return answer
            except StillDoingError:
                if time.monotonic() > deadline_s:
                    raise
                pause_s = _PAUSES_S[0]
            except UnreachableError as problem:
                broke = broke or isinstance(problem, BrokenConnectionError)
                pause_s = next(pauses, 0.0) if broke else 0.0
                if not pause_s:
                    raise
            time.sleep(pause_s)

    def _read(self, answer: httpx.Response, kind: type[T]) -> T:
        _check_answer(answer)
        where = str(answer.request.url)
        try:
            return read_record(answer.content, kind, where)
        except UnknownAnswerError:
            return read_record(answer.content, kind, where, self._find_version())

    def _find_version(self) -> str:
        """Return which datamill the coordinator is, empty when it does not say."""
        try:
            return msgspec.json.decode(self._client.get("/api/me").content, type=KeyOwner).datamill
        except (httpx.HTTPError, msgspec.DecodeError, UnicodeDecodeError):
            return ""

    def upload(
        self, file: Path, sha256: str, *, kind: str, name: str, tell: Callable[[int], None] = lambda _: None
    ) -> None:
        """Bring a file into the coordinator's store, from where an earlier upload stopped.

        `tell` hears of the bytes that are there.
        """
        size = file.stat().st_size
        with self._explain(), file.open("rb") as handle:
            start = self._find_offset(sha256)
            if start is None:
                tell(size)
                return
            # What is there whole and is no file yet had another digest.
            start = start if start < size else 0
            handle.seek(start)
            tell(start)
            headers = {"Content-Length": str(size - start)}
            if start:
                headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
            _check_answer(
                self._client.put(
                    f"/files/{sha256}",
                    params={"kind": kind, "name": name},
                    content=_read_pieces(handle, tell),
                    headers=headers,
                )
            )

    def download(self, sha256: str, file: Path) -> None:
        """Bring a file of the coordinator's store here, and check that it is that one."""
        found = hashlib.sha256()
        with self._explain(), self._client.stream("GET", f"/files/{sha256}") as answer:
            if not answer.is_success:
                answer.read()
                _check_answer(answer)
            with file.open("wb") as handle:
                for piece in answer.iter_bytes(_PIECE_BYTES):
                    found.update(piece)
                    handle.write(piece)
        if found.hexdigest() != sha256:
            raise InputError("what came is not the file that was asked for", where=f"/files/{sha256}")

    def _find_offset(self, sha256: str) -> int | None:
        """Return how much of a file the coordinator has, None when it has all of it."""
        answer = self._client.head(f"/files/{sha256}")
        if answer.status_code == httpx.codes.OK:
            return None
        if answer.status_code != httpx.codes.NOT_FOUND:
            _check_answer(answer)
        told = answer.headers.get("Upload-Offset", "0")
        return int(told) if told.isdigit() else 0

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[httpx.Response]:
        """Yield an answer below `/api` that is read while it comes."""
        # Between two events there is at least a sign of life.
        with self._stream(path, 60.0, headers) as answer:
            yield answer

    @contextmanager
    def stream_made(self, path: str, wait_s: float) -> Iterator[httpx.Response]:
        """Yield an answer that is read while it comes, and whose making may take so long before it begins."""
        with self._stream(path, wait_s, {}) as answer:
            yield answer

    @contextmanager
    def _stream(self, path: str, wait_s: float, headers: dict[str, str]) -> Iterator[httpx.Response]:
        timeout = httpx.Timeout(wait_s, connect=_CONNECT_TIMEOUT_S)
        with (
            self._explain(),
            self._client.stream("GET", f"/api{path}", headers=headers, timeout=timeout) as answer,
        ):
            if answer.status_code >= httpx.codes.BAD_REQUEST:
                answer.read()
                _check_answer(answer)
            yield answer

    @contextmanager
    def _explain(self) -> Iterator[None]:
        """Turn what may go wrong on the way into sentences."""
        url = self._settings.url
        try:
            yield
        except httpx.ConnectTimeout:
            raise UnreachableError(
                f"no answer within {format_given(_CONNECT_TIMEOUT_S)} s",
                where=url,
                remedy="Is the coordinator running, and is a firewall between you?",
            ) from None
        except httpx.TransportError as error:
            raise _explain_transport(error, url) from None
        except httpx.InvalidURL as error:
            raise InputError(f"this is not an address: {error}", where=url) from None


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _make_context(settings: ClientSettings) -> ssl.SSLContext | bool:
    if settings.ca_pem is None:
        return True
    try:
        return ssl.create_default_context(cadata=settings.ca_pem)
    except ssl.SSLError as error:
        raise InputError(
            f"the coordinator's certificate authority cannot be read: {error}",
            where=str(name_settings_file()),
            remedy="Copy the settings from the coordinator again.",
        ) from None


def _read_pieces(handle: IO[bytes], tell: Callable[[int], None]) -> Iterator[bytes]:
    while piece := handle.read(_PIECE_BYTES):
        yield piece
        tell(handle.tell())


def _explain_transport(error: httpx.TransportError, url: str) -> InputError:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return InputError(
                f"the coordinator's certificate is not the one that was expected: {cause.verify_message}",
                where=url,
                remedy="Copy the settings from the coordinator again, or name the file of its authority in "
                f"{CA_VARIABLE} (it is at {url}/ca.pem). If it did not change, someone else answers.",
            )
        cause = cause.__cause__ or cause.__context__
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return InputError(
            f"the coordinator's certificate is not the one that was expected: {error}", where=url
        )
    if "WRONG_VERSION_NUMBER" in str(error) or "RECORD_LAYER_FAILURE" in str(error):
        return InputError("there is no TLS at this address", where=url, remedy="It may begin with http://.")
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError) and url.startswith("http://"):
        return BrokenConnectionError(
            f"the connection broke: {error or type(error).__name__}",
            where=url,
            remedy="Try again; if it always happens, the address may begin with https://.",
        )
    if not isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol):
        return BrokenConnectionError(
            f"the connection broke: {error or type(error).__name__}", where=url, remedy="Try again."
        )
    return UnreachableError(
        f"the coordinator cannot be reached: {error or type(error).__name__}",
        where=url,
        remedy="Is it running (datamill serve), and is the address right?",
    )


def _check_answer(answer: httpx.Response) -> None:
    """Make sure that an answer is no refusal.

    Raises:
        InputError: when the coordinator refused, with its message.
    """
    is_json = answer.headers.get("Content-Type", "").startswith("application/json")
    if answer.is_success and (is_json or not answer.content):
        return
    refusal = _read_refusal(answer.content) if is_json else None
    failed = FailedAnswerError if answer.is_server_error else InputError
    if refusal is None:
        raise failed(
            f"the answer is {answer.status_code} {answer.reason_phrase}, and cannot be read",
            where=str(answer.request.url),
            remedy="Is this the address of a datamill coordinator?",
        )
    if refusal.missing_files:
        raise MissingFilesError(refusal.message, refusal.missing_files)
    if refusal.plan is not None:
        raise ChangedPlanError(refusal.message, refusal.plan)
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        raise InputError(
            "the coordinator does not know this key",
            where=f"{answer.request.url.scheme}://{answer.request.url.netloc.decode()}",
            remedy=f"Give a key that is valid there with --key or {KEY_VARIABLE}.",
        )
    if answer.status_code == httpx.codes.CONFLICT and "Retry-After" in answer.headers:
        raise StillDoingError(refusal.message, where=refusal.where, remedy=refusal.remedy)
    raise failed(refusal.message, where=refusal.where, remedy=refusal.remedy)


def _say_repeatable(problem: InputError) -> InputError:
    """Return why there is no answer, with what the user can do about it."""
    if isinstance(problem, UnreachableError) and not isinstance(problem, BrokenConnectionError):
        return problem
    return type(problem)(
        problem.message,
        where=problem.where,
        remedy="Type the command again: what was done already is not done twice, and you get its answer.",
    )


def _read_refusal(content: bytes) -> RefusedSubmission | None:
    """Return why a request was refused, without a plan of another version; None if it cannot be read."""
    for kind in (RefusedSubmission, Problem):
        try:
            found = msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        return RefusedSubmission(**asdict(found))
    return None


def connect(url: str | None, key: str | None) -> CoordinatorClient:
    """Return the coordinator that was named, or that of the user's settings.

    Raises:
        InputError: when it is not known which that is.
    """
    return CoordinatorClient(read_settings(url, key))
