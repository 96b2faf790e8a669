"""The design of a bundle: each trial on the machine that made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

import msgspec

from datamill.design.design import DesignFactor
from datamill.design.machines import MACHINE_FACTOR
from datamill.service.bundles.logs import ROWS
from datamill.service.models import Experiment, Trial, TrialPurpose
from datamill.service.watching.reading import Rests


def write_design(experiment: Experiment, machines: Mapping[str, str], file: IO[bytes]) -> set[str]:
    """Write the design as `design.json`, and return its trials.

    A trial that another machine made than was planned has the level, the block and the design point of what
    happened; its point is a new one, so that its build is not taken for one of the other machine's own.

    Args:
        experiment: whose design.
        machines: who made the attempt that counts, by trial.
        file: where it is written.
    """
    head = msgspec.json.decode(bytes(experiment.design))
    factors = [msgspec.convert(factor, DesignFactor) for factor in head["factors"]]
    by_machine = any(factor.name == MACHINE_FACTOR for factor in factors)
    trials = Trial.objects.filter(experiment=experiment, purpose=TrialPurpose.DESIGN)
    # There are fewer points than trials, so that these numbers are free.
    points = _NewPoints(trials.count())
    used: dict[str, None] = {}
    planned: set[str] = set()
    rows = trials.order_by("position", "pk").values_list("trial_id", "plan")
    file.write(b'{"trials":[')
    rests = Rests()
    for trial_id, raw in rows.iterator(chunk_size=ROWS):
        rests.rest()
        plan = bytes(raw)
        if by_machine:
            trial = msgspec.json.decode(plan)
            place = trial["levels"].get(MACHINE_FACTOR, "")
            made_on = machines.get(trial_id, place)
            used[made_on] = None
            if made_on != place:
                plan = msgspec.json.encode(_move_trial(trial, place, made_on, points))
        file.write(b"," if planned else b"")
        file.write(plan)
        planned.add(trial_id)
    if planned:
        factors = [_tell_machines(item, used) if item.name == MACHINE_FACTOR else item for item in factors]
    head["factors"] = factors
    head.pop("trials", None)
    file.write(b"]," + msgspec.json.encode(head).removeprefix(b"{"))
    return planned


class _NewPoints:
    """Numbers of design points that come about where trials were moved."""

    def __init__(self, taken: int) -> None:
        self._taken = taken
        self._numbers: dict[tuple[int, str], int] = {}

    def number(self, point: int, machine: str) -> int:
        """Return the number of a planned point on a machine that it was not planned for."""
        return self._numbers.setdefault((point, machine), self._taken + len(self._numbers) + 1)


def _move_trial(trial: dict[str, Any], place: str, made_on: str, points: _NewPoints) -> dict[str, Any]:
    block = trial["block"]
    return {
        **trial,
        "levels": {**trial["levels"], MACHINE_FACTOR: made_on},
        # A part of a machine, such as a round or a boot, that others' trials must not be mixed with.
        "block": made_on if block in (place, made_on) else f"{made_on}/{block}",
        "point": points.number(trial["point"], made_on) if trial["point"] else 0,
    }


def _tell_machines(factor: DesignFactor, used: dict[str, None]) -> DesignFactor:
    """Return the factor `machine` with the levels that occur: those that were planned first."""
    levels = tuple(level for level in factor.levels if level in used)
    levels += tuple(sorted(level for level in used if level not in factor.levels))
    return DesignFactor(
        factor.name,
        levels,
        max(factor.available, len(levels)),
        factor.build,
        # What only one level is left of cannot be a term of a model; machines that share a design that was
        # planned for one of them must be one.
        "factor" if len(levels) > 1 else "nuisance",
    )
