"""Long names of levels, such as commands, by what tells them apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Names up to this length stay as they are, and so do those that would lose less than this share.
_LONGEST_WHOLE, _LEAST_SAVED = 24, 0.3
#: Words, parts of paths, and what stands between them.
_PIECE = re.compile(r"\s+|/|[^\s/]+")
_STAND_IN = "NAME"
_short: ContextVar[tuple[re.Pattern[str], Mapping[str, str]] | None] = ContextVar("short", default=None)


def find_short_names(names: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return each name by what differs, and what they all are with a stand-in for that.

    Words and parts of paths that all names begin or end with are left out: `sort -u a` and `sort -n a`
    become `-u` and `-n`, of `sort NAME a`. Nothing where names are short or have little in common.
    """
    longest = max(map(len, names), default=0)
    if len(names) < 2 or longest <= _LONGEST_WHOLE or len(set(names)) < len(names):
        return {}, ""
    pieces = [_PIECE.findall(name) for name in names]
    least = min(map(len, pieces))
    head = _count_alike(pieces, least)
    tail = _count_alike([it[::-1] for it in pieces], least - head)
    # A name that has nothing of its own keeps the word before.
    while any(not "".join(it[head : len(it) - tail]).strip(" /") for it in pieces) and (head or tail):
        if head:
            head -= 1
        else:
            tail -= 1
    short = ["".join(it[head : len(it) - tail]).strip() for it in pieces]
    if len(set(short)) < len(names) or max(map(len, short)) > (1 - _LEAST_SAVED) * longest:
        return {}, ""
    # The first name with a stand-in for its own part, and the blanks around that.
    first = pieces[0]
    before, after = "".join(first[:head]), "".join(first[len(first) - tail :])
    own = "".join(first[head : len(first) - tail])
    blanks = len(own) - len(own.lstrip()), len(own.rstrip())
    whole = f"{before}{own[: blanks[0]]}{_STAND_IN}{own[blanks[1] :]}{after}"
    return dict(zip(names, short, strict=True)), whole


def _count_alike(pieces: Sequence[Sequence[str]], most: int) -> int:
    """How many pieces all names begin with."""
    alike = 0
    while alike < most and len({own[alike] for own in pieces}) == 1:
        alike += 1
    return alike


@contextmanager
def use_short_names(groups: Sequence[tuple[str, Sequence[str]]]) -> Iterator[tuple[str, ...]]:
    """Shorten the names of levels in what `apply_short_names` sees; yields what they stand for.

    `groups` are factors with their levels. A short name that is a level of another factor is not used.
    """
    known: dict[str, str] = {}
    notes = []
    for index, (factor, names) in enumerate(groups):
        short, whole = find_short_names(names)
        others = {level for at, (_, levels) in enumerate(groups) if at != index for level in levels}
        if short and not set(short.values()) & (others | set(known.values())):
            known |= short
            notes.append(f"Names of {factor} are shortened: each stands for {whole}.")
    pattern = re.compile("|".join(re.escape(name) for name in sorted(known, key=len, reverse=True)))
    token = _short.set((pattern, known) if known else None)
    try:
        yield tuple(notes)
    finally:
        _short.reset(token)


def apply_short_names(text: str) -> str:
    """Return the text with the names that are in use shortened."""
    use = _short.get()
    return text if use is None else use[0].sub(lambda found: use[1][found.group()], text)


def shorten_chart(part: Any) -> Any:
    """Return a chart, or a part of one, with the names that are in use shortened."""
    if _short.get() is None:
        return part
    if isinstance(part, str):
        return apply_short_names(part)
    if isinstance(part, dict):
        return {key: shorten_chart(item) for key, item in part.items()}
    return [shorten_chart(item) for item in part] if isinstance(part, list | tuple) else part
