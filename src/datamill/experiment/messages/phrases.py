"""Nouns, lists and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.experiment.messages.numbers import format_count


def count_nouns(number: int, noun: str) -> str:
    """Return a number of things, such as `1 worker` or `1 200 trials`."""
    return f"{format_count(number)} {noun}{'' if number == 1 else 's'}"


def list_first(names: Sequence[str], most: int) -> str:
    """Return names with commas between them, of many the first and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def join_names(names: Sequence[str], most: int = 8) -> str:
    """Return names as a sentence has them, `a, b and c`; of many the first and how many more there are."""
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def phrase_left_out(names: Sequence[str], empty: int, possible: int) -> str:
    """Say which terms a model leaves out, since `empty` of the possible combinations have no data."""
    return (
        f"not estimable, because {empty} of {possible} combinations of levels have no data, and left out of "
        f"the model: {join_names(names)}"
    )


def finish_sentence(text: str) -> str:
    """A sentence with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
