"""`platforms rank`: candidate machines in the order of their speed for an application."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from datamill.platforms.ranking.machine_ranking import MachineRanking, RankedMachine
from datamill.platforms.ranking.rank_machines import rank_machines as rank_from_matrix
from datamill.platforms.scores.suite_means import average_suite
from datamill.report.figures.figure import Figure
from datamill.report.platforms.figures.prediction_figures import draw_prediction
from datamill.report.platforms.figures.ranking_figure import draw_ranking
from datamill.report.platforms.json import spell_ranking
from datamill.report.platforms.prediction_statement import collect_warnings
from datamill.report.platforms.ranking_statement import phrase_ranking, state_ranking
from datamill.report.platforms.values import PlatformNotes
from datamill.report.tables.statement import Part
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import take_confidence, take_name
from datamill.verbs.platforms.platform_inputs import (
    ask_strategy,
    read_platform_data,
    read_prices,
    take_limit,
    take_machines,
)
from datamill.verbs.platforms.predict import USUAL_CONFIDENCE


@dataclass(frozen=True, slots=True, eq=False)
class RankedPlatforms(Analysis):
    """Candidates from the best to the worst; `suite_means` are the suite's geometric means by machine."""

    ranking: MachineRanking
    notes: PlatformNotes
    suite_means: Mapping[str, float]

    @property
    def machines(self) -> tuple[RankedMachine, ...]:
        """The candidates that are not refused, the best one first."""
        return self.ranking.machines

    @property
    def title(self) -> str:
        """What was ranked."""
        return f"Machines for {self.ranking.prediction.application}"

    @property
    def lead(self) -> tuple[str, ...]:
        """The best machine with its value and the probability that it is the best."""
        return phrase_ranking(self.ranking, self.notes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the ranking."""
        return collect_warnings(self.ranking.prediction, self.notes)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:  # noqa: ARG002
        """A row for each candidate, pairs that the suite's mean misorders, refusals, the method."""
        return state_ranking(self.ranking, self.notes)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_ranking(self.ranking, self.notes)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """The application over the suite's mean, then values with intervals by machine."""
        return (
            partial(draw_ranking, self.ranking, self.notes, self.suite_means),
            partial(draw_prediction, self.ranking.prediction, self.notes),
        )


def rank_machines(
    scores: Any,
    application: Any = None,
    *,
    fingerprint: Any = None,
    candidates: Sequence[str] | str = (),
    prices: Any = None,
    machines: Any = None,
    strategy: str = "",
    confidence: float | None = None,
    limit: float | None = None,
    name: str = "",
    response: str = "",
) -> RankedPlatforms:
    """Order machines of the scores for an application: all, or the `candidates`, measured or not.

    `prices` is a table with columns machine and price, or a mapping. The other arguments are those of
    `predict_platforms`.

    Raises:
        InputError: the data cannot be used; says what to do.
    """
    level = take_confidence(confidence) or USUAL_CONFIDENCE
    data = read_platform_data(
        scores,
        application,
        fingerprint=fingerprint,
        machines=machines,
        name=take_name("name", name),
        response=take_name("response", response),
    )
    wanted = take_machines("candidates", candidates, data.matrix.machines)
    ranking = rank_from_matrix(
        data.matrix,
        data.application,
        candidates=wanted or None,
        prices=read_prices(prices, wanted or data.matrix.machines),
        confidence=level,
        limit=take_limit(limit),
        **ask_strategy(strategy, data.strategy),
    )
    means = average_suite(data.matrix)
    by_machine = {name: float(mean) for name, mean in zip(data.matrix.machines, means, strict=True)}
    return RankedPlatforms(ranking, data.notes, by_machine)
