"""How relative effects spread over machines, and over packages (thesis 2015, Figures 5.2 and 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamill.analysis.answer.machines.factor_effects import FactorsByMachine, LevelOnMachine
from datamill.analysis.distribution.boxes import BoxSummary, summarize_box

#: Effects that a box is made of at least.
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class EffectBox:
    """Relative effects of one level in percent of the mean, summed up: of a package over machines, or of a
    machine over packages, named by `panel`.
    """

    panel: str
    factor: str
    level: str
    summary: BoxSummary
    mean: float


@dataclass(frozen=True, slots=True)
class EffectSpread:
    """Boxes over machines, a panel a package, and over packages, a panel a machine; none where too few."""

    over_machines: tuple[EffectBox, ...]
    over_packages: tuple[EffectBox, ...]


def spread_effects(found: FactorsByMachine) -> EffectSpread:
    """Sum up departures of levels from the mean; of two levels the second's, half of what lies between."""
    chosen = [item for item in found.levels if item.departure is not None and not _is_mirrored(item, found)]
    by_package: dict[tuple[str, str, str], list[float]] = {}
    by_machine: dict[tuple[str, str, str], list[float]] = {}
    for item in chosen:
        assert item.departure is not None
        by_package.setdefault((item.group, item.factor, item.level), []).append(item.departure.estimate)
        by_machine.setdefault((item.machine, item.factor, item.level), []).append(item.departure.estimate)
    return EffectSpread(_sum_up(by_package), _sum_up(by_machine))


def _is_mirrored(item: LevelOnMachine, found: FactorsByMachine) -> bool:
    """Whether the level is the first of two, whose effect is the other's with the other sign."""
    levels = {other.level for other in found.levels if other.factor == item.factor}
    return len(levels) == 2 and (item.factor, item.level) in found.factors


def _sum_up(effects: dict[tuple[str, str, str], list[float]]) -> tuple[EffectBox, ...]:
    return tuple(
        EffectBox(panel, factor, level, summarize_box(np.array(values)), _average(values))
        for (panel, factor, level), values in effects.items()
        if len(values) >= _FEWEST
    )


def _average(values: Sequence[float]) -> float:
    return float(np.mean(np.array(values)))
