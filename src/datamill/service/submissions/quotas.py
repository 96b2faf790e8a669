"""How many trials of one user may wait, and that there is room for more: the database keeps them for ever."""

from __future__ import annotations

import shutil
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_count
from datamill.service.administration.quotas import find_quota
from datamill.service.models import TrialCount
from datamill.service.states import ENDED_TRIALS

#: What a trial takes in the database and its log, with its attempt and its events.
_TRIAL_BYTES = 4096


def check_room(user: User, trials: int) -> None:
    """Refuse trials beyond what one user may have waiting, or for which the disk has no room.

    Raises:
        InputError: with what to do.
    """
    waiting = TrialCount.objects.filter(experiment__owner=user).exclude(state__in=ENDED_TRIALS)
    found = waiting.aggregate(found=Sum("trials"))["found"] or 0
    most = find_quota(user).open_trials
    if found + trials > most:
        raise InputError(
            f"{format_count(found)} of your trials have not ended, and {format_count(trials)} more are "
            f"beyond {format_count(most)}",
            remedy="Wait for experiments to end, or cancel some.",
        )
    disk = shutil.disk_usage(Path(settings.DATA_FOLDER))
    reserve = min(settings.RESERVED_BYTES, disk.total // 20)
    if disk.free - trials * _TRIAL_BYTES < reserve:
        raise InputError(
            f"the coordinator's disk has no room for {format_count(trials)} trials",
            remedy="Try again when its owner made room, or ask for fewer.",
        )
