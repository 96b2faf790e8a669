"""An experiment on a small fleet whose trials end one by one, and the bundle that is fetched of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
from integration.service.api_users import ApiUser, make_submission
from integration.service.fleets import (
    START_S,
    join,
    list_leases,
    say,
    tell_record,
)

from datamill.conduct.fleet.take_home import check_bundle, unpack_bundle
from datamill.protocol.fleet import Lease
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle
from datamill.service.coordinator.step import step


class Fleet:
    """An experiment of two packages on two machines, whose trials end one by one."""

    def __init__(self, **options: Any) -> None:
        self.ada = ApiUser("ada")
        self.workers = {join(name).worker_id: name for name in ("fast", "slow")}
        self.body = make_submission(self.ada.user, **options)
        self.number: int = self.ada.post("/experiments", self.body)[1]["id"]
        self.now_s = START_S

    def lease(self) -> dict[str, Lease]:
        self.now_s += 1.0
        step(self.now_s)
        return list_leases(self.now_s)

    def end(self, worker_id: str, lease: Lease, record: TrialRecord | None = None, **told: Any) -> None:
        self.now_s += 1.0
        say(worker_id, tell_record(lease, record, **told), self.now_s)

    def finish(self) -> None:
        while leases := self.lease():
            for worker_id, lease in leases.items():
                self.end(worker_id, lease)

    def read(self) -> bytes:
        return self.ada.read(f"/experiments/{self.number}/bundle")

    def fetch(self, folder: Path) -> tuple[Bundle, list[TrialRecord], dict[str, Any]]:
        folder.mkdir()
        end = unpack_bundle(io.BytesIO(self.read()), folder)
        records = check_bundle(folder, end)
        return open_bundle(folder), records, end


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]
