"""HTTP over one connection as uvicorn speaks it, for other sides that never finish what they begin."""

from __future__ import annotations

import asyncio
import time

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from datamill.service.front_door.visitors.bounds import DoorBounds
from datamill.service.front_door.visitors.visitors import Stage, Visitor, Visitors

_LEAVING, _NEXT = "taking the end", "the next request"
#: What is nobody's fault.
USUAL = frozenset({_LEAVING, _NEXT})


class GuardedProtocol(H11Protocol):
    """Tells the register of connections what this one does, and whether it takes too long.

    Args:
        visitors: the register.
        visitor: this connection in it; requests have it in `scope["state"]["visitor"]`.
    """

    def __init__(self, visitors: Visitors, visitor: Visitor, config: Config, state: ServerState) -> None:
        super().__init__(config=config, server_state=state, app_state={"visitor": visitor})
        self._visitors = visitors
        self._visitor = visitor
        self._noted: tuple[Stage, object] = (Stage.ARRIVING, None)
        self._body_bytes = 0
        self._unread_since_s: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        if self._visitor.is_gone:
            transport.abort()
            return
        self._visitor.close = transport.abort
        # A handshake had its own time.
        self._visitors.enter(self._visitor, Stage.ARRIVING)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._visitors.leave(self._visitor)
        if self.transport is not None:
            super().connection_lost(exc)
            self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        if self._is_asking():
            self._body_bytes += len(data)
        super().data_received(data)

    def handle_events(self) -> None:
        """Go on with what came."""
        super().handle_events()
        self._note_stage()

    def on_response_complete(self) -> None:
        """Be ready for the next request."""
        super().on_response_complete()
        self._note_stage()

    def pause_writing(self) -> None:
        """Note that the other side does not read."""
        self._unread_since_s = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the other side reads."""
        self._unread_since_s = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, where nothing was answered yet; else there is nothing to be said."""
        if self.cycle is not None:
            # What is being answered goes nowhere any more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def shutdown(self) -> None:
        """End when the coordinator ends, whatever was said so far."""
        try:
            super().shutdown()
        except h11.LocalProtocolError:
            self.transport.abort()

    def _unsupported_upgrade_warning(self) -> None:
        """Answer as if no other protocol had been asked for: that is what HTTP says."""

    def find_fault(self, now_s: float) -> str:
        """Return what takes this connection too long, empty when it may go on."""
        bounds, visitor = self._visitors.bounds, self._visitor
        lasts_s = now_s - visitor.since_s
        if self.transport.is_closing():
            if visitor.stage != Stage.LEAVING:
                self._visitors.enter(visitor, Stage.LEAVING)
                return ""
            return _LEAVING if lasts_s > bounds.leaving_s else ""
        unread_s = bounds.unread_by_member_s if visitor.is_member else bounds.unread_s
        if self._unread_since_s is not None and now_s - self._unread_since_s > unread_s:
            return "reading an answer"
        if visitor.stage == Stage.ARRIVING:
            return "a request" if lasts_s > bounds.head_s else ""
        if visitor.stage == Stage.IDLE:
            return _NEXT if lasts_s > bounds.idle_s else ""
        return self._find_body_fault(bounds, lasts_s)

    def _find_body_fault(self, bounds: DoorBounds, lasts_s: float) -> str:
        if self._visitor.is_member or not self.cycle.more_body:
            return ""
        allowed_s = bounds.body_s + self._body_bytes / bounds.body_bytes_a_second
        return "a body" if lasts_s > allowed_s else ""

    def _is_asking(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _note_stage(self) -> None:
        unasked = Stage.ARRIVING if self.cycle is None else Stage.IDLE
        stage = Stage.ASKING if self._is_asking() else unasked
        if (stage, self.cycle) != self._noted:
            self._noted, self._body_bytes = (stage, self.cycle), 0
            self._visitors.enter(self._visitor, stage)
