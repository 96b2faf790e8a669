"""From the experiment to its planned trials: design points, replicated, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datamill.design.coverage import rank_by_seed
from datamill.design.factorial import choose_factors, list_points
from datamill.design.order import LOCAL_BLOCK, order_trials
from datamill.design.records import Design, DesignFactor, PlannedTrial
from datamill.experiment.factors import FACTORS
from datamill.experiment.levels import NumberRange
from datamill.experiment.offers import NO_OFFERS, Offers
from datamill.experiment.records import Experiment


def build_design(experiment: Experiment, offers: Offers = NO_OFFERS) -> Design:
    """Return the full factorial design: every combination of levels, replicated, in random order.

    The order is drawn over all trials, replicates included, from the experiment's seed; the same
    seed gives the same order everywhere (ICPE 2013 section 5.1; thesis 2015 section 1). Levels of
    randomised nuisances are drawn for each trial from the trial's own seed.

    Raises:
        InputError: when a coverage finds no level to choose from.
    """
    factors = choose_factors(experiment, offers)
    points = list_points(factors)
    return Design(
        kind="full factorial",
        seed=experiment.seed,
        replicates=experiment.replicates,
        factors=factors,
        trials=order_trials(experiment, _plan_trials(experiment, factors, points)),
    )


def _plan_trials(
    experiment: Experiment, factors: Sequence[DesignFactor], points: Sequence[Mapping[str, str]]
) -> list[PlannedTrial]:
    """Return all trials of the question in systematic order."""
    ranges = {choice.name: choice.span for choice in experiment.choices if choice.span is not None}
    nuisances = [
        (factor.name, ranges.get(factor.name, factor.levels))
        for factor in factors
        if factor.role == "nuisance"
    ]
    width = len(str(experiment.replicates * len(points)))
    trials: list[PlannedTrial] = []
    for point, levels in enumerate(points, start=1):
        for replicate in range(1, experiment.replicates + 1):
            number = len(trials) + 1
            trial_id = f"t{number:0{width}d}"
            seed = derive_seed(experiment.seed, "trial", trial_id)
            drawn = {name: draw_level(name, source, seed) for name, source in nuisances}
            trials.append(
                PlannedTrial(
                    trial_id=trial_id,
                    order=number,
                    point=point,
                    replicate=replicate,
                    package=levels.get("package", experiment.packages[0].name),
                    levels={**levels, **drawn} if drawn else levels,
                    block=LOCAL_BLOCK,
                    seed=seed,
                )
            )
    return trials


def derive_seed(seed: int, *names: str) -> int:
    """Return the seed of something named, below 2^48, drawn from the experiment's."""
    return int.from_bytes(rank_by_seed(seed, *names)[:6], "big")


def draw_level(factor: str, source: tuple[str, ...] | NumberRange, seed: int) -> str:
    """Draw a level uniformly from a trial's seed, independently of what is drawn for other factors."""
    size = source.size if isinstance(source, NumberRange) else len(source)
    # 256 bits: what the remainder favours is beyond any measuring.
    index = int.from_bytes(rank_by_seed(seed, "draw", factor), "big") % size
    return source.level(index) if isinstance(source, NumberRange) else source[index]


def name_build(design: Design, trial: PlannedTrial) -> tuple[str, ...]:
    """Return what tells the build of a trial from others: package, build factors, and its own seed if drawn.

    At a level such as `random` each trial has a build of its own, however builds are shared.
    """
    names = [factor.name for factor in design.factors if factor.build and factor.name != "package"]
    levels = tuple(trial.levels[name] for name in names)
    drawn = any(level in FACTORS[name].drawn for name, level in zip(names, levels, strict=True))
    return (trial.package, *levels, *((str(trial.seed),) if drawn else ()))
