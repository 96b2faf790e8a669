"""Words of a search, and experiments found by them."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from datamill.experiment.errors import InputError
from datamill.experiment.responses import DEFAULT_RESPONSE
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


def match_file(word: str, experiment: str = "") -> Q:
    """Return what finds a word in the files of experiments, to which `experiment` leads from the rows.

    A file names packages, factors and responses; one that names no response has the usual one.
    """
    found = Q(**{f"{experiment}text__icontains": word})
    if word.casefold() in DEFAULT_RESPONSE.name:
        found |= ~Q(**{f"{experiment}text__contains": "[responses"})
    return found


def search_experiments(chosen: QuerySet[FleetExperiment], search: str) -> QuerySet[FleetExperiment]:
    """Return the experiments that have all words in their name, file, owner or machines.

    Raises:
        InputError: as `split_search`.
    """
    for word in split_search(search[:MOST_CHARACTERS]):
        ran_there = TrialCount.objects.filter(
            experiment=OuterRef("pk"), worker__name__icontains=word, trials__gt=0
        )
        matching = Q(name__icontains=word) | match_file(word) | Q(owner__username__iexact=word)
        chosen = chosen.filter(matching | Exists(ran_there))
    return chosen
