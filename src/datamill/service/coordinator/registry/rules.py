"""What an administrator forbids of factors on the whole fleet, and whether an experiment keeps to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from django.contrib.auth.models import User
from django.db import transaction

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.factors.offers import Offers
from datamill.experiment.messages.suggestions import suggest_name
from datamill.service.coordinator.registry.registered import list_known_names
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events, clean_text
from datamill.service.models import FactorRule, RegisteredFactor

_MOST_REASON = 500
#: Why no machine offers such a factor.
FORBIDDEN = "an administrator forbids it on this fleet"


def forbid_factor(name: str, reason: str, user: User, now_s: float) -> None:
    """Forbid a factor on the whole fleet, in experiments that are submitted from now on.

    Raises:
        InputError: when the user is no administrator, or there is no such factor.
    """
    _check_admin(user)
    check_factor_name(name)
    told = clean_text(reason, _MOST_REASON)
    with transaction.atomic():
        FactorRule.objects.update_or_create(
            name=name, defaults={"reason": told, "since_unix_s": now_s, "user": user}
        )
        detail = f"{name}: {told}" if told else name
        add_events([NewEvent(EventKind.FACTOR_FORBIDDEN, user=user.username, detail=detail)], now_s)


def allow_factor(name: str, user: User, now_s: float) -> None:
    """Allow a factor again that was forbidden.

    Raises:
        InputError: when the user is no administrator, or the factor is not forbidden.
    """
    _check_admin(user)
    with transaction.atomic():
        deleted, _ = FactorRule.objects.filter(name=name).delete()
        if not deleted:
            check_factor_name(name)
            raise InputError(f'the factor "{name}" is not forbidden')
        add_events([NewEvent(EventKind.FACTOR_ALLOWED, user=user.username, detail=name)], now_s)


def check_factor_name(name: str, where: str = "") -> None:
    """Refuse the name of no factor.

    Raises:
        InputError: with the name that is nearest.
    """
    known = list_known_names()
    if name not in known:
        raise InputError(
            f'there is no factor "{clean_text(name, 64)}"', where=where, remedy=suggest_name(name, known)
        )


def list_forbidden() -> dict[str, str]:
    """Return why a factor is forbidden on the whole fleet, by its name, of all that are."""
    return dict(FactorRule.objects.values_list("name", "reason"))


def check_factor_rules(
    experiment: Experiment, brought: Mapping[str, str], forbidden: Mapping[str, str], where: str
) -> None:
    """Refuse an experiment that names or brings a factor that is forbidden on the whole fleet.

    What only a policy of `[nuisance]` or a screening names is left out elsewhere, as if no machine had it.

    Args:
        experiment: the question.
        brought: names of the factors that it brings along, by the SHA-256 of their archives.
        forbidden: why each factor is, by its name.
        where: the file, for the message.

    Raises:
        InputError: with the factor and the reason.
    """
    named = [choice.name for choice in experiment.choices if not choice.by_policy]
    # An archive may have been registered under the name that is forbidden, and carry it still.
    registered = RegisteredFactor.objects.filter(pk__in=list(brought)).values_list("name", flat=True)
    barred = next((name for name in _unique(named, brought.values(), registered) if name in forbidden), None)
    if barred is not None:
        reason = forbidden[barred].rstrip(".")
        raise InputError(
            f'the factor "{barred}" is forbidden on this fleet' + (f": {reason}" if reason else ""),
            where=where,
            remedy="Leave it out, or ask an administrator.",
        )


def withhold_forbidden(offers: Offers, forbidden: Mapping[str, str]) -> Offers:
    """Return what a machine offers, without the factors that are forbidden on the whole fleet."""
    return {
        name: replace(offer, levels=(), missing=(), reason=FORBIDDEN) if name in forbidden else offer
        for name, offer in offers.items()
    }


def _unique(*groups: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))


def _check_admin(user: User) -> None:
    if not user.is_staff:
        raise InputError("only an administrator can forbid a factor or allow it again")
