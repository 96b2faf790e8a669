"""Experiments that simulated users submit: their file, their plan over machines, and the records to store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from simulation.machines.made_records import OPTIMIZATIONS
from simulation.machines.packages import SimulatedPackage

from datamill.design.batches import number_batch
from datamill.design.design import Design, DesignFactor, PlannedTrial
from datamill.design.fleet.fleet_records import Candidate, FleetPlan
from datamill.experiment.experiment import Experiment
from datamill.experiment.file.parse import parse_experiment
from datamill.results.bundles.bundle_head import BUNDLE_FORMAT, BundleFactor, BundleHead, BundlePackage

#: Kinds of worlds that experiments ask for.
ISOLATIONS = ("auto", "auto", "confined", "overlay", "user_namespace", "plain")
#: Names of factors and levels as experiment files have them.
BACKGROUND_LOAD, NO_LOAD, OWN_FACTOR = "background_load", "none", "own"


@dataclass(frozen=True, slots=True)
class Submitted:
    """An experiment ready to be stored, by the name of its owner."""

    owner: str
    text: str
    experiment: Experiment
    head: BundleHead
    plan: FleetPlan
    hold: bool


@dataclass(frozen=True, slots=True)
class Brought:
    """What an experiment brings along: its packages, perhaps a load, perhaps a factor of its own."""

    packages: Sequence[SimulatedPackage]
    load: SimulatedPackage | None = None
    factor: SimulatedPackage | None = None

    @property
    def files(self) -> list[tuple[str, SimulatedPackage]]:
        """Each file with its kind."""
        extra = [(kind, item) for kind, item in (("load", self.load), ("factor", self.factor)) if item]
        return [*(("package", item) for item in self.packages), *extra]


def draw_experiment(
    random: Random,
    owner: str,
    brought: Brought,
    chosen: Sequence[Candidate],
    spares: Sequence[Candidate],
    most_trials: int,
    *,
    grows: bool = False,
    priority: float = 1.0,
) -> Submitted:
    """Draw an experiment over these packages and machines; one that `grows` has batches and looks."""
    points = len(brought.packages) * len(chosen) * len(OPTIMIZATIONS)
    replicates = max(1, random.randrange(1, 4) * most_trials // (3 * points))
    replicates = max(4, replicates) if grows else replicates
    text = _write_file(random, brought, len(spares), replicates, priority, grows=grows)
    experiment = parse_experiment(text, name="experiment.toml")
    design = _plan_design(random, brought, chosen, replicates)
    if grows:
        batches = sorted(design.trials, key=lambda trial: (number_batch(experiment, trial), trial.order))
        trials = tuple(trial.put(order, trial.block) for order, trial in enumerate(batches, start=1))
        design = replace(design, trials=trials)
    head = BundleHead(
        format=BUNDLE_FORMAT,
        datamill="0.1.0",
        created_unix_ns=0,
        experiment_file="experiment.toml",
        packages=tuple(_pack(item, "packages") for item in brought.packages),
        loads=(_pack(brought.load, "loads"),) if brought.load else (),
        factors=(
            BundleFactor(
                OWN_FACTOR, "factors/own.tar.gz", brought.factor.sha256, brought.factor.bytes, "a factor"
            ),
        )
        if brought.factor
        else (),
    )
    return Submitted(
        owner,
        text,
        experiment,
        head,
        FleetPlan(design, tuple(chosen), tuple(spares), (), {}),
        hold=random.random() < 0.1,
    )


def _pack(item: SimulatedPackage, folder: str) -> BundlePackage:
    return BundlePackage(
        item.name,
        f"{folder}/{item.name}.tar.gz",
        item.sha256,
        item.bytes,
        3,
        item.has_setup,
        has_profile=item.has_profile,
    )


def _write_file(
    random: Random, brought: Brought, redundancy: int, replicates: int, priority: float, *, grows: bool
) -> str:
    build = random.choice(("fresh", "shared"))
    build_on = random.choice(("worker", "strongest")) if build == "shared" else "worker"
    repeated = f'replicates = {replicates}\nbuild = "{build}"\n'
    growing = ""
    if grows:
        # One build of which all replicates are executions: the plan makes no others.
        build_on = build_on if build == "shared" else "worker"
        repeated = 'build = "shared"\n'
        growing = '[replication]\nexecutions = 2\nuntil = { half_width = "1%" }\nmax_trials = 100000\n'
    levels = ['optimization = ["-O0", "-O2"]']
    if brought.load:
        levels.append(f'background_load = ["none", "{brought.load.name}"]')
    if brought.factor:
        levels.append(f'{OWN_FACTOR} = ["on"]')
    sections = [
        f'[experiment]\nname = "simulated"\nseed = 1\n{repeated}isolation = "{random.choice(ISOLATIONS)}"\n',
        *(
            f'[[package]]\nname = "{item.name}"\npath = "{item.name}"\n{_draw_needs(random)}'
            for item in brought.packages
        ),
        *(
            [f'[[load]]\nname = "{brought.load.name}"\npath = "load"\n{_draw_needs(random)}']
            if brought.load
            else []
        ),
        *(['[[factor]]\npath = "own"\n'] if brought.factor else []),
        growing,
        "[factors]\n" + "\n".join(levels) + "\n",
        '[responses.score]\nunit = "1"\nformula = "score"\ndirection = "higher"\n',
        f'[limits]\nsetup_timeout = "{random.randrange(1, 4)} min"\nrun_timeout = "5 min"\n'
        f'collect_timeout = "1 min"\nprocesses = {random.randrange(10, 1000)}\n',
        f'[fleet]\nreboot = "{random.choice(("trial", "block", "never"))}"\nblock_trials = 3\n'
        f'debug = "{random.choice(("first", "never", "never", "only"))}"\nredundancy = {redundancy}\n'
        f'build_on = "{build_on}"\nmost_attempts = {random.choice((1, 3, 4, 6))}\n'
        f"priority = {priority}\n" + _draw_profile(brought, is_shared=grows or build == "shared"),
    ]
    return "\n".join(sections)


def _draw_profile(brought: Brought, *, is_shared: bool) -> str:
    """Draw whether profiles are asked for, from a source of its own: what all seeds drew before stays."""
    wanted = Random(f"{brought.packages[0].sha256} profiles").random() < 0.3
    can = is_shared and any(item.has_profile for item in brought.packages)
    return "profile = true\n" if wanted and can else ""


def _draw_needs(random: Random) -> str:
    """Draw what a package asks of the host: mostly nothing."""
    needs = ("network = true\n", "privileged = true\n", 'kernel = ["perf_events"]\n')
    return random.choice(needs) if random.random() < 0.2 else ""


def _plan_design(random: Random, brought: Brought, chosen: Sequence[Candidate], replicates: int) -> Design:
    names = tuple(candidate.name for candidate in chosen)
    loads = (NO_LOAD, brought.load.name) if brought.load else ()
    packages = tuple(item.name for item in brought.packages)
    factors = [
        DesignFactor("package", packages, len(packages), True),
        DesignFactor("optimization", OPTIMIZATIONS, len(OPTIMIZATIONS), True),
        DesignFactor("machine", names, len(names), False, "factor" if len(names) > 1 else "nuisance"),
    ]
    if loads:
        factors.append(DesignFactor(BACKGROUND_LOAD, loads, len(loads), False, "nuisance"))
    if brought.factor:
        factors.append(DesignFactor(OWN_FACTOR, ("on",), 1, False))
    levels = [
        {"package": package, "optimization": optimization, "machine": machine}
        for package in packages
        for optimization in OPTIMIZATIONS
        for machine in names
    ]
    cells = [(point, replicate) for replicate in range(1, replicates + 1) for point in range(len(levels))]
    orders = list(range(1, len(cells) + 1))
    random.shuffle(orders)
    measurements, warmup = random.choice(((0, 0), (0, 0), (5, 1)))
    trials = []
    for (point, replicate), order in zip(cells, orders, strict=True):
        drawn = {BACKGROUND_LOAD: random.choice(loads)} if loads else {}
        own = {OWN_FACTOR: "on"} if brought.factor else {}
        trials.append(
            PlannedTrial(
                trial_id=f"p{point + 1:04d}-r{replicate:02d}",
                order=order,
                point=point + 1,
                replicate=replicate,
                package=levels[point]["package"],
                levels={**levels[point], **drawn, **own},
                block=levels[point]["machine"],
                seed=random.randrange(1 << 48),
                measurements=measurements,
                warmup=warmup,
            )
        )
    ordered = tuple(sorted(trials, key=lambda trial: trial.order))
    return Design("full", 1, replicates, tuple(factors), ordered)
