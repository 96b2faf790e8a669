"""What a host offers of each factor, and whether an experiment's levels are among it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, FactorChoice
from datamill.experiment.factors.catalogue import BACKGROUND_LOAD, FACTORS, NO_LOAD
from datamill.experiment.messages.mistakes import Mistakes
from datamill.protocol.offers import FactorOffer, MissingLevel

#: Offers of a host, by factor.
Offers = Mapping[str, FactorOffer]
#: Of no host in particular.
NO_OFFERS: Offers = {}


def list_available_levels(name: str, experiment: Experiment, offers: Offers) -> tuple[str, ...]:
    """Return the levels from which a coverage chooses: those that the host offers.

    Without an offer they are the catalogue's. The experiment's loads are levels of `background_load`.
    """
    offer = offers.get(name)
    levels = offer.levels if offer is not None else FACTORS[name].levels if name in FACTORS else ()
    if name == BACKGROUND_LOAD and NO_LOAD in levels:
        levels = (NO_LOAD, *(load.name for load in experiment.loads))
    return levels


def list_asked_levels(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield factor and level of what an experiment names and a host must have; loads are no host's matter.

    Of a range of numbers these are its ends.
    """
    for choice in experiment.choices:
        for level in _list_named(choice):
            yield choice.name, level


def _list_named(choice: FactorChoice) -> tuple[str, ...]:
    if choice.span is not None:
        return choice.span.level(0), choice.span.level(choice.span.size - 1)
    if choice.name == BACKGROUND_LOAD:
        return tuple(level for level in choice.levels if level == NO_LOAD)
    return choice.levels


def check_offers(experiment: Experiment, offers: Offers) -> None:
    """Refuse an experiment that names what this host does not have.

    Raises:
        InputError: with the factor, the level, the reason, and the levels that there are.
    """
    mistakes = Mistakes()
    for choice in experiment.choices:
        offer = offers.get(choice.name)
        if offer is not None and not choice.by_policy:
            mistakes.attempt(partial(_check_choice, choice, offer, experiment, offers), None)
    mistakes.refuse()


def _check_choice(choice: FactorChoice, offer: FactorOffer, experiment: Experiment, offers: Offers) -> None:
    where = choice.where or f"factor {choice.name}"
    if not offer.levels:
        reason = explain_unavailable(offer) or "this host has no level of it"
        raise InputError(
            f'factor "{choice.name}" is not available here: {reason}',
            where=where,
            remedy="Leave it out, or run the experiment on another machine; datamill factors lists what "
            "this one has.",
        )
    missing = next((item for item in offer.missing if item.level in _list_named(choice)), None)
    if missing is None:
        missing = find_unlisted_level(choice.name, _list_named(choice), offer)
    if missing is not None:
        name, level = choice.name, missing.level
        raise InputError(
            f'level "{level}" of factor "{name}" does not exist here: {missing.reason}',
            where=where,
            remedy=f"Levels here: {', '.join(list_available_levels(name, experiment, offers))}.",
        )


def find_unlisted_level(name: str, levels: Iterable[str], offer: FactorOffer) -> MissingLevel | None:
    """Return the first level that an offer lacks which lists all that a host has; None without one."""
    if name not in FACTORS or not FACTORS[name].listed:
        return None
    lacking = next((level for level in levels if level not in offer.levels), None)
    return None if lacking is None else MissingLevel(lacking, "it is not among its levels")


def drop_unavailable_policy(experiment: Experiment, offers: Offers) -> Experiment:
    """Return the experiment without what only a policy or a screening names and this host does not have.

    They speak of the usual hidden factors in general; what cannot be set is left to the host.
    """
    kept = []
    for choice in experiment.nuisance:
        offer = offers.get(choice.name)
        if choice.by_policy and offer is not None:
            missing = {item.level for item in offer.missing}
            if not offer.levels or missing.intersection(_list_named(choice)):
                continue
        kept.append(choice)
    return replace(experiment, nuisance=tuple(kept))


def withdraw_build_policy(experiment: Experiment, offers: Offers) -> dict[str, FactorOffer]:
    """Return offers without the build factors that only a policy names, for packages that build nothing."""
    return dict(offers) | {
        choice.name: FactorOffer(
            choice.name, "build", (), reason="no package has a setup.sh, so nothing is built"
        )
        for choice in experiment.nuisance
        if choice.by_policy and FACTORS[choice.name].build
    }


def explain_unavailable(offer: FactorOffer) -> str:
    """Return in a sentence why a factor, or some levels of it, are not available; empty when all are."""
    if offer.reason:
        return offer.reason
    reasons: dict[str, list[str]] = {}
    for item in offer.missing:
        reasons.setdefault(item.reason, []).append(item.level)
    return "; ".join(f"{', '.join(levels)}: {reason}" for reason, levels in reasons.items())
