"""What this machine has of what an experiment asks for, and whether the experiment may run here."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from datamill.conduct.question.read_files import FoundExperiment
from datamill.design.fleet.eligibility import find_unmet_constraint
from datamill.design.fleet.fleet_records import Candidate
from datamill.execution.seen_places import check_needed_folders
from datamill.execution.worker import read_offers
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Constraints, Experiment, FleetChoice
from datamill.experiment.factors.offers import (
    check_offers,
    drop_unavailable_policy,
    list_asked_levels,
    withdraw_build_policy,
)
from datamill.protocol.trial import HostFacts


def ask_host(file: FoundExperiment, binary: Path) -> FoundExperiment:
    """Return the experiment with what this host offers, less what only a policy names and is not here.

    Raises:
        InputError: when the experiment names a factor, level or folder that this host does not have.
        WorkerError: when the worker cannot tell.
    """
    brought = [factor.path for factor in file.user_factors]
    in_guest = file.experiment.isolation == "guest"
    offers = read_offers(binary, list_asked_levels(file.experiment), brought, in_guest=in_guest)
    if not any(package.has_setup for package in file.packages):
        offers = withdraw_build_policy(file.experiment, offers)
    check_offers(file.experiment, offers)
    check_needed_folders(file.experiment, binary, where=str(file.path), bundle=None)
    return replace(file, experiment=drop_unavailable_policy(file.experiment, offers), offers=offers)


def check_constraints(constraints: Constraints, host: HostFacts, *, where: str) -> None:
    """Refuse to run on a machine that the experiment excludes, as far as that is known of it.

    Names of workers are of a fleet, of which this machine is none.

    Raises:
        InputError: with the constraint that this machine does not meet.
    """
    distribution, clock_khz = read_distribution(), read_clock_khz()
    here = Candidate(
        worker_id="",
        name="",
        hardware={"arch": host.arch, "cpu_model": host.cpu_model, "distribution": distribution},
        offers={},
        memory_bytes=host.memory_bytes,
        cores=host.cores,
        clock_khz=clock_khz,
    )
    known = replace(
        constraints,
        workers=(),
        counters=False,
        distribution=constraints.distribution if distribution else (),
        min_clock_khz=constraints.min_clock_khz if clock_khz else 0,
    )
    if problem := find_unmet_constraint(known, here):
        raise InputError(
            f"the experiment may not run here: {problem}",
            where=f"{where}: [constraints]",
            remedy="Run it on another machine, or relax the constraint.",
        )


def list_fleet_notes(experiment: Experiment) -> list[str]:
    """Return what an experiment says about a fleet and is not followed here, a sentence each."""
    constraints, notes = experiment.constraints, []
    named = {item.dimension: None for item in experiment.coverage}
    if named:
        notes.append(
            f"[coverage] ({', '.join(named)}) chooses among machines of a fleet, and here is one machine: "
            "datamill submit follows it."
        )
    if experiment.fleet != FleetChoice():
        notes.append("[fleet] says how the experiment runs on a fleet; here it is not followed.")
    unchecked = [
        *(["workers"] if constraints.workers else []),
        *(["counters"] if constraints.counters else []),
        *(["distribution"] if constraints.distribution and not read_distribution() else []),
        *(["min_clock"] if constraints.min_clock_khz and not read_clock_khz() else []),
    ]
    if unchecked:
        notes.append(f"[constraints] {', '.join(unchecked)}: not checked on this machine, only on a fleet.")
    return notes


def read_distribution() -> str:
    """Return this machine's distribution as a fleet names it, such as `debian 12`; empty when unknown."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return f"{release.get('ID', '')} {release.get('VERSION_ID', '')}".strip()


def read_clock_khz() -> int:
    """Return the highest clock of any processor here, in kHz; 0 when the kernel does not tell."""
    clocks = [0]
    for file in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/cpuinfo_max_freq"):
        with suppress(OSError, ValueError):
            clocks.append(int(file.read_text()))
    return max(clocks)
