"""What is done every now and then beside all else: notices sent, files removed that are kept no longer."""

from __future__ import annotations

import asyncio
import logging
import time

from django.db import close_old_connections

from datamill.service.administration.retention import remove_retired, retire_old_files
from datamill.service.keyed_requests.claims import remove_old_keys
from datamill.service.notices.rounds import make_round
from datamill.service.publishing.archives import drop_withdrawn_archives, move_old_archives
from datamill.service.serving.storage.writer import run_as_writer

log = logging.getLogger("datamill.coordinator")

_PAUSE_S = 5.0
#: From one look at old files to the next, and while there are more than one look removes.
_FILES_EVERY_S, _MORE_FILES_S = 3600.0, 30.0


async def keep_house() -> None:
    """Go on until cancelled, whatever fails meanwhile; in threads, where nobody's trials wait for it."""
    left: list[str] = []
    next_files_s = time.monotonic() + _MORE_FILES_S
    while True:
        await asyncio.sleep(_PAUSE_S)
        try:
            await asyncio.to_thread(_send_notices)
            if time.monotonic() >= next_files_s:
                removed, left = await asyncio.to_thread(_remove_files, left)
                await asyncio.to_thread(_tend_archives)
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


def _tend_archives() -> None:
    """Do what could not be done at once for archives of publications, as the storage was away."""
    try:
        move_old_archives()
        drop_withdrawn_archives()
    finally:
        close_old_connections()


def _remove_keys() -> None:
    try:
        remove_old_keys(time.time())
    finally:
        close_old_connections()


def _remove_files(left: list[str]) -> tuple[int, list[str]]:
    """Remove what is kept no longer, and what the last round left; return how many, and what is left now."""
    try:
        # While the storage is away, no more become files that nothing counts.
        chosen = left or run_as_writer(retire_old_files, time.time())
        left = remove_retired(chosen)
    finally:
        close_old_connections()
    removed = len(chosen) - len(left)
    if removed:
        log.info("%s files were removed that are kept no longer", removed)
    return removed, left
