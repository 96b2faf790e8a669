"""From an experiment and the workers of a fleet to its plan: who takes part, who stands by, which trials."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from datamill.design.fleet.boots import check_boots
from datamill.design.fleet.builders import check_builds, choose_builders, lend_build_offers
from datamill.design.fleet.eligibility import (
    find_unmet_constraint,
    find_unmet_offer,
    list_offers,
    share_offers,
)
from datamill.design.fleet.fleet_records import Candidate, FleetPlan, Ineligible, find_level
from datamill.design.fleet.reboots import asks_for_reboots
from datamill.design.fleet.worker_choice import NO_LEVEL, choose_workers
from datamill.design.machines import MACHINE_FACTOR
from datamill.design.points.factorial import find_missing_error
from datamill.design.seeds import rank_by_seed
from datamill.design.trials import build_design, outline_design
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, HardwareCoverage
from datamill.experiment.factors.offers import Offers
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_count, format_level
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.experiment.messages.suggestions import suggest_name

#: Workers, or levels, that a message lists.
_MOST_SHOWN = 6


def plan_fleet(
    experiment: Experiment,
    candidates: Sequence[Candidate],
    *,
    trial_s: float | None = None,
    most_trials: int | None = None,
    with_trials: bool = True,
) -> FleetPlan:
    """Return the plan of an experiment: the fewest workers that give its coverage, and the design over them.

    A share is one of all levels in the fleet that `[constraints]` leave, and of machines one of those that
    may run the experiment; 0% draws one level, and only workers at that level take part. Among equally few
    workers those are chosen whose last one ends earliest; the experiment's seed decides between equals
    (ICPE 2013 sections 3.2 and 4.1).

    Args:
        experiment: the question.
        candidates: all workers that might take part, in any order.
        trial_s: the mean time of a trial with all that goes with it, None when it was never timed.
        most_trials: beyond which a design is refused before its trials are made.
        with_trials: whether the design is to have its trials; without them only their number is known.

    Raises:
        InputError: when no worker may run the experiment, or those that may do not give the coverage: with
            the levels that are missing, and what excludes the workers that have them; and when the design is
            too large.
    """
    check_boots(experiment)
    check_builds(experiment)
    _check_plannable(experiment, candidates)
    # The order is drawn, so that the first of equals is a drawn one, whatever order the candidates came in.
    ranked = sorted(candidates, key=lambda item: rank_by_seed(experiment.seed, "worker", item.worker_id))
    offers = lend_build_offers(
        experiment, {item.name: list_offers(experiment, item) for item in ranked}, ranked
    )
    left, eligible, reasons = _sort_out(experiment, ranked, offers)
    # A machine that may not run the experiment is no machine of it; its architecture is one of the fleet.
    having = {
        item.dimension: eligible if item.dimension == MACHINE_FACTOR else left for item in experiment.coverage
    }
    needed = {item.dimension: _count_needed(item, having[item.dimension]) for item in experiment.coverage}
    for coverage in experiment.coverage:
        name = coverage.dimension
        _check_coverage(coverage, needed[name], having[name], eligible, reasons, ranked)
    rows = choose_workers(
        _number_levels(experiment.coverage, eligible),
        [needed[item.dimension] for item in experiment.coverage if item.dimension != MACHINE_FACTOR],
        np.array([item.free_s for item in eligible]),
        at_least=max(1, needed.get("machine", 0)),
        seed=experiment.seed,
    )
    chosen = sorted((eligible[row] for row in rows), key=lambda item: item.name)
    taken = {item.worker_id for item in chosen}
    spares, warnings = _choose_spares(
        experiment.fleet.redundancy, chosen, [item for item in eligible if item.worker_id not in taken]
    )
    settled, shared, narrowed = share_offers(experiment, {item.name: offers[item.name] for item in eligible})
    machines = [item.name for item in chosen]
    design, size = outline_design(settled, shared, machines=machines)
    if most_trials is not None and size.trials > most_trials:
        raise _refuse_size(size.trials, len(chosen), most_trials)
    if with_trials:
        design = build_design(settled, shared, machines=machines)
    each = size.trials // len(chosen)
    few = find_missing_error(settled, design.factors, size.trials)
    return FleetPlan(
        design=design,
        chosen=tuple(chosen),
        spares=tuple(spares),
        ineligible=tuple(
            Ineligible(item.name, reasons[item.name])
            for item in sorted(ranked, key=lambda item: item.name)
            if item.name in reasons
        ),
        coverage={
            item.dimension: (
                _list_levels(item.dimension, chosen),
                _list_levels(item.dimension, having[item.dimension]),
            )
            for item in experiment.coverage
        },
        finish_s=None if trial_s is None else max(item.free_s for item in chosen) + each * trial_s,
        warnings=(
            *narrowed,
            *_warn_of_few(experiment, chosen, eligible),
            *([few] if few else []),
            *warnings,
        ),
        counted=None if with_trials else size,
        builders=choose_builders(experiment, chosen, ranked),
    )


def _refuse_size(trials: int, machines: int, most: int) -> InputError:
    on = "" if machines == 1 else f" on {machines} machines"
    return InputError(
        f"the design has {format_count(trials)} trials{on}, and a fleet takes {format_count(most)}",
        remedy="Name fewer levels, or lower a coverage or the replicates.",
    )


def _list_levels(dimension: str, workers: Sequence[Candidate]) -> tuple[str, ...]:
    found = {find_level(dimension, worker) for worker in workers}
    return tuple(sorted(level for level in found if level is not None))


def _check_plannable(experiment: Experiment, candidates: Sequence[Candidate]) -> None:
    """Refuse what no choice of workers could mend."""
    if not candidates:
        raise InputError(
            "the fleet has no worker that could run the experiment",
            where="[fleet]",
            remedy="Add machines to the fleet: datamill worker join.",
        )
    known = {item.name for item in candidates}
    for name in experiment.constraints.workers:
        if name not in known:
            raise InputError(
                f'no worker is called "{name}", or it is not available',
                where="[constraints] workers",
                remedy=suggest_name(name, known),
            )


def _sort_out(
    experiment: Experiment, ranked: Sequence[Candidate], offers: Mapping[str, Offers]
) -> tuple[list[Candidate], list[Candidate], dict[str, str]]:
    """Return who meets `[constraints]`, who of them may run the experiment, and why the others may not.

    Raises:
        InputError: when none may.
    """
    unmet = {item.name: find_unmet_constraint(experiment.constraints, item) for item in ranked}
    left = [item for item in ranked if not unmet[item.name]]
    reasons = {name: reason for name, reason in unmet.items() if reason}
    for item in left:
        if reason := find_unmet_offer(experiment, item, offers[item.name]):
            reasons[item.name] = reason
    eligible = [item for item in left if item.name not in reasons]
    if not eligible:
        raise InputError(
            "no worker of the fleet may run the experiment",
            where="[constraints]" if not left else "[fleet]",
            remedy=_list_reasons(reasons, ranked) + _suggest_reboots(experiment, left),
        )
    for coverage in experiment.coverage:
        if coverage.share == 0:
            left, eligible = _draw_level(experiment, coverage, left, eligible, reasons)
    return left, eligible, reasons


def _draw_level(
    experiment: Experiment,
    coverage: HardwareCoverage,
    left: list[Candidate],
    eligible: list[Candidate],
    reasons: dict[str, str],
) -> tuple[list[Candidate], list[Candidate]]:
    """Draw one level of a dimension, and keep the workers at that level."""
    name = coverage.dimension
    levels = _list_levels(name, eligible)
    if not levels:
        return left, eligible
    drawn = min(levels, key=lambda level: rank_by_seed(experiment.seed, "level", name, level))
    for worker in left:
        level = find_level(name, worker)
        if level != drawn and worker.name not in reasons:
            reasons[worker.name] = f"0% of {name} drew {drawn}, and it is {level or 'unknown'} there"
    kept = [item for item in left if find_level(name, item) == drawn]
    return kept, [item for item in kept if item.name not in reasons]


def _count_needed(coverage: HardwareCoverage, left: Sequence[Candidate]) -> int:
    """Return how many levels a coverage needs (B_k): of a share, that of all levels, rounded up."""
    if coverage.count is not None:
        return coverage.count
    share = Fraction(str(coverage.share or 0.0))
    return max(1, math.ceil(share * len(_list_levels(coverage.dimension, left))))


def _check_coverage(
    coverage: HardwareCoverage,
    needed: int,
    left: Sequence[Candidate],
    eligible: Sequence[Candidate],
    reasons: Mapping[str, str],
    everyone: Sequence[Candidate],
) -> None:
    """Refuse a coverage of which there are too few levels, and say what excludes the others.

    Every worker has one level of a dimension, and any number of workers may be chosen: if each dimension has
    levels enough, there is a choice that gives all of them.
    """
    name = coverage.dimension
    having = _list_levels(name, eligible)
    if len(having) >= needed:
        return
    everywhere = _list_levels(name, everyone)
    lost = [level for level in everywhere if level not in having]
    asked = f"{coverage.count}" if coverage.count is not None else format_level(coverage.share or 0)
    of = len(_list_levels(name, left))
    counted = "" if coverage.count is not None else f", {needed} of {of} levels"
    lines = []
    for level in lost[:_MOST_SHOWN]:
        who = [item.name for item in everyone if find_level(name, item) == level]
        lines.append(f"{level}: {_spell_excluded(who, reasons)}")
    if len(lost) > _MOST_SHOWN:
        lines.append(f"… and {len(lost) - _MOST_SHOWN} more levels")
    if not lost:
        lines.append(f"The whole fleet has {len(everywhere)}. Ask for fewer.")
    raise InputError(
        f"the coverage {asked} of {name}{counted} cannot be reached: the workers that may run the experiment "
        f"have {len(having)} ({list_first(having, _MOST_SHOWN) or 'none'})",
        where=coverage.where or f"[coverage] {name}",
        remedy="\n".join(lines),
    )


def _spell_excluded(names: Sequence[str], reasons: Mapping[str, str]) -> str:
    shown = [f"{name} has it, but {reasons[name]}" for name in sorted(names)[:2] if name in reasons]
    more = f"; and {len(names) - 2} more" if len(names) > 2 else ""
    return "; ".join(shown) + more


def _suggest_reboots(experiment: Experiment, workers: Sequence[Candidate]) -> str:
    """Return what to do about machines that must not be rebooted, as a line; empty when that is not it."""
    if not asks_for_reboots(experiment) or all(worker.reboot for worker in workers):
        return ""
    return (
        f"\nSubmit with {argument('reboot', 'never', verb='submit')}, or write "
        'reboot = "never" under [fleet]; or have the owner of a '
        "machine allow reboots in its policy file (reboot = true)."
    )


def _list_reasons(reasons: Mapping[str, str], workers: Sequence[Candidate]) -> str:
    named = sorted(item.name for item in workers)
    lines = [f"{name}: {reasons[name]}." for name in named[:_MOST_SHOWN]]
    if len(named) > _MOST_SHOWN:
        lines.append(f"… and {len(named) - _MOST_SHOWN} more.")
    return "\n".join(lines)


def _number_levels(
    coverages: Sequence[HardwareCoverage], workers: Sequence[Candidate]
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Levels as numbers, a column for each dimension but the machine, of which each worker is a level."""
    names = [item.dimension for item in coverages if item.dimension != MACHINE_FACTOR]
    numbers = np.full((len(workers), len(names)), NO_LEVEL, dtype=np.int64)
    for column, name in enumerate(names):
        codes = {level: code for code, level in enumerate(_list_levels(name, workers))}
        for row, worker in enumerate(workers):
            level = worker.hardware.get(name)
            if level is not None:
                numbers[row, column] = codes[level]
    return numbers


