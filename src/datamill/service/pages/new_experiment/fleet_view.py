"""What the fleet has to choose from, as the form of a new experiment shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import User

from datamill.design.fleet.eligibility import find_unmet_constraint
from datamill.design.fleet.fleet_records import Candidate
from datamill.experiment.experiment import Constraints
from datamill.experiment.factors.catalogue import BACKGROUND_LOAD, FACTORS
from datamill.service.coordinator.joining.hardware import describe_candidate, read_policy
from datamill.service.models import FleetWorker
from datamill.service.states import WorkerState

#: Title of each hardware dimension, and what it distinguishes.
HARDWARE_WORDS: dict[str, tuple[str, str]] = {
    "arch": ("Architecture", "the kind of instructions, as uname -m names it"),
    "cpu_model": ("Processor model", ""),
    "clock": ("Clock", "the highest frequency, in classes"),
    "cores": ("Processors", "how many are online"),
    "cache": ("Cache", "size of the last level"),
    "memory": ("Memory", "in classes"),
    "kernel": ("Kernel", "version of Linux"),
    "distribution": ("Distribution", ""),
    "compiler": ("Compiler", "the one that cc is"),
    "machine": ("Machine", "each machine by itself; 100% takes all that may take part"),
}
STAGE_WORDS = {
    "build": ("Build", "set while the package is built; each level needs its own builds"),
    "process": ("Process", "set on the process that run.sh is"),
    "world": ("Surroundings", "files, caches and neighbours of run.sh"),
    "host": ("Kernel", "settings of the machine, restored after each trial"),
}
#: Said elsewhere in the form, or in need of more than a percentage.
_NOT_OFFERED = (BACKGROUND_LOAD, "reboot")


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of the experiment's space, with its levels and how many machines have each."""

    name: str
    title: str
    help: str
    levels: tuple[tuple[str, int], ...]
    group: str = ""
    included: bool = False
    share: int = 100

    @property
    def choice(self) -> bool:
        """Whether a percentage has something to choose from."""
        return len(self.levels) > 1


@dataclass(frozen=True, slots=True)
class FactorGroup:
    """Factors that are set at the same stage; `included` are chosen, and it is shown open if any is."""

    title: str
    help: str
    items: tuple[Dimension, ...]
    included: int
    open: bool


def list_fleet(user: User) -> list[Candidate]:
    """Return the machines that may take part in something: there, and open to this user."""
    states = [WorkerState.IDLE, WorkerState.BUSY]
    candidates = []
    for worker in FleetWorker.objects.filter(state__in=states).order_by("name"):
        users = read_policy(worker).users
        if not users or user.username in users:
            candidates.append(describe_candidate(worker, 0.0))
    return candidates


def split_eligible(
    fleet: Sequence[Candidate], constraints: Constraints
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Return the machines that meet all constraints, and the names of the others with the reason."""
    eligible, others = [], []
    for worker in fleet:
        reason = find_unmet_constraint(constraints, worker)
        if reason:
            others.append((worker.name, reason))
        else:
            eligible.append(worker)
    return eligible, others


def list_hardware(fleet: Sequence[Candidate]) -> list[Dimension]:
    """Return the dimensions of hardware with the levels that machines have."""
    dimensions = []
    for name, (title, text) in HARDWARE_WORDS.items():
        counts = Counter(worker.hardware[name] for worker in fleet if name in worker.hardware)
        dimensions.append(Dimension(name, title, text, tuple(sorted(counts.items(), key=_order_level))))
    return dimensions


def _order_level(item: tuple[str, int]) -> tuple[tuple[bool, float, str], ...]:
    """Numbers in a level count as numbers: 4 GiB comes before 64 GiB."""
    parts = re.findall(r"[0-9]+(?:\.[0-9]+)?|[^0-9]+", item[0])
    return tuple((part[0].isdigit(), float(part) if part[0].isdigit() else 0.0, part) for part in parts)


def list_software(fleet: Sequence[Candidate]) -> list[Dimension]:
    """Return the factors that some machine can set, with the levels that a percentage chooses from."""
    dimensions = []
    for name, factor in FACTORS.items():
        if name in _NOT_OFFERED:
            continue
        counts: Counter[str] = Counter()
        for worker in fleet:
            if name in worker.offers:
                counts.update(dict.fromkeys(worker.offers[name].levels, 1))
        order = {level: place for place, level in enumerate(factor.levels)}
        levels = sorted(counts.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
        if levels:
            title = name.replace("_", " ")
            dimensions.append(Dimension(name, title, factor.summary, tuple(levels), factor.stage))
    return dimensions


def mark_included(dimensions: Sequence[Dimension], shares: dict[str, int]) -> list[Dimension]:
    """Return the dimensions with what a form chose of them."""
    return [
        replace(item, included=item.name in shares, share=shares.get(item.name, 100)) for item in dimensions
    ]


def group_software(dimensions: Sequence[Dimension]) -> list[FactorGroup]:
    """Return the factors that have several levels, by the stage at which they are set."""
    groups = []
    for stage, (title, text) in STAGE_WORDS.items():
        items = tuple(item for item in dimensions if item.group == stage and (item.choice or item.included))
        included = sum(item.included for item in items)
        groups.append(FactorGroup(title, text, items, included, stage == "build" or included > 0))
    return groups
