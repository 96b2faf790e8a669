"""A fleet of this machine alone: a real coordinator, and workers with state folders of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from acceptance.conftest import BIN, Command
from integration.service.brokers import skip_without_broker
from integration.service.databases import put_tables
from running.free_ports import find_free_port

WAIT_S = 240.0


class LocalFleet:
    """`datamill serve` on a free port of 127.0.0.1, and `datamill worker join` as often as wanted."""

    def __init__(self, command: Command, *options: str) -> None:
        skip_without_broker()
        self.command = command
        self.folder = command.folder
        self._options = options
        self._programs: list[subprocess.Popen[bytes]] = []
        self._by_name: dict[str, subprocess.Popen[bytes]] = {}
        self.port = find_free_port()
        self.scheme = "https" if "--tls" in options else "http"
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        data = self.folder / "data"
        if "--database" not in options and not data.exists():
            data.mkdir(mode=0o700)
            # To make them takes longer than all else that the coordinator does before it serves.
            put_tables(data / "coordinator.sqlite3")
        self.serving = self.serve()

    def serve(self) -> subprocess.Popen[bytes]:
        """Start the coordinator, on what an earlier one left, and return when it answers."""
        self.serving = self._start(
            "serve", "serve", "--data", str(self.folder / "data"), "--listen", f"127.0.0.1:{self.port}",
            *self._options,
        )  # fmt: skip
        self.wait("the coordinator to answer", self._answers)
        return self.serving

    def _answers(self) -> bool:
        assert self.serving.poll() is None, self.read("serve")
        try:
            return httpx.get(f"{self.url}/api/health", verify=False).status_code == 200
        except httpx.TransportError:
            return False

    def ask(self, path: str) -> Any:
        """What the coordinator tells its first user; quicker than a command, which has to start."""
        settings = json.loads((self.folder / "config" / "datamill" / "coordinator.json").read_bytes())
        key = {"Authorization": f"Bearer {settings['api_key']}"}
        answer = httpx.get(f"{self.url}/api{path}", headers=key, verify=False, timeout=60)
        return answer.raise_for_status().json()

    def join(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        """Let a worker join, and return when it serves."""
        made = self.command("worker", "token", "--quiet")
        assert made.returncode == 0, made.stderr
        token = made.stdout.strip()
        worker = self._start(
            name, "worker", "join", self.url, "--token", token, "--name", name, "--state",
            str(self.folder / f"state-{name}"), *options,
        )  # fmt: skip
        self._by_name[name] = worker
        # One that has joined is away until its process says hello.
        self.wait(
            f"worker {name} to serve",
            lambda: any(told["name"] == name and told["state"] != "away" for told in self.ask("/workers")),
        )
        return worker

    def program(self, name: str) -> subprocess.Popen[bytes]:
        """The process of a worker."""
        return self._by_name[name]

    def start_again(self, name: str) -> None:
        """Start a worker that joined before and was stopped."""
        state = str(self.folder / f"state-{name}")
        self._by_name[name] = self._start(name, "worker", "join", self.url, "--state", state)

    def _start(self, log: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log}.log").open("ab") as output:
            program = subprocess.Popen(
                [BIN / "datamill", *arguments],
                cwd=self.folder,
                env=self.command.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._programs.append(program)
        return program

    def read(self, log: str) -> str:
        """What a program of the fleet said so far."""
        return (self.folder / f"{log}.log").read_text()

    def wait(self, what: str, done: Callable[[], bool]) -> None:
        """Wait until something is so."""
        deadline_s = time.monotonic() + WAIT_S
        while not done():
            said = self.read("serve")
            assert time.monotonic() < deadline_s, f"waited for {what}; the coordinator said:\n{said}"
            time.sleep(0.2)

    def stop(self) -> None:
        """End what was started, each with all that it started itself."""
        for program in reversed(self._programs):
            if program.poll() is None:
                program.terminate()
        for program in reversed(self._programs):
            try:
                program.wait(timeout=60)
            except subprocess.TimeoutExpired:
                # Each is the leader of a session of its own.
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()


def find_bundle(folder: Path, number: int) -> Path:
    """The folder that `datamill fetch` made."""
    (found,) = folder.glob(f"*-{number}")
    return found
