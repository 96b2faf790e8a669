"""One web server for everything: files, the authority's certificate and health here, all else by Django."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from datamill.service.bounded_work.departures import WatchedClients
from datamill.service.files.transfer import FileStore
from datamill.service.front_door.framing import find_refusal
from datamill.service.front_door.kept_threads import make_application
from datamill.service.front_door.static_files import StaticFiles
from datamill.service.front_door.visitors.bounds import DoorBounds
from datamill.service.front_door.visitors.turns import VisitorTurns
from datamill.service.serving.body_limits import LimitedBodies

#: Nobody is to take it for something else than it says, nor to keep it.
_PLAIN = {"x-content-type-options": "nosniff", "cache-control": "no-store"}


class HealthFacts(msgspec.Struct, frozen=True):
    """What `/api/health` tells: of each part, what is wrong with it, empty when nothing is."""

    status: str
    version: str
    broker: str
    database: str
    coordinator: str
    unread_reports: int
    turns: int


class CoordinatorApplication:
    """The ASGI application of the coordinator.

    Args:
        authority_pem: certificate that machines which join are to trust; None without TLS.
        read_health: returns how the parts are.
        bounds: of connections and requests.
    """

    def __init__(
        self,
        authority_pem: str | None,
        read_health: Callable[[], HealthFacts],
        bounds: DoorBounds | None = None,
    ) -> None:
        self._authority_pem = authority_pem
        self._read_health = read_health
        self._files = FileStore()
        application: Any = StaticFiles(make_application())
        self._django = LimitedBodies(VisitorTurns(WatchedClients(application), bounds or DoorBounds()))

    def drop_abandoned_uploads(self, now_s: float) -> int:
        """Throw away uploads that nobody goes on with; return how many there were."""
        return self._files.drop_abandoned(now_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        refusal = find_refusal(Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        path = scope["path"]
        if path.startswith("/files/"):
            await self._files(scope, receive, send)
        elif path == "/ca.pem":
            await self._answer_authority()(scope, receive, send)
        elif path == "/api/health":
            await self._answer_health()(scope, receive, send)
        else:
            await self._django(scope, receive, send)

    def _answer_authority(self) -> Response:
        if self._authority_pem is None:
            return Response("this coordinator speaks without TLS\n", 404, media_type="text/plain")
        return Response(self._authority_pem, headers=_PLAIN, media_type="application/x-pem-file")

    def _answer_health(self) -> Response:
        facts = self._read_health()
        status = 200 if facts.status == "ok" else 503
        return Response(msgspec.json.encode(facts), status, _PLAIN, media_type="application/json")
