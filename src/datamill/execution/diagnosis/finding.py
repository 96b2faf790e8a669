"""One thing that a machine offers or lacks, and all of them in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

#: `offered`: measuring can use it; `lacking`: measuring is possible without; `impossible`: nothing can be
#: measured before it is put right.
Standing = Literal["offered", "lacking", "impossible"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one part of a machine means for measuring.

    Args:
        topic: the part, such as `counters`.
        standing: whether measuring can use it.
        text: a sentence without its full stop.
        phrase: what follows "This machine can" or "it lacks" in the first sentence; empty: not said there.
        remedy: a command, or what to do; empty where nothing helps or needs help.
    """

    topic: str
    standing: Standing
    text: str
    phrase: str = ""
    remedy: str = ""


def summarize_findings(findings: Sequence[Finding]) -> str:
    """Return the first sentence: what this machine can do, and what it lacks."""
    blocked = [item for item in findings if item.standing == "impossible"]
    if blocked:
        return f"This machine cannot measure yet: {_join([item.phrase or item.text for item in blocked])}."
    can = _join([item.phrase for item in findings if item.standing == "offered" and item.phrase])
    lacks = _join([item.phrase for item in findings if item.standing == "lacking" and item.phrase])
    start = f"This machine can {can or 'measure'}"
    return f"{start}; it lacks {lacks}." if lacks else f"{start}; it lacks nothing."


def _join(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)
