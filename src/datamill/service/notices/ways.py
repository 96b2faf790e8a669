"""How this coordinator may send notices: as its operator says when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.service.notices.mail import MailServer


@dataclass(frozen=True, slots=True)
class NoticeWays:
    """The coordinator's own address in links, its mail server if it has one, hosts inside its network."""

    url: str = ""
    mail: MailServer | None = None
    inner_hosts: frozenset[str] = frozenset()


_ways = NoticeWays()


def set_notice_ways(ways: NoticeWays) -> None:
    """Say how notices are sent from now on."""
    global _ways
    _ways = ways


def find_notice_ways() -> NoticeWays:
    """Return how notices are sent."""
    return _ways
