"""What each user may have: what everybody may, unless an administrator says otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User

from datamill.experiment.errors import InputError
from datamill.service.accounts import AccountEventKind, record_account_event
from datamill.service.models import UserQuota

#: Trials of one user that have not ended: years of some hundred machines.
MOST_OPEN_TRIALS = 10_000_000
_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Quota:
    """Most bytes of files that a user brought, and most trials that have not ended."""

    stored_bytes: int
    open_trials: int


def find_quota(user: User) -> Quota:
    """Return what a user may have."""
    own = UserQuota.objects.filter(user=user).first()
    stored = None if own is None else own.stored_bytes
    trials = None if own is None else own.open_trials
    return Quota(
        settings.MOST_USER_BYTES if stored is None else stored,
        MOST_OPEN_TRIALS if trials is None else trials,
    )


def set_quota(user: User, admin: User, stored_bytes: int | None, open_trials: int | None) -> None:
    """Give a user a quota; None: what everybody has. What is there already stays.

    Raises:
        InputError: when a number is below zero, or beyond what a database keeps.
    """
    for value in (stored_bytes, open_trials):
        if value is not None and not 0 <= value <= _LARGEST:
            raise InputError(
                f"{value} cannot be a quota", remedy="Give zero or more, or nothing for the usual."
            )
    values = {"stored_bytes": stored_bytes, "open_trials": open_trials}
    UserQuota.objects.update_or_create(user=user, defaults=values)
    told = ", ".join(f"{name} {'as usual' if value is None else value}" for name, value in values.items())
    record_account_event(AccountEventKind.QUOTA_SET, admin, f"{user.username}: {told}")
