"""Which experiments an address names, and what it asks of them together."""

from __future__ import annotations

from django.http import QueryDict

from datamill.experiment.errors import InputError
from datamill.experiment.quantities import parse_share
from datamill.service.answers.asking import read_levels
from datamill.service.answers.compared.comparing import MOST_COMPARED
from datamill.service.answers.compared.question import AskedComparison

#: Versions that make a series, in which changes are looked for.
_SERIES = 3
#: Characters of one field that are looked at.
_MOST_CHARACTERS = 4096


def read_numbers(sent: QueryDict) -> list[int]:
    """Read the numbers of experiments, each once, from one field or several.

    Raises:
        InputError: there are too many, or something is no number.
    """
    words = " ".join(sent.getlist("id")).replace(",", " ").replace("#", " ").split()
    if len(words) > MOST_COMPARED:
        raise InputError(f"{len(words)} experiments are too many", remedy=f"Name up to {MOST_COMPARED}.")
    if any(not (word.isascii() and word.isdecimal() and len(word) < 19) for word in words):
        raise InputError("these are not numbers of experiments", remedy="Write them like this: 12 15.")
    return list(dict.fromkeys(int(word) for word in words))


def read_comparison(sent: QueryDict, experiments: int) -> AskedComparison:
    """Read what is asked of so many experiments; three or more are a series unless something else is asked.

    Raises:
        InputError: a field does not hold what it should.
    """
    against = sent.get("against", "")
    threshold = sent.get("threshold", "")[:_MOST_CHARACTERS].strip()
    usual = AskedComparison()
    return AskedComparison(
        response=sent.get("response", "")[:_MOST_CHARACTERS].strip(),
        where=read_levels(condition[:_MOST_CHARACTERS] for condition in sent.getlist("where")),
        series=against == "before" or (not against and experiments >= _SERIES),
        threshold=parse_share(threshold, where="") if threshold else usual.threshold,
    )


def read_chosen(sent: QueryDict) -> frozenset[str]:
    """Return what is chosen in the form, as its fields send it."""
    return frozenset(sent.getlist("where"))
