"""Workers behind a firewall that lets nothing in: they only ever connect outward.

Coordinator and worker are in network namespaces of their own, joined by a wire; the coordinator has a real
address and so speaks TLS. Nothing outside the two namespaces is touched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from acceptance.conftest import BIN, Command, make_experiment

__all__ = ["make_experiment"]

WAIT_S = 300.0
COORDINATOR, WORKER = "10.213.77.1", "10.213.77.2"
URL = f"https://{COORDINATOR}:8642"
TEXT = """
[experiment]
name = "behind-a-firewall"
question = "Which loop is faster?"
replicates = {replicates}
seed = 3

[[package]]
name = "a"
path = "a"

[[package]]
name = "b"
path = "b"

[fleet]
reboot = "never"
debug = "never"
"""
#: What a careful owner of a machine sets: nothing comes in but answers to what went out.
FIREWALL = """
table inet closed {
  chain in {
    type filter hook input priority 0; policy drop;
    iif lo accept
    ct state established,related accept
  }
  chain forward { type filter hook forward priority 0; policy drop; }
  chain tried { type filter hook input priority -10; ct state new iif != lo counter; }
}
"""


def run(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=check)


def list_processes(command: str) -> set[str]:
    """Return the numbers of the processes that run exactly this command."""
    done = run("pgrep", "-x", "-f", command.replace(".", "[.]"), check=False)
    return set(done.stdout.split())


class WalledFleet:
    """A coordinator in one network namespace, a worker in another, and a wire between them."""

    def __init__(self, command: Command) -> None:
        self.command, self.folder = command, command.folder
        self.inside, self.outside = f"dmw{os.getpid()}", f"dmc{os.getpid()}"
        self.wire = f"dmv{os.getpid()}"[:15]
        self.programs: list[subprocess.Popen[bytes]] = []
        command.environment["XDG_CONFIG_HOME"] = str(self.folder / "config")

    def build(self) -> None:
        for name in (self.inside, self.outside):
            made = run("ip", "netns", "add", name, check=False)
            if made.returncode:
                pytest.skip(f"no network namespaces here: {made.stderr.strip()}")
            run("ip", "-n", name, "link", "set", "lo", "up")
        peer = ("type", "veth", "peer", "name", self.wire, "netns", self.inside)
        made = run("ip", "-n", self.outside, "link", "add", self.wire, *peer, check=False)
        if made.returncode:
            pytest.skip(f"no wire between network namespaces here: {made.stderr.strip()}")
        for name, address in ((self.outside, COORDINATOR), (self.inside, WORKER)):
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", self.wire)
            run("ip", "-n", name, "link", "set", self.wire, "up")
        rules = self.folder / "firewall"
        rules.write_text(FIREWALL)
        made = run("ip", "netns", "exec", self.inside, "nft", "-f", str(rules), check=False)
        if made.returncode:
            pytest.skip(f"no firewall in network namespaces here: {made.stderr.strip()}")

    def start(self, namespace: str, log: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log}.log").open("ab") as output:
            program = subprocess.Popen(
                ["ip", "netns", "exec", namespace, BIN / "datamill", *arguments],
                cwd=self.folder, env=self.command.environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip
        self.programs.append(program)
        return program

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Type a command at the coordinator's."""
        return subprocess.run(
            ["ip", "netns", "exec", self.outside, BIN / "datamill", *arguments],
            cwd=self.folder, env=self.command.environment, capture_output=True, text=True, check=False,
            timeout=WAIT_S,
        )  # fmt: skip

    def wait(self, what: str, done: Callable[[], bool], every_s: float = 0.3) -> None:
        deadline_s = time.monotonic() + WAIT_S
        while not done():
            logs = "\n".join(file.read_text() for file in self.folder.glob("*.log"))
            assert time.monotonic() < deadline_s, f"waited for {what}:\n{logs}"
            time.sleep(every_s)

    def count_calls(self) -> int:
        """How many connections anybody tried to make to the worker's machine."""
        listed = json.loads(run("ip", "netns", "exec", self.inside, "nft", "-j", "list", "ruleset").stdout)
        rules = [item["rule"]["expr"] for item in listed["nftables"] if "rule" in item]
        return sum(int(part["counter"]["packets"]) for rule in rules for part in rule if "counter" in part)

    def count_trials(self, state: str) -> int:
        return len(json.loads(self("trials", "1", "--state", state, "--json").stdout)["trials"])

    def tear_down(self) -> None:
        for program in reversed(self.programs):
            if program.poll() is None:
                program.terminate()
        for program in reversed(self.programs):
            try:
                program.wait(timeout=15)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
        for name in (self.inside, self.outside):
            run("ip", "netns", "del", name, check=False)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[WalledFleet]:
    if os.geteuid() != 0:
        pytest.skip("network namespaces and firewalls need root")
    for program in ("ip", "nft"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing: apt-get install iproute2 nftables")
    walled = WalledFleet(Command(tmp_path))
    try:
        walled.build()
        walled.start(
            walled.outside, "serve", "serve", "--data", str(tmp_path / "data"), "--listen", "0.0.0.0:8642",
            "--public-name", COORDINATOR,
        )  # fmt: skip
        walled.wait("the coordinator", lambda: walled("workers").returncode == 0)
        token = walled("worker", "token", "--quiet").stdout.strip()
        walled.start(
            walled.inside, "worker", "worker", "join", URL, "--token", token, "--name", "walled", "--state",
            str(tmp_path / "state"),
        )  # fmt: skip
        walled.wait("the worker to serve", lambda: '"idle"' in walled("workers", "--json").stdout)
        yield walled
    finally:
        walled.tear_down()


def test_a_worker_that_nobody_can_call_enrols_measures_and_reports(
    fleet: WalledFleet,
    make_experiment: Callable[..., Path],
) -> None:
    # The wall stands: even the coordinator's machine gets no answer.
    refused = run(
        "ip", "netns", "exec", fleet.outside, "ping", "-c", "1", "-W", "1", WORKER, check=False
    ) if shutil.which("ping") else None  # fmt: skip
    assert refused is None or refused.returncode != 0
    calls = fleet.count_calls()
    make_experiment(text=TEXT.format(replicates=2))
    submitted = fleet("submit", ".", "--yes")
    assert submitted.returncode == 0, submitted.stderr
    assert fleet("watch", "1").returncode == 0
    fetched = fleet("fetch", "1")
    assert "4 of 4 trials counted" in fetched.stdout, fetched.stderr
    # It was not for want of trying that nothing came in: nobody tried.
    assert fleet.count_calls() == calls


def test_a_coordinator_out_of_reach_in_mid_experiment_costs_time_and_no_trial(
    fleet: WalledFleet,
    make_experiment: Callable[..., Path],
) -> None:
    # A length that nobody else on this machine sleeps.
    asleep = f"sleep 3.{os.getpid()}"
    make_experiment(text=TEXT.format(replicates=3), run=f"#!/bin/sh\n{asleep}\n")
    submitted = fleet("submit", ".", "--yes")
    assert submitted.returncode == 0, submitted.stderr
    # Not by a command: all trials could be over before a busy machine has started it.
    fleet.wait("the first trial to run", lambda: bool(list_processes(asleep)), every_s=0.02)
    first = list_processes(asleep)
    fleet.wait("the second trial to run", lambda: bool(list_processes(asleep) - first), every_s=0.02)
    run("ip", "-n", fleet.outside, "link", "set", fleet.wire, "down")
    fleet.wait("the second trial to end", lambda: not list_processes(asleep))
    # Its report has to wait.
    time.sleep(3)
    assert fleet.count_trials("counted") == 1
    run("ip", "-n", fleet.outside, "link", "set", fleet.wire, "up")
    assert fleet("watch", "1").returncode == 0
    trials = json.loads(fleet("trials", "1", "--json").stdout)["trials"]
    assert [trial["state"] for trial in trials] == ["counted"] * 6
    assert all(trial["attempts"] == 1 for trial in trials)
    fetched = fleet("fetch", "1")
    assert "6 of 6 trials counted" in fetched.stdout, fetched.stderr
