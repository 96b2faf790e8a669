"""Who is connected to the broker, and how often: a credential bounds no number of connections by itself."""

from __future__ import annotations

import json
from collections import Counter

import msgspec
import nats.errors
from nats.aio.client import Client

#: Connections of one key that are too many. A worker needs one; the broker knows of others for some minutes
#: when a line was cut without a word.
MOST_CONNECTIONS = 24
#: Connections of all that are nobody's fault: then it is not asked whose they are.
_FEW = MOST_CONNECTIONS
#: Connections that the broker lists at a time, and pages that are asked for at the most.
_PAGE = 256
_MOST_PAGES = 400
_QUESTION = "$SYS.REQ.ACCOUNT.PING.CONNZ"


class _Connection(msgspec.Struct, frozen=True):
    """Who holds a connection: a user of the account, or a key."""

    authorized_user: str = ""
    nkey: str = ""


class _Connections(msgspec.Struct, frozen=True):
    """Some of all connections."""

    total: int = 0
    connections: tuple[_Connection, ...] | None = ()


class _Answer(msgspec.Struct, frozen=True):
    """The broker's answer; it has none while it starts."""

    data: _Connections | None = None


async def find_crowds(client: Client, timeout_s: float) -> dict[str, int]:
    """Return the public keys that hold more than `MOST_CONNECTIONS` connections, with how many.

    Args:
        client: connected as the coordinator.
        timeout_s: longest wait for each answer, in seconds.

    Raises:
        nats.errors.Error, TimeoutError: when the broker does not answer.
    """
    told = await _ask(client, 0, 1, timeout_s)
    if told.total <= _FEW:
        return {}
    counts: Counter[str] = Counter()
    for page in range(min(_MOST_PAGES, -(-told.total // _PAGE))):
        told = await _ask(client, page * _PAGE, _PAGE, timeout_s)
        found = told.connections or ()
        counts.update(item.authorized_user or item.nkey for item in found)
        if len(found) < _PAGE:
            break
    return {key: count for key, count in counts.items() if key and count > MOST_CONNECTIONS}


async def _ask(client: Client, offset: int, limit: int, timeout_s: float) -> _Connections:
    question = json.dumps({"auth": True, "offset": offset, "limit": limit}).encode()
    answer = await client.request(_QUESTION, question, timeout=timeout_s)
    try:
        told = msgspec.json.decode(answer.data or b"{}", type=_Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise nats.errors.Error(f"its list of connections cannot be read: {error}") from None
    return told.data or _Connections()
