"""Notices are made and sent every few seconds, in a thread of their own, whatever fails meanwhile."""

from __future__ import annotations

import asyncio
import logging
import time

from django.db import close_old_connections

from datamill.service.notices.rounds import make_round

log = logging.getLogger("datamill.coordinator")

_PAUSE_S = 5.0


async def send_notices() -> None:
    """Make round after round until cancelled."""
    while True:
        await asyncio.sleep(_PAUSE_S)
        try:
            await asyncio.to_thread(_make_round)
        except Exception:
            # A database that is away, or a defect of ours: nobody's trials wait for notices.
            log.exception("a round of notices failed")


def _make_round() -> None:
    try:
        make_round(time.time())
    finally:
        close_old_connections()
