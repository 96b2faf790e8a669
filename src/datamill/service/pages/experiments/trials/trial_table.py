"""A page of an experiment's trials: by place, not by number, so that the last costs what the first does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, Sum

from datamill.service.models import FleetExperiment, Trial, TrialCount
from datamill.service.states import TrialState

_TRIALS_A_PAGE = 25


@dataclass(frozen=True, slots=True)
class TrialPage:
    """Some trials in their order, how many there are in all, and what lies before and behind them.

    `earlier` and `later` are where a page before and a page behind begin, None where there is no such page.
    """

    trials: list[Trial]
    total: int
    after: int
    earlier: int | None
    later: int | None


def parse_place(text: str | None) -> int | None:
    """Return the number of a trial that an address names, None when it names none."""
    if not text or not (text.isascii() and text.isdigit()) or len(text) > 18:
        return None
    return int(text)


def list_trials(
    experiment: FleetExperiment,
    states: Iterable[str],
    worker: str,
    *,
    after: int | None,
    before: int | None,
) -> TrialPage:
    """Return the page of trials behind a place, or that before one.

    Args:
        experiment: whose trials.
        states: those of the trials; none stands for all.
        worker: name of the one that has them; empty for all.
        after: place of the trial that comes before the page.
        before: place of the trial that comes behind the page.
    """
    counts = TrialCount.objects.filter(experiment=experiment, trials__gt=0)
    if worker:
        counts = counts.filter(worker__name=worker)
    if chosen := list(states):
        counts = counts.filter(state__in=chosen)
    numbers = dict(counts.order_by().values_list("state").annotate(count=Sum("trials")))
    ids = _find_ids(experiment, sorted(numbers), worker, after=after, before=before)
    more, ids = len(ids) > _TRIALS_A_PAGE, ids[:_TRIALS_A_PAGE]
    if before is not None:
        ids.reverse()
    trials = list(Trial.objects.filter(pk__in=ids).select_related("worker").order_by("pk"))
    has_earlier = more if before is not None else bool(after)
    has_later = True if before is not None else more
    return TrialPage(
        trials,
        sum(numbers.values()),
        trials[0].pk - 1 if trials else 0,
        trials[0].pk if trials and has_earlier else None,
        trials[-1].pk if trials and has_later else None,
    )


def _find_ids(
    experiment: FleetExperiment,
    states: Iterable[str],
    worker: str,
    *,
    after: int | None,
    before: int | None,
) -> list[int]:
    """Return the next trials' numbers, one more than a page has; a look at the index for each state."""
    place = Q(pk__lt=before) if before is not None else Q(pk__gt=after or 0)
    order = "-pk" if before is not None else "pk"
    found: list[int] = []
    for state in states:
        trials = Trial.objects.filter(place, experiment=experiment, state=TrialState(state))
        if worker:
            trials = trials.filter(worker__name=worker)
        found += trials.order_by(order).values_list("pk", flat=True)[: _TRIALS_A_PAGE + 1]
    return sorted(found, reverse=before is not None)[: _TRIALS_A_PAGE + 1]
