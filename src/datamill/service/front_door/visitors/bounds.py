"""How many connections the coordinator holds, by the open files that it has, and how long they may take."""

from __future__ import annotations

import resource
from dataclasses import dataclass, field

from datamill.service.front_door.visitors.addresses import is_own_machine

#: Connections that are held at most, however many open files there may be.
_MOST_CONNECTIONS = 4096
_LEAST_CONNECTIONS = 64
#: Open files for the database, the broker's link, uploads and whatever else is not a connection.
_RESERVED_FILES = 512
#: A connection is one; few of them have a connection to the database, which is three, or read a file.
_FILES_OF_A_CONNECTION = 2
_MOST_OF_AN_ORIGIN = 256
#: Where a bound of open files is said to be none.
_UNBOUNDED_FILES = 1 << 20


@dataclass(frozen=True)
class DoorBounds:
    """What is taken from visitors.

    Args:
        most: connections held at once.
        most_of_origin: of them from one origin.
        most_of_near: of them from this machine itself, or from a proxy that was named.
        near: origins of proxies that were named.
    """

    most: int = _MOST_CONNECTIONS
    most_of_origin: int = _MOST_OF_AN_ORIGIN
    most_of_near: int = _MOST_CONNECTIONS * 3 // 4
    near: frozenset[str] = field(default_factory=frozenset)
    #: New connections a second from one origin that is not near.
    new_a_second: int = 100
    #: How long a TLS handshake, the head of a first request, and silence between two requests may last.
    handshake_s: float = 10.0
    head_s: float = 10.0
    idle_s: float = 40.0
    #: How long a body may take that is not known to be a member's, besides one second for so many bytes.
    body_s: float = 30.0
    body_bytes_a_second: int = 8 << 10
    #: How long an answer may lie here that its reader does not take, and one that is a member's.
    unread_s: float = 30.0
    unread_by_member_s: float = 120.0
    #: How long a connection that was ended may go on telling what is still to be told.
    leaving_s: float = 10.0

    def is_near(self, origin: str) -> bool:
        """Tell whether many come from here who are different people: users of this machine, or of a proxy."""
        return is_own_machine(origin) or origin in self.near

    def most_of(self, origin: str) -> int:
        """Return how many connections one origin may hold."""
        return self.most_of_near if self.is_near(origin) else self.most_of_origin


def raise_file_limit() -> int:
    """Let this process and its children have as many open files as they may; return how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _UNBOUNDED_FILES if hard == resource.RLIM_INFINITY else hard
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _UNBOUNDED_FILES if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted


def choose_bounds(files: int, near: frozenset[str] = frozenset()) -> DoorBounds:
    """Return the bounds of a coordinator that may have so many open files.

    Args:
        files: open files of this process.
        near: origins of proxies.
    """
    most = (files - _RESERVED_FILES) // _FILES_OF_A_CONNECTION
    most = max(_LEAST_CONNECTIONS, min(_MOST_CONNECTIONS, most))
    return DoorBounds(most, min(_MOST_OF_AN_ORIGIN, most // 4), most * 3 // 4, near)
