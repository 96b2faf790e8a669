"""An evaluation as a whole: from the errors of its parts to what it says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamill.experiment.messages.numbers import format_share
from datamill.platforms.clusters.benchmark_tree import BenchmarkTree, build_tree
from datamill.platforms.evaluation.evaluate_part import PartErrors
from datamill.platforms.evaluation.evaluation_plan import EvaluationPlan, Variant
from datamill.platforms.evaluation.example_models import ExampleModels, fit_examples
from datamill.platforms.evaluation.size_errors import SizeErrors, join_errors, summarize_size
from datamill.platforms.evaluation.thresholds import ThresholdCurve, apply_thresholds
from datamill.platforms.evaluation.worst_models import WorstModels, find_worst
from datamill.platforms.scores.score_matrix import FloatArray, ScoreMatrix

#: Applications below which an interval over applications is a guess.
_FEW_APPLICATIONS = 10
#: Share of predicted times that are not above zero from which a warning is due.
_ABSURD = 0.001


@dataclass(frozen=True, slots=True, eq=False)
class PlatformEvaluation:
    """How well strategies predict each benchmark of a suite from the others, on machines of a pool.

    `errors` has every variant at every size. `thresholds` and `worst` are of models from `at` training
    machines. `pool` has the suite's times on the pool, without gaps; `suite_means` its geometric mean on each
    machine; `tree` joins its benchmarks; `example` has three small models. Intervals have the level
    `confidence`.
    """

    plan: EvaluationPlan
    confidence: float
    at: int
    errors: tuple[SizeErrors, ...]
    thresholds: tuple[ThresholdCurve, ...]
    worst: tuple[WorstModels, ...]
    pool: ScoreMatrix
    suite_means: FloatArray
    tree: BenchmarkTree
    example: ExampleModels
    warnings: tuple[str, ...]

    def find_errors(self, variant: Variant, size: int) -> SizeErrors | None:
        """The errors of a variant at a size; None where it predicts nothing."""
        return next((item for item in self.errors if (item.variant, item.size) == (variant, size)), None)

    def list_contrary(self, most: int) -> tuple[str, ...]:
        """The benchmarks that order most pairs of machines other than the suite's mean does, so many."""
        order = np.argsort(self.suite_means, kind="stable")
        ordered = self.pool.seconds[order]
        wrong = [int(np.sum(np.triu(column[None, :] < column[:, None], 1))) for column in ordered.T]
        places = np.argsort(-np.array(wrong), kind="stable")[:most]
        return tuple(self.pool.benchmarks[place] for place in places)


def summarize_evaluation(
    matrix: ScoreMatrix, plan: EvaluationPlan, parts: Sequence[PartErrors], confidence: float, at: int
) -> PlatformEvaluation:
    """Summarise all parts of a plan; `at` is one of its sizes."""
    by_size: dict[tuple[Variant, int], list[PartErrors]] = defaultdict(list)
    for errors in parts:
        for variant in errors.part.variants:
            by_size[variant, errors.part.size].append(errors)
    sizes, curves, worst = [], [], []
    for variant in plan.variants:
        for size in plan.sizes:
            joined = join_errors(by_size[variant, size], variant)
            found = summarize_size(variant, size, joined, confidence)
            if found is None:
                continue
            sizes.append(found)
            if size == at:
                curves.append(apply_thresholds(variant, size, joined, confidence))
                worst.append(find_worst(plan, variant, size, joined))
    pool = matrix.keep_machines(plan.machines).keep_benchmarks(plan.benchmarks)
    draw = np.random.default_rng(plan.seed)
    application = plan.applications[int(draw.integers(len(plan.applications)))]
    target = plan.machines[int(draw.integers(len(plan.machines)))]
    return PlatformEvaluation(
        plan=plan,
        confidence=confidence,
        at=at,
        errors=tuple(sizes),
        thresholds=tuple(curves),
        worst=tuple(worst),
        pool=pool,
        suite_means=np.exp(np.mean(np.log(pool.seconds), axis=1)),
        tree=build_tree(pool.seconds),
        example=fit_examples(pool, application, target),
        warnings=_list_warnings(plan, sizes, curves),
    )


def _list_warnings(
    plan: EvaluationPlan, sizes: list[SizeErrors], curves: list[ThresholdCurve]
) -> tuple[str, ...]:
    found = []
    if len(plan.applications) < _FEW_APPLICATIONS:
        found.append(
            f"{len(plan.applications)} applications are few: intervals over applications are a rough guess"
        )
    absurd = []
    for variant in plan.variants:
        mine = [item for item in sizes if item.variant == variant]
        silent = [str(size) for size in plan.sizes if size not in {item.size for item in mine}]
        if silent:
            found.append(f"{variant.label} predicts nothing from {', '.join(silent)} machines")
        if models := sum(item.unanswered for item in mine):
            found.append(f"{models} models of {variant.label} predict nothing and are left out")
        most = max(mine, key=lambda item: item.absurd, default=None)
        if most is not None and most.absurd > _ABSURD and not variant.limit:
            absurd.append(f"{variant.label} from {most.size} machines ({format_share(most.absurd)})")
    if absurd:
        found.append(
            f"some predicted times are not above zero, as linear models in seconds can have them, most of "
            f"{', '.join(absurd)}"
        )
    for curve in curves:
        if curve.undefined:
            found.append(
                f"{curve.undefined} models of {curve.variant.label} from {curve.size} machines have no "
                "adjusted R²: thresholds discard them"
            )
    return tuple(found)
