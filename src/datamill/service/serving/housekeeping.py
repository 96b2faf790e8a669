"""What is done every now and then beside all else: notices sent, files removed that are kept no longer."""

from __future__ import annotations

import asyncio
import logging
import time

from django.db import close_old_connections

from datamill.service.administration.retention import remove_old_files
from datamill.service.keyed_requests.claims import remove_old_keys
from datamill.service.notices.rounds import make_round
from datamill.service.serving.storage.writer import run_as_writer

log = logging.getLogger("datamill.coordinator")

_PAUSE_S = 5.0
#: From one look at old files to the next, and while there are more than one look removes.
_FILES_EVERY_S, _MORE_FILES_S = 3600.0, 30.0


async def keep_house() -> None:
    """Go on until cancelled, whatever fails meanwhile; in threads, where nobody's trials wait for it."""
    next_files_s = time.monotonic() + _MORE_FILES_S
    while True:
        await asyncio.sleep(_PAUSE_S)
        try:
            await asyncio.to_thread(_send_notices)
            if time.monotonic() >= next_files_s:
                removed = await asyncio.to_thread(_remove_files)
                await asyncio.to_thread(_remove_keys)
                next_files_s = time.monotonic() + (_MORE_FILES_S if removed else _FILES_EVERY_S)
        except Exception:
            # A database that is away, or a defect of ours.
            log.exception("keeping house failed")


def _send_notices() -> None:
    try:
        make_round(time.time())
    finally:
        close_old_connections()


def _remove_keys() -> None:
    try:
        remove_old_keys(time.time())
    finally:
        close_old_connections()


def _remove_files() -> int:
    removed = run_as_writer(remove_old_files, time.time())
    if removed.files:
        log.info("%s files were removed that are kept no longer", removed.files)
    return removed.files
