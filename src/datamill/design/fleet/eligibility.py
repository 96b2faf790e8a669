"""Which workers of a fleet may run an experiment, and why the others may not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import translate

from datamill.design.fleet.boots import offer_allowed_boots
from datamill.design.fleet.fleet_records import Candidate
from datamill.design.fleet.reboots import REBOOT_FACTOR, asks_for_reboots, offer_reboots
from datamill.experiment.experiment import Constraints, Experiment, FactorChoice
from datamill.experiment.factors.catalogue import BACKGROUND_LOAD, FACTORS, NO_LOAD
from datamill.experiment.factors.offers import Offers, find_unlisted_level, list_asked_levels
from datamill.experiment.messages.phrases import join_names
from datamill.experiment.quantities import format_clock, format_size
from datamill.protocol.offers import FactorOffer, MissingLevel


def find_unmet_constraint(constraints: Constraints, worker: Candidate) -> str:
    """Return in a sentence which constraint a worker does not meet; empty when it meets all.

    What is not known of a worker does not meet a constraint on it.
    """
    return next(_list_unmet(constraints, worker), "")


def _list_unmet(constraints: Constraints, worker: Candidate) -> Iterator[str]:
    if constraints.workers and worker.name not in constraints.workers:
        yield "[constraints] workers does not name it"
    arch = worker.hardware.get("arch", "unknown")
    if constraints.arch and arch not in constraints.arch:
        yield f"the architecture is {arch}, and arch wants {_spell_any(constraints.arch)}"
    if worker.memory_bytes < constraints.min_memory_bytes:
        yield (
            f"there are {format_size(worker.memory_bytes)} of memory, and min_memory wants "
            f"{format_size(constraints.min_memory_bytes)}"
        )
    if worker.cores < constraints.min_cores:
        yield f"there are {worker.cores} processors, and min_cores wants {constraints.min_cores}"
    if worker.clock_khz < constraints.min_clock_khz:
        clock = format_clock(worker.clock_khz) if worker.clock_khz else "unknown"
        yield f"the clock is {clock}, and min_clock wants {format_clock(constraints.min_clock_khz)}"
    model = worker.hardware.get("cpu_model", "unknown")
    if constraints.cpu_model and not match_any(model, constraints.cpu_model):
        yield f"the processor is {model}, and cpu_model wants {_spell_any(constraints.cpu_model)}"
    distribution = worker.hardware.get("distribution", "unknown")
    if constraints.distribution and not match_distribution(distribution, constraints.distribution):
        wanted = _spell_any(constraints.distribution)
        yield f"the distribution is {distribution}, and distribution wants {wanted}"
    if constraints.counters and not worker.counters:
        yield "hardware counters cannot be read, and counters = true wants them"


def match_any(text: str, patterns: Sequence[str]) -> bool:
    """Tell whether a text matches one of several shell patterns, in whatever case."""
    # `fnmatchcase` would remember 32,768 patterns of all users; `re` forgets after some hundred.
    return any(re.compile(translate(pattern.lower())).match(text.lower()) for pattern in patterns)


def match_distribution(distribution: str, patterns: Sequence[str]) -> bool:
    """Tell whether a distribution such as `debian 12` matches a pattern, whole or by its name alone."""
    return match_any(distribution, patterns) or match_any(distribution.split(" ")[0], patterns)


def _spell_any(wanted: Sequence[str]) -> str:
    return " or ".join(wanted)


def list_offers(experiment: Experiment, worker: Candidate) -> Offers:
    """Return what a worker offers of each factor; those that it says nothing of have no level."""
    if not worker.offers:
        return {}
    offers = dict(worker.offers)
    for choice in experiment.choices:
        if choice.name in FACTORS and choice.name not in offers:
            offers[choice.name] = FactorOffer(
                choice.name, FACTORS[choice.name].stage, (), reason="its worker does not know this factor"
            )
    if REBOOT_FACTOR in offers:
        offers[REBOOT_FACTOR] = offer_reboots(allowed=worker.reboot)
    return offers | offer_allowed_boots(experiment, worker, offers)


def find_unmet_offer(experiment: Experiment, worker: Candidate, offers: Offers) -> str:
    """Return in a sentence what an experiment sets and a worker's owner or machine does not offer.

    What only a policy names excludes nobody.
    """
    if asks_for_reboots(experiment) and not worker.reboot:
        return "its owner does not allow reboots, and the experiment asks for them ([fleet] reboot)"
    for choice in experiment.choices:
        offer = offers.get(choice.name)
        if offer is None or choice.by_policy:
            continue
        if not offer.levels:
            return f'it does not offer the factor "{choice.name}": {offer.reason or "it has no level of it"}'
        missing = find_missing_level(experiment, choice, offer)
        if missing is not None:
            return f'it does not offer the level "{missing.level}" of "{choice.name}": {missing.reason}'
    return ""


def find_missing_level(
    experiment: Experiment, choice: FactorChoice, offer: FactorOffer
) -> MissingLevel | None:
    """Return the first level that a choice names and an offer lacks, None when there is none.

    A level that no catalogue lists, such as a number, is had by whoever has the factor, unless the offer says
    otherwise: the worker itself has the last word.
    """
    lacking = {item.level: item for item in offer.missing}
    listed = FACTORS[choice.name].levels if choice.name in FACTORS else ()
    for name, level in list_asked_levels(replace(experiment, factors=(choice,), nuisance=())):
        if level in lacking:
            return lacking[level]
        if level in listed and level not in offer.levels and (name, level) != (BACKGROUND_LOAD, NO_LOAD):
            return MissingLevel(level, "it is not among its levels")
        if (unlisted := find_unlisted_level(name, (level,), offer)) is not None:
            return unlisted
    return None


def share_offers(
    experiment: Experiment, offers: Mapping[str, Offers]
) -> tuple[Experiment, Offers, list[str]]:
    """Return what all of several workers offer, the experiment over it, and warnings about who narrowed it.

    A factor that only a policy names is left out where some worker does not have it; a coverage chooses among
    the levels that all have.

    Args:
        experiment: the question.
        offers: of each eligible worker, by its name.
    """
    shared: dict[str, FactorOffer] = {}
    dropped: set[str] = set()
    unscreened: dict[tuple[str, str], list[str]] = {}
    warnings: list[str] = []
    asked = {name: has for name, has in offers.items() if has}
    # There the policy is the screening itself: it takes what machines have, and nobody asked for more.
    is_screening = experiment.design.kind == "screening"
    for choice in experiment.choices:
        having = {worker: has[choice.name] for worker, has in asked.items() if choice.name in has}
        if not having:
            continue
        first = next(iter(having.values()))
        if choice.by_policy:
            lost = _find_lost_policy(experiment, choice, having)
            if lost is not None:
                dropped.add(choice.name)
                worker, what, reason = lost
                if is_screening:
                    unscreened.setdefault((worker, reason), []).append(choice.name)
                else:
                    warnings.append(
                        f"{choice.name} is left as it is, whatever [nuisance] says: {worker} does not offer "
                        f"{what} ({reason})."
                    )
                continue
        union = list(dict.fromkeys(level for offer in having.values() for level in offer.levels))
        lacking = {level: [w for w, offer in having.items() if level not in offer.levels] for level in union}
        known = FACTORS[choice.name].levels if choice.name in FACTORS else ()
        # In the order of the catalogue, whichever worker was asked first.
        ordered = [level for level in known if level in lacking] + [
            level for level in union if level not in known
        ]
        shared[choice.name] = replace(first, levels=tuple(level for level in ordered if not lacking[level]))
        if choice.coverage is not None:
            warnings += [
                f'the coverage of {choice.name} leaves out level "{level}", which {_spell_workers(workers)} '
                "not offer; [constraints] workers can leave out workers instead."
                for level, workers in lacking.items()
                if workers
            ]
    if unscreened:
        told = (f"{join_names(names)} ({worker}: {reason})" for (worker, reason), names in unscreened.items())
        warnings.append(f"not screened, since a machine does not offer it: {'; '.join(told)}.")
    nuisance = tuple(choice for choice in experiment.nuisance if choice.name not in dropped)
    return replace(experiment, nuisance=nuisance), shared, warnings


def _find_lost_policy(
    experiment: Experiment, choice: FactorChoice, having: Mapping[str, FactorOffer]
) -> tuple[str, str, str] | None:
    """Return a worker that lacks what a policy names, what it lacks, and why; None when all have it."""
    for worker, offer in having.items():
        if not offer.levels:
            return worker, "it", offer.reason or "it has no level of it"
        missing = find_missing_level(experiment, choice, offer)
        if missing is not None:
            return worker, f'level "{missing.level}"', missing.reason
    return None


def _spell_workers(workers: Sequence[str]) -> str:
    shown = ", ".join(workers[:3])
    if len(workers) > 3:
        return f"{shown} and {len(workers) - 3} more do"
    return f"{shown} {'does' if len(workers) == 1 else 'do'}"