def _warn_of_few(
    experiment: Experiment, chosen: Sequence[Candidate], eligible: Sequence[Candidate]
) -> list[str]:
    """Say so where more machines were surely expected."""
    named = len(experiment.constraints.workers)
    if named > len(chosen) and not experiment.coverage:
        return [
            f"[constraints] names {named} workers, of which any one will do: [coverage] machine = "
            f'"100%" takes all {len(eligible)} that may run the experiment.'
        ]
    return []


def _choose_spares(
    redundancy: int, chosen: Sequence[Candidate], others: Sequence[Candidate]
) -> tuple[list[Candidate], list[str]]:
    """Return workers to stand by, as like the chosen ones as there are, and warnings where they are not.

    Each in turn is for the kind of chosen workers that has fewest spares for its number.
    """
    if redundancy == 0:
        return [], []
    kinds = Counter(describe_kind(item) for item in chosen)
    spared: Counter[tuple[tuple[str, str], ...]] = Counter()
    pools: dict[tuple[tuple[str, str], ...], list[Candidate]] = {}
    waiting = sorted(others, key=lambda item: item.free_s)
    for item in waiting:
        pools.setdefault(describe_kind(item), []).append(item)
    spares: list[Candidate] = []
    while len(spares) < redundancy:
        open_kinds = [kind for kind in kinds if pools.get(kind)]
        if not open_kinds:
            break
        kind = min(open_kinds, key=lambda kind: spared[kind] / kinds[kind])
        spares.append(pools[kind].pop(0))
        spared[kind] += 1
    warnings = []
    for kind in kinds:
        if not spared[kind]:
            alike = list_first([item.name for item in chosen if describe_kind(item) == kind], _MOST_SHOWN)
            warnings.append(f"no worker that is like {alike} stands by.")
    taken = {item.worker_id for item in spares}
    unlike = [item for item in waiting if item.worker_id not in taken]
    unlike.sort(key=lambda item: -max(_count_alike(item, other) for other in chosen))
    more = unlike[: redundancy - len(spares)]
    if more:
        warnings.append(
            f"of the workers that stand by, {list_first([item.name for item in more], _MOST_SHOWN)} have "
            "other hardware than every chosen one."
        )
    spares += more
    if not spares:
        return [], [f"redundancy asks for {count_nouns(redundancy, 'spare worker')}, and there is none."]
    if len(spares) < redundancy:
        are = "is" if len(spares) == 1 else "are"
        warnings.append(
            f"redundancy asks for {count_nouns(redundancy, 'spare worker')}, and there {are} {len(spares)}."
        )
    return spares, warnings


def describe_kind(worker: Candidate) -> tuple[tuple[str, str], ...]:
    """Return the hardware of a worker without its name: workers of one kind stand in for each other."""
    return tuple(sorted((name, level) for name, level in worker.hardware.items() if name != MACHINE_FACTOR))


def _count_alike(one: Candidate, other: Candidate) -> int:
    return len(set(describe_kind(one)) & set(describe_kind(other)))
