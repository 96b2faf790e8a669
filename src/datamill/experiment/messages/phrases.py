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


def finish_sentence(text: str) -> str:
    """A sentence with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
