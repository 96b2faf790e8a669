"""From the experiment to its planned trials: design points, replicated, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from datamill.design.batches import grow_replication, order_batches
from datamill.design.design import Design, DesignFactor, DesignSize, PlannedTrial
from datamill.design.garbage_pause import pause_garbage_collection
from datamill.design.machines import MACHINE_FACTOR, add_machines, merge_machines
from datamill.design.nesting import derive_build_seed, place_replicate, plan_calibration_trials
from datamill.design.order import LOCAL_BLOCK, order_trials
from datamill.design.points.factorial import choose_factors, count_trials
from datamill.design.points.points import choose_points, count_points
from datamill.design.reference_trials import insert_reference_trials
from datamill.design.seeds import derive_seed, rank_by_seed
from datamill.experiment.experiment import Experiment, Replication
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.factors.offers import NO_OFFERS, Offers
from datamill.experiment.levels import NumberRange


def build_design(
    experiment: Experiment, offers: Offers = NO_OFFERS, *, machines: Sequence[str] = ()
) -> Design:
    """Return the design: every combination of levels, or those that `design` chooses, replicated, in order.

    The order is drawn over all trials, replicates included, from the experiment's seed; the same
    seed gives the same order everywhere (ICPE 2013 section 5.1; thesis 2015 section 1). Levels of
    randomised nuisances are drawn for each trial from the trial's own seed; those of build factors, with
    `[replication]`, for each build from the build's.

    With `machines`, levels and points are chosen once, and each machine has all of them (ICPE 2013 section
    3.2), in an order of its own, with builds and seeds of its own.

    Raises:
        InputError: when a coverage finds no level to choose from.
    """
    factors = choose_factors(experiment, offers)
    chosen = choose_points(experiment, factors)
    grown = grow_replication(experiment, len(chosen.points), machines=max(1, len(machines)))
    if machines:
        factors = add_machines(experiment, factors, machines)
    # A million trials are many objects to look through, and there is no garbage among them.
    with pause_garbage_collection():
        trials = _plan_machines(experiment, grown, factors, chosen.points, machines)
    return Design(
        kind=chosen.kind,
        seed=experiment.seed,
        replicates=grown.replicates,
        factors=factors,
        trials=trials,
        construction=chosen.construction,
        resolution=chosen.resolution,
        generators=chosen.generators,
        aliases=chosen.aliases,
        efficiency=chosen.efficiency,
    )


def outline_design(
    experiment: Experiment, offers: Offers = NO_OFFERS, *, machines: Sequence[str] = ()
) -> tuple[Design, DesignSize]:
    """Return the design without its trials, and how large it is, without making them.

    Raises:
        InputError: as for `build_design`.
    """
    factors = choose_factors(experiment, offers)
    points = count_points(experiment, factors)
    count = max(1, len(machines))
    replicates = grow_replication(experiment, points, machines=count).replicates
    each = count_trials(experiment, factors, machines=count)
    if machines:
        factors = add_machines(experiment, factors, machines)
    outline = Design(experiment.design.kind, experiment.seed, replicates, factors, ())
    return outline, DesignSize(points * count, replicates, each * count)


def _plan_machines(
    experiment: Experiment,
    grown: Experiment,
    factors: Sequence[DesignFactor],
    points: Sequence[Mapping[str, str]],
    machines: Sequence[str],
) -> tuple[PlannedTrial, ...]:
    """Return the trials of all machines, or those of this one where none is named."""
    if not machines:
        return _plan_series(experiment, grown, factors, points)
    width = len(str(len(machines)))
    series = [
        _plan_series(experiment, grown, factors, points, machine, f"m{number:0{width}d}-")
        for number, machine in enumerate(machines, start=1)
    ]
    return merge_machines(experiment, machines, series)


def _plan_series(
    experiment: Experiment,
    grown: Experiment,
    factors: Sequence[DesignFactor],
    points: Sequence[Mapping[str, str]],
    machine: str = "",
    prefix: str = "",
) -> tuple[PlannedTrial, ...]:
    """Return all trials of a machine, in order; `prefix` sets their names apart from those of others.

    `grown` is the experiment with as many replicates as are planned.
    """
    ordering = experiment
    if machine:
        points = [{**levels, MACHINE_FACTOR: machine} for levels in points]
        ordering = replace(experiment, seed=derive_seed(experiment.seed, MACHINE_FACTOR, machine))
    order = order_trials if experiment.until is None else order_batches
    ordered = order(ordering, _plan_trials(grown, factors, points, prefix))
    return insert_reference_trials(experiment, factors, ordered, machine=machine, prefix=prefix)


def _plan_trials(
    experiment: Experiment, factors: Sequence[DesignFactor], points: Sequence[Mapping[str, str]], prefix: str
) -> list[PlannedTrial]:
    """Return all trials of the question in systematic order, and those that show its costs behind them."""
    ranges = {choice.name: choice.span for choice in experiment.choices if choice.span is not None}
    nuisances = [
        (factor.name, ranges.get(factor.name, factor.levels))
        for factor in factors
        if factor.role == "nuisance" and factor.name != MACHINE_FACTOR
    ]
    nested = experiment.replication or Replication()
    drawn_with_build = {factor.name for factor in factors if factor.build}
    width = len(str(experiment.replicates * len(points)))
    trials: list[PlannedTrial] = []
    for point, levels in enumerate(points, start=1):
        for replicate in range(1, experiment.replicates + 1):
            number = len(trials) + 1
            trial_id = f"{prefix}t{number:0{width}d}"
            seed = derive_seed(experiment.seed, "trial", trial_id)
            package = levels.get("package", experiment.packages[0].name)
            build, execution = place_replicate(experiment, factors, replicate)
            build_seed = derive_build_seed(experiment, factors, package, levels, build)
            drawn = {
                name: draw_level(
                    name,
                    source,
                    seed if build_seed is None or name not in drawn_with_build else build_seed,
                )
                for name, source in nuisances
            }
            trials.append(
                PlannedTrial(
                    trial_id=trial_id,
                    order=number,
                    point=point,
                    replicate=replicate,
                    package=package,
                    levels={**levels, **drawn} if drawn else levels,
                    block=LOCAL_BLOCK,
                    seed=seed,
                    build=build,
                    execution=execution,
                    build_seed=build_seed,
                    measurements=nested.measurements,
                    warmup=nested.warmup,
                )
            )
    return trials + plan_calibration_trials(experiment, trials, prefix=prefix)


def draw_level(factor: str, source: tuple[str, ...] | NumberRange, seed: int) -> str:
    """Draw a level uniformly from a trial's seed, independently of what is drawn for other factors."""
    size = source.size if isinstance(source, NumberRange) else len(source)
    # 256 bits: what the remainder favours is beyond any measuring.
    index = int.from_bytes(rank_by_seed(seed, "draw", factor), "big") % size
    return source.level(index) if isinstance(source, NumberRange) else source[index]


def name_build(design: Design, trial: PlannedTrial) -> tuple[str, ...]:
    """Return what tells the build of a trial from others: package, build factors, and the seed of the build.

    A build without a seed of its own takes the trial's at a level such as `random`: each trial then has a
    build of its own, however builds are shared.
    """
    names = [factor.name for factor in design.factors if factor.build and factor.name != "package"]
    levels = tuple(trial.levels[name] for name in names)
    seed = trial.build_seed
    if seed is None and any(
        name in FACTORS and level in FACTORS[name].drawn for name, level in zip(names, levels, strict=True)
    ):
        seed = trial.seed
    return (trial.package, *levels, *((str(seed),) if seed is not None else ()))
