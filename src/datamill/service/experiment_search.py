"""Experiments found by words."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from datamill.service.models import FleetExperiment, TrialCount

#: Words of a search, and its characters, that are looked at.
_MOST_WORDS, MOST_CHARACTERS = 8, 200


def search_experiments(chosen: QuerySet[FleetExperiment], search: str) -> QuerySet[FleetExperiment]:
    """Return the experiments that have all words in their name, file, owner or machines.

    The file names packages, factors and responses.
    """
    for word in search[:MOST_CHARACTERS].split()[:_MOST_WORDS]:
        ran_there = TrialCount.objects.filter(
            experiment=OuterRef("pk"), worker__name__icontains=word, trials__gt=0
        )
        matching = Q(name__icontains=word) | Q(text__icontains=word) | Q(owner__username__iexact=word)
        chosen = chosen.filter(matching | Exists(ran_there))
    return chosen
