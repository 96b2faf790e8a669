"""`analyze_allocations`: do binned calls explain the slow ones?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from datamill.allocators.binning.binning_effect import BinningEffect
from datamill.allocators.binning.find_effect import USUAL_QUANTILES, find_binning_effect
from datamill.report.allocators.binning.figures import draw_calls, draw_densities
from datamill.report.allocators.binning.json import spell_binning
from datamill.report.allocators.binning.statement import collect_warnings, phrase_binning, state_binning
from datamill.report.figures.figure import Figure
from datamill.report.quantiles.figures import draw_effects_by_quantile
from datamill.report.quantiles.json import spell_quantiles
from datamill.report.tables.statement import Part
from datamill.report.variability.figures import draw_windows
from datamill.report.variability.json import spell_windows
from datamill.report.variability.statement import phrase_association
from datamill.verbs.allocations.call_table import read_calls
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.analyses.notes import describe_response
from datamill.verbs.inputs.arguments import (
    SHORTEST_WINDOW,
    take_confidence,
    take_name,
    take_quantiles,
    take_seed,
    take_whole,
)


@dataclass(frozen=True, slots=True, eq=False)
class AllocationAnalysis(Analysis):
    """What binning does to latency, and how much of the slow calls it accounts for."""

    effect: BinningEffect

    @property
    def title(self) -> str:
        """What was analysed."""
        return f"Binning and {self.effect.observations.response}"

    @property
    def lead(self) -> tuple[str, ...]:
        """Whether binned calls explain the slow ones, by how much they are slower, and how sure that is."""
        return phrase_binning(self.effect)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return collect_warnings(self.effect)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """Both groups, the slow calls, windows, and the model of equation 2.2."""
        effect = self.effect
        told = [
            phrase_association(effect.observations.response, effect.windows, item)
            for item in effect.windows.associations
        ]
        return state_binning(effect, told)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        effect = self.effect
        notes = describe_response(effect.observations)
        return {
            **spell_binning(effect),
            "windows": spell_windows(notes, effect.windows),
            "model": spell_quantiles(effect.observations, effect.quantiles, effect.mean),
        }

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """Figures 2.1a and 2.3a, 2.3b, 2.4, and 2.1b of the thesis of 2019."""
        effect = self.effect
        return (
            partial(draw_calls, effect),
            partial(draw_densities, effect),
            partial(draw_windows, effect.observations.response, effect.windows),
            partial(
                draw_effects_by_quantile,
                effect.observations,
                effect.quantiles,
                mean=effect.mean,
                coding="zero-one",
            ),
        )


def analyze_allocations(
    data: Any,
    *,
    latency: str = "",
    index: str = "",
    binned: str = "binned",
    where: Mapping[str, str | Sequence[str]] | None = None,
    window: int | None = None,
    quantiles: Sequence[float] = USUAL_QUANTILES,
    confidence: float | None = None,
    seed: int = 1,
) -> AllocationAnalysis:
    """Say whether binned calls explain the slow ones, from any table of (index, latency, binned).

    `data` is a .csv or .parquet file, such as `datamill allocators trace --latencies` writes, or a table in
    memory. `latency` is the first of `latency_ns`, `latency_us`, `latency`, `cycles`, `duration_ns` and
    `duration` that is there, and `index` the order of rows, unless named. `binned` marks calls, or counts
    the events in each. Variability and skewness are those of `window` consecutive calls.

    Raises:
        InputError: the table cannot be used, or there is nothing to compare; says what to do.
    """
    level, seed = take_confidence(confidence), take_seed(seed)
    window, wanted = take_whole("window", window, SHORTEST_WINDOW), take_quantiles(quantiles)
    calls = read_calls(
        data,
        latency=take_name("latency", latency),
        index=take_name("index", index),
        binned=take_name("binned", binned),
        where=where,
    )
    effect = find_binning_effect(
        calls.observations,
        calls.index,
        calls.binned,
        window=window,
        quantiles=wanted,
        confidence=0.95 if level is None else level,
        seed=seed,
    )
    return AllocationAnalysis(replace(effect, warnings=(*calls.warnings, *effect.warnings), mark=binned))
