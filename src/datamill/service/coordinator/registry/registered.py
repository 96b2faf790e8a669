"""Factors that users brought for everybody: each archive once, by its content (ICPE 2013 section 8)."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from datamill.experiment.errors import InputError
from datamill.experiment.factors.catalogue import FACTORS
from datamill.packing.user_factors import UserFactor
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events, clean_text
from datamill.service.models import RegisteredFactor, StoredFile

#: Archives that one user registers; nothing is ever taken out, since policies and bundles name them.
MOST_REGISTERED = 1000
#: Characters of a summary.
_MOST_SUMMARY = 500


def register_factor(factor: UserFactor, sha256: str, user: User, now_s: float) -> RegisteredFactor:
    """Enter a factor whose archive is in the store and was looked into; one that is there stays as it is.

    A name belongs to who registered it first: further archives of it are newer versions.

    Raises:
        InputError: when the name is a factor of datamill or another user's, the user has too many, or the
            archive was removed meanwhile.
    """
    if factor.name in FACTORS:
        raise InputError(
            f'"{factor.name}" is a factor of datamill itself',
            where="factor.toml",
            remedy="Give yours another name.",
        )
    with transaction.atomic():
        known = RegisteredFactor.objects.filter(pk=sha256).first()
        if known is not None:
            return known
        first = RegisteredFactor.objects.filter(name=factor.name).order_by("registered_unix_s").first()
        if first is not None and first.owner_id != user.pk:
            raise InputError(
                f'"{factor.name}" was registered by {first.owner.username}',
                where="factor.toml",
                remedy="Give yours another name.",
            )
        if RegisteredFactor.objects.filter(owner=user).count() >= MOST_REGISTERED:
            raise InputError(f"you have registered {MOST_REGISTERED} factors, and no more are taken")
        registered = RegisteredFactor.objects.create(
            sha256=sha256,
            name=factor.name,
            summary=clean_text(factor.summary, _MOST_SUMMARY),
            scope=factor.scope,
            owner=user,
            registered_unix_s=now_s,
        )
        # The writer, which calls this, also notes what is kept no longer.
        if StoredFile.objects.filter(pk=sha256).exclude(removed_unix_s=None).exists():
            raise InputError(
                "the file was removed meanwhile: no experiment had used it for long",
                where=sha256,
                remedy="Upload it, and register it again.",
            )
        event = NewEvent(
            EventKind.FACTOR_REGISTERED, user=user.username, package_sha256=sha256, detail=factor.name
        )
        add_events([event], now_s)
    return registered


def list_registered() -> list[RegisteredFactor]:
    """Return the newest archive of each name, in the order of the names."""
    newest: dict[str, RegisteredFactor] = {}
    for item in RegisteredFactor.objects.select_related("owner").order_by("name", "registered_unix_s"):
        newest[item.name] = item
    return list(newest.values())


def list_known_names() -> set[str]:
    """Return the names of all factors: those of datamill and those that are registered."""
    return {*FACTORS, *RegisteredFactor.objects.values_list("name", flat=True)}
