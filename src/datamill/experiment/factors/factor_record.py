"""What datamill knows of a factor before it looks at any host."""

from __future__ import annotations

from dataclasses import dataclass

from datamill.experiment.levels import LevelPattern
from datamill.protocol.offers import Stage


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor that datamill sets.

    `levels` are the fixed ones, in their meaningful order; `others` are patterns of further ones.
    `default` is the level of an ordinary system, empty where the host or the package decides it.
    `drawn` are levels at which each trial gets something of its own, drawn from its seed. `screening` are the
    low and the high level at which a screening looks for an effect, none for what is slow, has its dangers,
    or no hidden factor: such a one is screened only where an experiment names it. With `listed`, a host's
    offer has all of its levels, so that one which is not among them does not exist there. `cost` says what
    setting it takes, `found` what the papers found, and `source` where they say it.
    """

    name: str
    stage: Stage
    levels: tuple[str, ...]
    default: str
    summary: str
    cost: str
    found: str
    source: str = ""
    others: tuple[LevelPattern, ...] = ()
    drawn: tuple[str, ...] = ()
    screening: tuple[str, ...] = ()
    listed: bool = False

    @property
    def build(self) -> bool:
        """Whether a change of level needs another build."""
        return self.stage == "build"

    def read_level(self, text: str) -> str | None:
        """Return the level that a text means, in its one spelling; None when it is none."""
        if text in self.levels:
            return text
        return next((level for item in self.others if (level := item.read(text)) is not None), None)

    def describe_levels(self) -> str:
        """Return what its levels can be, in words that follow "it can be"."""
        words = [*(f'"{level}"' for level in self.levels), *(item.words for item in self.others)]
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
