"""The change between levels that answers a question about factors."""

from __future__ import annotations

from collections.abc import Sequence

from datamill.analysis.answer.term_influence import Influence
from datamill.analysis.levels.level_changes import LevelChange, rank_changes
from datamill.analysis.model_data.cells import ModelFactor
from datamill.experiment.experiment import Experiment


def find_asked_change(
    experiment: Experiment,
    factors: Sequence[ModelFactor],
    influence: Influence | None,
    changes: Sequence[LevelChange],
) -> LevelChange | None:
    """Return the change that answers a question about factors: the largest that shows, or the only one.

    Factors that only the policy for hidden factors names are not asked about, nor are those of a screening.
    None where several factors are asked about and none is detected.
    """
    if experiment.design.kind == "screening":
        return None
    asked = [item.name for item in experiment.factors if not item.by_policy and item.treatment == "vary"]
    found = [item for item in changes if item.factor in asked]
    if len(found) == 1:
        return found[0]
    # Of several factors one shows only if it does beside all that were looked at.
    detected = _list_detected(factors, influence)
    shown = [item for item in found if item.factor in detected and item.pair.verdict in ("better", "worse")]
    return rank_changes(shown)[0] if shown else None


def _list_detected(factors: Sequence[ModelFactor], influence: Influence | None) -> set[str]:
    """Factors whose main effect is detected among all terms of the model."""
    if influence is None:
        return set()
    terms = [item.term for item in influence.terms if item.detected]
    return {factors[term.factors[0]].name for term in terms if len(term.factors) == 1}
