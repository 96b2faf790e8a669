"""Experiments whose trials took what a test says, as several versions of the same question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.test import Client
from integration.service.api_users import ApiUser
from integration.service.fleets import make_phase, make_record
from integration.service.small_fleet import Fleet

#: What trials take, in nanoseconds, and how far they are apart: chance, from which changes are told.
_USUAL_NS, _APART_NS = 1_000_000, 170


class MeasuredVersions(Fleet):
    """A fleet with experiments, each slower than the first by a factor."""

    def __init__(self, *factors: float, **options: Any) -> None:
        super().__init__(**options)
        self.numbers: list[int] = []
        for factor in factors:
            self.measure(factor, self.body)

    def measure(self, factor: float, body: dict[str, Any]) -> int:
        """Submit an experiment, unless it is there already, and end all its trials."""
        if self.numbers:
            status, told = self.ada.post("/experiments", body)
            assert status == 200, told
            self.number = told["id"]
        self.numbers.append(self.number)
        trial = 0
        while leases := self.lease():
            for worker_id, lease in leases.items():
                trial += 1
                took = round(factor * (_USUAL_NS + _APART_NS * (trial * 5 % 11)))
                self.end(worker_id, lease, make_record(lease, run=make_phase(wall_time_ns=took)))
        return self.number

    def take_home(self, folder: Path) -> tuple[str, ...]:
        """Bring all bundles into a folder, and return what `datamill fetch` calls them."""
        names = []
        for number in self.numbers:
            self.number = number
            name = f"two-loops-{number}"
            self.fetch(folder / name)
            names.append(name)
        return tuple(names)


def open_as(user: ApiUser, path: str, *, part: bool = False, **asked: Any) -> Any:
    """Open a page, or a part of one as its script asks for it."""
    client = Client(headers={"HX-Request": "true"} if part else None)
    client.force_login(user.user)
    return client.get(path, asked)
