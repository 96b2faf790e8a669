"""An analysis as addresses of pages and of the API ask for it."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import QueryDict

from datamill.experiment.errors import InputError
from datamill.service.answers.analyses import VERBS, AskedAnalysis

#: Characters of one field that are looked at.
_MOST_CHARACTERS = 4096
_MOST_QUANTILES = 20


def read_asked(sent: QueryDict) -> AskedAnalysis | None:
    """Return what is asked, None when nothing is yet.

    Raises:
        InputError: a field does not hold what it should.
    """
    verb = sent.get("verb", "")
    if not verb:
        return None
    if verb not in VERBS:
        raise InputError(f'there is no analysis "{verb[:60]}"', remedy=f"Choose one of: {', '.join(VERBS)}.")
    return AskedAnalysis(
        verb,
        _take(sent, "response"),
        tuple(name[:_MOST_CHARACTERS] for name in sent.getlist("factor") if name),
        _read_quantiles(_take(sent, "quantiles")) if verb == "quantiles" else (),
        read_conditions(_take(sent, "where").splitlines()),
        _take(sent, "by"),
    )


def _take(sent: QueryDict, name: str) -> str:
    return sent.get(name, "")[:_MOST_CHARACTERS].strip()


def _read_quantiles(text: str) -> tuple[float, ...]:
    words = text.replace(",", " ").split()
    if len(words) > _MOST_QUANTILES:
        raise InputError(
            f"{len(words)} quantiles are too many", remedy=f"Name up to {_MOST_QUANTILES} of them."
        )
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        raise InputError(
            f'"{text[:60]}" is not a list of quantiles', remedy="Write numbers between 0 and 1: 0.5, 0.9."
        ) from None


def read_conditions(lines: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Read `factor=level` from each line that holds something; several levels of a factor are all let in.

    Raises:
        InputError: a line is not of that form.
    """
    levels: dict[str, list[str]] = {}
    for line in lines:
        if not line.strip():
            continue
        name, equals, level = line.partition("=")
        if not (equals and name.strip() and level.strip()):
            raise InputError(
                f'"{line.strip()[:60]}" is not a condition',
                remedy="Write factor=level, one condition a line, such as machine=m1.",
            )
        levels.setdefault(name.strip(), []).append(level.strip())
    return tuple((name, tuple(values)) for name, values in levels.items())


def read_levels(conditions: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Read one level for each name from texts such as `machine=m1`; empty texts ask nothing.

    Raises:
        InputError: one is not of that form, or a name is given twice.
    """
    found = read_conditions(conditions)
    twice = next((name for name, levels in found if len(levels) > 1), "")
    if twice:
        raise InputError(f"{twice} is given twice", remedy="Choose one level of it.")
    return tuple((name, levels[0]) for name, levels in found)
