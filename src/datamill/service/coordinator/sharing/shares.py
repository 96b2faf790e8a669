"""Shares that administrators give, and priorities that owners give: from the next turn on."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from datamill.experiment.messages.numbers import format_given
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.models import FleetExperiment, UserShare


def set_share(user: User, share: float, admin: User, now_s: float) -> None:
    """Give a user a share, from 0.01 to 100."""
    with transaction.atomic():
        UserShare.objects.update_or_create(user=user, defaults={"share": share})
        detail = f"{user.username} has the share {format_given(share)}"
        add_events([NewEvent(EventKind.SHARE_SET, user=admin.username, detail=detail)], now_s)


def set_priority(experiment_id: int, priority: float, user: User, now_s: float) -> None:
    """Give an experiment a priority among those of its owner, from 0.1 to 10."""
    with transaction.atomic():
        FleetExperiment.objects.filter(pk=experiment_id).update(priority=priority)
        detail = f"Its priority is {format_given(priority)}."
        add_events(
            [
                NewEvent(
                    EventKind.PRIORITY_SET, user=user.username, experiment_id=experiment_id, detail=detail
                )
            ],
            now_s,
        )
