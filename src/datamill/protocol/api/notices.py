"""What a webhook is told."""

from __future__ import annotations

import msgspec


class NoticeData(msgspec.Struct, frozen=True):
    """What a notice is about: an experiment or a machine, with its name and address on the coordinator."""

    event: int
    experiment: int | None
    name: str
    detail: str
    url: str


class NoticeBody(msgspec.Struct, frozen=True):
    """A notice as a webhook gets it; `type` is the kind of the event, its words parted by dots."""

    type: str
    timestamp: str
    data: NoticeData
