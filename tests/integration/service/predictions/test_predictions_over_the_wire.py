"""The suite and an application measured over the wire, then predicted by the command from the coordinator."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec
import pytest
from django.conf import settings
from django.db import connections
from integration.service.api_users import ApiUser, describe_file, make_package, store
from integration.service.played_fleet import PlayedWorker, enrol, playing, standing_by
from integration.service.predictions.fingerprinted_fleet import pack_member, take_time, write_text
from simulation.machines.made_records import encode_record, make_host, make_lease_record

from datamill.protocol.fleet import Lease
from datamill.protocol.trial import WorkerFacts
from datamill.service.models import FleetExperiment, FleetWorker
from datamill.service.states import WorkerState

MEMBERS = ("float-series", "int-sort", "memory-chase", "mix-tree")
MACHINES = ("m0", "m1", "m2")
MOST_S = 120.0


@dataclass
class TimedWorker(PlayedWorker):
    """A worker whose trials take what their packages take on its machine."""

    machine: str = ""

    def _record(self, lease: Lease) -> bytes:
        seconds = take_time(lease.spec.package.name, self.machine)
        record = make_lease_record(
            lease,
            WorkerFacts(self.worker_id, "0.1.0"),
            make_host("x86_64", "A", 2, "boot"),
            self.random,
            started_unix_ns=time.time_ns() - int(seconds * 1e9),
            duration_s=seconds,
            trouble=None,
        )
        raw = msgspec.Raw(encode_record(record))
        return self._report(
            "record", attempt=lease.attempt, record=raw, artifacts=(), rebooted=False, taken_boot_id="boot"
        )


def submit(user: ApiUser, name: str, packages: dict[str, bytes], machines: int) -> int:
    files = [
        describe_file(package, store(content, user.user, package), len(content))
        for package, content in packages.items()
    ]
    text = write_text(name, tuple(packages), MACHINES[:machines])
    status, told = user.post(
        "/experiments", {"text": text, "file_name": "e.toml", "packages": files, "options": {}}
    )
    assert status == 200, told
    return int(told["id"])


async def measure(workers: list[TimedWorker]) -> None:
    async with playing(workers), asyncio.timeout(MOST_S):
        while await asyncio.to_thread(is_open):
            await asyncio.sleep(0.1)


def is_open() -> bool:
    return FleetExperiment.objects.exclude(state="completed").exists()


def test_the_command_predicts_what_the_coordinator_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with standing_by(tmp_path / "data") as coordinator:
        monkeypatch.setattr(settings, "DATA_FOLDER", coordinator.data)
        identities = enrol(MACHINES)
        # As their first hello does: experiments are planned on machines that are there.
        FleetWorker.objects.update(state=WorkerState.IDLE, left_unix_s=None)
        user = ApiUser("bea")
        submit(user, "fingerprint", {name: pack_member(name) for name in MEMBERS}, 3)
        number = submit(user, "application", {"app": make_package()}, 2)
        coordinator.start()
        coordinator.wait_until_well()
        keys = coordinator.keys()
        fleet = [
            TimedWorker(identity, coordinator.broker_url, keys, Random(name), machine=name)
            for identity, name in zip(identities, MACHINES, strict=True)
        ]
        asyncio.run(measure(fleet))
        connections["default"].close()
        asked = urllib.request.Request(
            f"{coordinator.url}/api/experiments/{number}/prediction",
            headers={"Authorization": f"Bearer {user.key}"},
        )
        with urllib.request.urlopen(asked, timeout=MOST_S) as answer:
            told = json.load(answer)
        command = "from datamill.cli.main import main; main()"
        arguments = ["platforms", "predict", "--experiment", str(number), "--json"]
        arguments += ["--url", coordinator.url, "--key", user.key]
        printed = subprocess.run(
            [sys.executable, "-c", command, *arguments], capture_output=True, timeout=MOST_S, check=True
        )
    assert json.loads(printed.stdout) == told
    assert told["suite"] == {"machines": 3, "benchmarks": 4}
    (row,) = told["predictions"]
    measured = {item["machine"]: item["seconds"] for item in told["measured"]}
    assert {row["machine"], *measured} == set(MACHINES)
    for machine, seconds in measured.items():
        assert seconds == pytest.approx(take_time("app", machine), rel=0.01)
