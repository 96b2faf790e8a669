"""Requests that change something and may be sent again: with `Idempotency-Key` they are done once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import Header

from datamill.service.accounts import find_user
from datamill.service.keyed_requests.claims import HEADER, Claim, KeptAnswer, claiming

#: A second request waits so long for the first one's answer, before it is told to come again.
_WAIT_S = 10.0
RequestKey = Annotated[
    str,
    Header(
        alias=HEADER,
        max_length=255,
        pattern=r"^[\x21-\x7e]*$",
        description="A key of yours for this request, such as a UUID, in quotes or without. The same request "
        "with the same key is done once, and answered for a day with the first one's answer.",
    ),
]


class Once:
    """A request that is done once; `is_done` says that it was done before."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._answer = claim.answer
        self.is_done = claim.answer is not None

    def keep(self, record: msgspec.Struct) -> None:
        """Have the answer, and enter it; to be called in the transaction that does what was asked.

        Raises:
            KeyInUseError: another process has taken the request over, and nothing may be done here.
        """
        self._answer = KeptAnswer(200, msgspec.json.encode(record))
        self._claim.keep(self._answer.body, self._answer.status)

    def respond(self) -> HttpResponse:
        """Return the answer, this one's or the first one's: the same bytes."""
        assert self._answer is not None, "what was done has kept its answer"
        answer = HttpResponse(
            self._answer.body, status=self._answer.status, content_type="application/json; charset=utf-8"
        )
        if self.is_done:
            answer["Idempotent-Replayed"] = "true"
        return answer


@contextmanager
def doing_once(request: HttpRequest, key: str) -> Iterator[Once]:
    """Have a request done once that came with a key; without one, as often as it comes.

    Raises:
        KeyInUseError: the first request is still under way.
        ReusedKeyError: the key came with another request.
    """
    if len(key) > 1 and key[0] == key[-1] == '"':
        # The draft writes a string of structured fields, others the plain key.
        key = key[1:-1]
    asked = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode() + request.body)
    with claiming(find_user(request), key, asked.hexdigest(), wait_s=_WAIT_S) as claim:
        yield Once(claim)
