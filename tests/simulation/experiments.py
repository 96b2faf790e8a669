"""Experiments that simulated users submit: their file, their plan over machines, and the records to store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from datamill.design.fleet_records import Candidate, FleetPlan
from datamill.design.records import Design, DesignFactor, PlannedTrial
from datamill.experiment.parse import parse_experiment
from datamill.experiment.records import Experiment
from datamill.results.bundle import BUNDLE_FORMAT, BundleHead, BundlePackage
from simulation.made_records import OPTIMIZATIONS
from simulation.packages import SimulatedPackage


@dataclass(frozen=True, slots=True)
class Submitted:
    """An experiment ready to be stored."""

    text: str
    experiment: Experiment
    head: BundleHead
    plan: FleetPlan
    hold: bool

    @property
    def trial_ids(self) -> set[str]:
        """The trials that it must have, besides those for debugging and builds."""
        if self.experiment.fleet.debug == "only":
            return set()
        return {trial.trial_id for trial in self.plan.design.trials}


def draw_experiment(
    random: Random,
    packages: Sequence[SimulatedPackage],
    chosen: Sequence[Candidate],
    spares: Sequence[Candidate],
    most_trials: int,
) -> Submitted:
    """Draw an experiment over these packages and machines."""
    points = len(packages) * len(chosen) * len(OPTIMIZATIONS)
    replicates = max(1, random.randrange(1, 4) * most_trials // (3 * points))
    text = _write_file(random, packages, len(spares), replicates)
    experiment = parse_experiment(text, name="experiment.toml")
    design = _plan_design(random, packages, chosen, replicates)
    head = BundleHead(
        format=BUNDLE_FORMAT,
        datamill="0.1.0",
        created_unix_ns=0,
        experiment_file="experiment.toml",
        packages=tuple(
            BundlePackage(
                item.name, f"packages/{item.name}.tar.gz", item.sha256, item.bytes, 3, item.has_setup
            )
            for item in packages
        ),
    )
    return Submitted(
        text,
        experiment,
        head,
        FleetPlan(design, tuple(chosen), tuple(spares), (), {}),
        hold=random.random() < 0.1,
    )


def _write_file(
    random: Random, packages: Sequence[SimulatedPackage], redundancy: int, replicates: int
) -> str:
    build = random.choice(("fresh", "shared"))
    build_on = random.choice(("worker", "strongest")) if build == "shared" else "worker"
    sections = [
        f'[experiment]\nname = "simulated"\nreplicates = {replicates}\nseed = 1\nbuild = "{build}"\n',
        *(f'[[package]]\nname = "{item.name}"\npath = "{item.name}"\n' for item in packages),
        '[factors]\noptimization = ["-O0", "-O2"]\n',
        '[responses.score]\nunit = "1"\nformula = "score"\ndirection = "higher"\n',
        '[limits]\nsetup_timeout = "2 min"\nrun_timeout = "5 min"\ncollect_timeout = "1 min"\n',
        f'[fleet]\nreboot = "{random.choice(("trial", "block", "never"))}"\nblock_trials = 3\n'
        f'debug = "{random.choice(("first", "never", "never", "only"))}"\nredundancy = {redundancy}\n'
        f'build_on = "{build_on}"\nmost_attempts = {random.choice((1, 3, 4, 6))}\n',
    ]
    return "\n".join(sections)


def _plan_design(
    random: Random, packages: Sequence[SimulatedPackage], chosen: Sequence[Candidate], replicates: int
) -> Design:
    names = tuple(candidate.name for candidate in chosen)
    factors = (
        DesignFactor("package", tuple(item.name for item in packages), len(packages), True),
        DesignFactor("optimization", OPTIMIZATIONS, len(OPTIMIZATIONS), True),
        DesignFactor("machine", names, len(names), False, "factor" if len(names) > 1 else "nuisance"),
    )
    levels = [
        {"package": item.name, "optimization": optimization, "machine": machine}
        for item in packages
        for optimization in OPTIMIZATIONS
        for machine in names
    ]
    cells = [(point, replicate) for replicate in range(1, replicates + 1) for point in range(len(levels))]
    orders = list(range(1, len(cells) + 1))
    random.shuffle(orders)
    trials = [
        PlannedTrial(
            trial_id=f"p{point + 1:04d}-r{replicate:02d}",
            order=order,
            point=point + 1,
            replicate=replicate,
            package=levels[point]["package"],
            levels=levels[point],
            block=levels[point]["machine"],
            seed=random.randrange(1 << 48),
        )
        for (point, replicate), order in zip(cells, orders, strict=True)
    ]
    return Design("full", 1, replicates, factors, tuple(sorted(trials, key=lambda trial: trial.order)))
