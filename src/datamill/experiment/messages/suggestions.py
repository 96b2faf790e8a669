"""The name that a user probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

#: Longest name that is compared, and most names: comparing takes time with the product of their lengths.
_LONGEST, _MOST_COMPARED = 200, 1000


def suggest_name(given: str, known: Iterable[str]) -> str:
    """Return a sentence that offers the nearest known name, or lists all of them."""
    names = sorted(known)
    if not names:
        return "No name is known."
    close = (
        get_close_matches(given.lower(), [name.lower() for name in names], n=1, cutoff=0.6)
        if len(given) <= _LONGEST and len(names) <= _MOST_COMPARED
        else []
    )
    if close:
        nearest = next(name for name in names if name.lower() == close[0])
        return f'Did you mean "{nearest}"?'
    more = f" and {len(names) - _MOST_COMPARED} more" if len(names) > _MOST_COMPARED else ""
    return "Known: " + ", ".join(names[:_MOST_COMPARED]) + more + "."
