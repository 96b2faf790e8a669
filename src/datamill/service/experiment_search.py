"""Words of a search, and experiments found by them."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from datamill.experiment.errors import InputError
from datamill.service.models import FleetExperiment, TrialCount

#: Words of a search that may be asked for, and its characters that pages look at.
_MOST_WORDS, MOST_CHARACTERS = 8, 200


def split_search(search: str) -> list[str]:
    """Return the words of a search.

    Raises:
        InputError: there are too many: each is looked for in all rows.
    """
    words = search.split()
    if len(words) > _MOST_WORDS:
        raise InputError(
            f"{len(words)} words are too many to search for", remedy=f"Leave up to {_MOST_WORDS} of them."
        )
    return words


def search_experiments(chosen: QuerySet[FleetExperiment], search: str) -> QuerySet[FleetExperiment]:
    """Return the experiments that have all words in their name, file, owner or machines.

    The file names packages, factors and responses.

    Raises:
        InputError: as `split_search`.
    """
    for word in split_search(search[:MOST_CHARACTERS]):
        ran_there = TrialCount.objects.filter(
            experiment=OuterRef("pk"), worker__name__icontains=word, trials__gt=0
        )
        matching = Q(name__icontains=word) | Q(text__icontains=word) | Q(owner__username__iexact=word)
        chosen = chosen.filter(matching | Exists(ran_there))
    return chosen
