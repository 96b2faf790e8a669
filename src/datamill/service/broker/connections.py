"""Who is connected to the broker, and how often: a credential bounds no number of connections by itself."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

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


async def find_crowds(client: Client, timeout_s: float) -> dict[str, int]:
    """Return the public keys that hold more than `MOST_CONNECTIONS` connections, with how many.

    Args:
        client: connected as the coordinator.
        timeout_s: longest wait for each answer, in seconds.

    Raises:
        nats.errors.Error, TimeoutError: when the broker does not answer.
    """
    told = await _ask(client, 0, 1, timeout_s)
    total = int(told.get("total") or 0)
    if total <= _FEW:
        return {}
    counts: Counter[str] = Counter()
    for page in range(min(_MOST_PAGES, -(-total // _PAGE))):
        told = await _ask(client, page * _PAGE, _PAGE, timeout_s)
        found = told.get("connections") or []
        counts.update(str(item.get("authorized_user") or item.get("nkey") or "") for item in found)
        if len(found) < _PAGE:
            break
    return {key: count for key, count in counts.items() if key and count > MOST_CONNECTIONS}


async def _ask(client: Client, offset: int, limit: int, timeout_s: float) -> dict[str, Any]:
    question = json.dumps({"auth": True, "offset": offset, "limit": limit}).encode()
    answer = await client.request(_QUESTION, question, timeout=timeout_s)
    told = json.loads(answer.data) if answer.data else {}
    return dict(told.get("data") or {})
