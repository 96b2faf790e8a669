"""A request with a key is done once: who sends it again gets the first one's answer.

The header is `Idempotency-Key` of draft-ietf-httpapi-idempotency-key-header. A unique row decides between
two that arrive at once; the answer is entered in the transaction that does what was asked, so that whatever
breaks leaves either both or nothing. What was refused has changed nothing, and frees its key.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import DatabaseError

from datamill.experiment.errors import InputError
from datamill.service.models import KeyedRequest

#: How long a key is kept with its answer.
KEPT_S = 86_400.0
HEADER = "Idempotency-Key"
#: Of the requests of this process that are under way, the tokens: any other that has no answer is nobody's.
_under_way: set[str] = set()
_ended = threading.Condition()


class ReusedKeyError(InputError):
    """A key came with another request than before."""


class KeyInUseError(InputError):
    """The first request with a key is still worked on."""

    RETRY_AFTER_S = 1


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What the first request with a key was answered."""

    status: int
    body: bytes


class Claim:
    """One attempt at a request; `answer` is the first one's where it was done before."""

    def __init__(self, token: str = "", answer: KeptAnswer | None = None) -> None:
        self._token = token
        self.answer = answer

    def keep(self, body: bytes, status: int = 200) -> None:
        """Enter the answer; to be called in the transaction that does what was asked. Nothing without a key.

        Raises:
            KeyInUseError: another process has taken the request over, and nothing may be done here.
        """
        if not self._token:
            return
        own = KeyedRequest.objects.filter(token=self._token, status=None)
        if not own.update(status=status, answer=body):
            raise _say_in_use()


@contextmanager
def claiming(user: User, key: str, request_sha256: str, *, wait_s: float) -> Iterator[Claim]:
    """Have a user's key for a request while it is worked on; an empty key claims nothing.

    Args:
        user: whose key it is.
        key: chosen by the sender.
        request_sha256: of what is asked.
        wait_s: how long to wait for the end of a first request that is under way.

    Raises:
        KeyInUseError: the first request is still under way.
        ReusedKeyError: the key came with another request.
    """
    if not key:
        yield Claim()
        return
    token = secrets.token_hex(8)
    with _ended:
        _under_way.add(token)
    try:
        yield _take(user, key, request_sha256, token, time.monotonic() + wait_s)
    finally:
        # A row that cannot be removed now is nobody's as soon as its token is not under way.
        with contextlib.suppress(DatabaseError):
            KeyedRequest.objects.filter(token=token, status=None).delete()
        with _ended:
            _under_way.discard(token)
            _ended.notify_all()


def _take(user: User, key: str, request_sha256: str, token: str, deadline_s: float) -> Claim:
    while True:
        now_s = time.time()
        new = KeyedRequest(user=user, key=key, request_sha256=request_sha256, token=token, made_unix_s=now_s)
        # The database takes one of two rows that come at once.
        KeyedRequest.objects.bulk_create([new], ignore_conflicts=True)
        found = KeyedRequest.objects.filter(user=user, key=key).first()
        if found is None:
            continue
        if found.token == token:
            return Claim(token)
        if found.made_unix_s < now_s - KEPT_S and found.status is not None:
            KeyedRequest.objects.filter(token=found.token).delete()
            continue
        is_nobodys = found.status is None and found.token not in _under_way
        if is_nobodys:
            # The process that worked on it has ended without having done it.
            KeyedRequest.objects.filter(token=found.token, status=None).update(
                request_sha256=request_sha256, token=token, made_unix_s=now_s
            )
            continue
        if found.request_sha256 != request_sha256:
            raise ReusedKeyError(
                "this key came with another request before",
                where=HEADER,
                remedy="Send the very same request to get its answer, or another key for another request.",
            )
        if found.status is not None:
            return Claim(answer=KeptAnswer(found.status, bytes(found.answer or b"")))
        _wait_for(found.token, deadline_s)


def _wait_for(token: str, deadline_s: float) -> None:
    with _ended:
        rest_s = deadline_s - time.monotonic()
        if not _ended.wait_for(lambda: token not in _under_way, timeout=max(0.0, rest_s)):
            raise _say_in_use()


def _say_in_use() -> KeyInUseError:
    return KeyInUseError(
        "the first request with this key is still worked on",
        where=HEADER,
        remedy="Send it again in a moment: it gets the first one's answer.",
    )


def remove_old_keys(now_s: float) -> int:
    """Remove keys that are kept no longer; return how many there were."""
    removed, _ = KeyedRequest.objects.filter(made_unix_s__lt=now_s - KEPT_S, status__isnull=False).delete()
    return removed
