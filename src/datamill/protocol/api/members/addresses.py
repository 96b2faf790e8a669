"""Addresses for notices: webhooks, mail addresses, feeds."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

TargetKind = Literal["webhook", "mail", "feed"]
#: What notices are about: an experiment ended, one waits for its owner, a machine fell silent.
NoticeSubject = Literal["ended", "waits", "machine"]
Address = Annotated[str, Meta(max_length=500, pattern=r"^[^\x00]*$")]


class NoticeTargetRequest(msgspec.Struct, frozen=True):
    """An address that notices are to go to; a feed has none. Without subjects they are about everything."""

    kind: TargetKind
    address: Address = ""
    subjects: Annotated[tuple[NoticeSubject, ...], Meta(max_length=3)] = ()


class ConfirmationRequest(msgspec.Struct, frozen=True):
    """The code that was sent to a mail address."""

    code: Annotated[str, Meta(max_length=100, pattern=r"^[^\x00]*$")]


class NoticeTargetLine(msgspec.Struct, frozen=True):
    """An address for notices; `trouble` says why the latest did not arrive.

    Nothing is sent to a mail address before it is confirmed, nor to one that is paused after many failures.
    """

    id: int
    kind: str
    address: str
    subjects: tuple[str, ...]
    confirmed: bool
    paused_unix_s: float | None
    sent_unix_s: float | None
    trouble: str


class MadeNoticeTarget(msgspec.Struct, frozen=True):
    """A new address, with what is secret of it, shown this once: a signing key, or a feed's address."""

    target: NoticeTargetLine
    secret: str
    feed: str
