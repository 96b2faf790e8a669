"""Numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def count_nouns(number: int, noun: str) -> str:
    """Return a number of things, such as `1 worker` or `1,200 trials`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def list_first(names: Sequence[str], most: int) -> str:
    """Return names with commas between them, of many the first and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def spell_p(p: float) -> str:
    """Return a p-value as far into the tail as a double reaches: `0.0859`, `1.3e-187`, `< 1e-300`."""
    if p < 1e-300:
        return "< 1e-300"
    return f"{p:.2g}" if p < 1e-4 else f"{p:.3g}" if p < 0.1 else f"{p:.2f}"


def say_p(p: float) -> str:
    """Return a p-value after the letter: `p = 0.012`, `p < 1e-300`."""
    told = spell_p(p)
    return f"p {told}" if told.startswith("<") else f"p = {told}"
