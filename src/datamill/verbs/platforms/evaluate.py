"""`evaluate_platforms`: how well strategies predict each benchmark of a suite from the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.evaluation.evaluate_part import PartErrors, list_parts, make_strategy
from datamill.platforms.evaluation.evaluation_plan import EvaluationPart, EvaluationPlan, Variant
from datamill.platforms.evaluation.platform_evaluation import PlatformEvaluation, summarize_evaluation
from datamill.platforms.scores.score_matrix import ScoreMatrix
from datamill.platforms.strategies.many_tasks import LimitedStrategy
from datamill.platforms.strategies.registry import find_strategy
from datamill.report.figures.figure import Figure
from datamill.report.platforms.evaluation.error_figures import draw_errors, draw_limits, draw_means
from datamill.report.platforms.evaluation.json import spell_evaluation
from datamill.report.platforms.evaluation.statement import phrase_evaluation, state_evaluation
from datamill.report.platforms.evaluation.suite_figures import draw_lines, draw_models, draw_tree
from datamill.report.platforms.evaluation.threshold_figure import draw_thresholds
from datamill.report.tables.statement import Part
from datamill.verbs.analyses.analysis import Analysis
from datamill.verbs.inputs.arguments import check_choice, take_confidence, take_names, take_seed, take_whole
from datamill.verbs.inputs.scores import load_scores
from datamill.verbs.platforms.evaluation.evaluate_parts import evaluate_parts
from datamill.verbs.platforms.evaluation.evaluation_folder import EvaluationFolder
from datamill.verbs.platforms.platform_inputs import take_machines

#: What the thesis compares (2015, Figure 7.6).
USUAL_STRATEGIES = ("geometric-mean", "clusters", "mallows-cp", "adjusted-r2")
#: Sizes of training sets there, and sets of each size that are drawn for an application.
_SMALLEST, _LARGEST, USUAL_DRAWS = 3, 14, 500
#: A line needs a predictor besides the application itself, and a model one to choose from.
_FEWEST_BENCHMARKS = 3
Picture = Literal["errors", "means", "thresholds", "limits", "tree", "lines", "models"]
#: Hears of finished parts: how many there are, how many of all there will be, and the last one.
Listener = Callable[[int, int, EvaluationPart], None]


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedPlatforms(Analysis):
    """How well strategies predict: `evaluation` as records. `parts` has every error of every model."""

    evaluation: PlatformEvaluation
    parts: tuple[PartErrors, ...]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """What was evaluated."""
        plan = self.evaluation.plan
        return f"Predictions of {len(plan.applications)} applications on {len(plan.machines)} machines"

    @property
    def lead(self) -> tuple[str, ...]:
        """How far each strategy errs."""
        return phrase_evaluation(self.evaluation)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What limits the answer."""
        return (*self.notes, *self.evaluation.warnings)

    def statement(self, *, verbose: bool = False) -> tuple[Part, ...]:
        """Errors by size, thresholds, the worst models."""
        return state_evaluation(self.evaluation, self.notes, verbose=verbose)

    def numbers(self) -> dict[str, Any]:
        """The same with every digit."""
        return spell_evaluation(self.evaluation)

    def figure(self, picture: Picture) -> Figure:
        """One of the pictures of chapter 7: Figures 7.6, 7.7b, 7.8, 7.9, 7.5, 7.1 and 7.2, in this order.

        Raises:
            InputError: there is no such picture, or nothing to draw in it.
        """
        check_choice("picture", picture, get_args(Picture))
        draw = {
            "errors": draw_errors,
            "means": draw_means,
            "thresholds": draw_thresholds,
            "limits": draw_limits,
            "tree": draw_tree,
            "lines": draw_lines,
            "models": draw_models,
        }[picture]
        return draw(self.evaluation)

    def drawings(self) -> tuple[Callable[[], Figure], ...]:
        """All pictures; predictor limits only where there are some."""
        limited = any(variant.limit for variant in self.evaluation.plan.variants)
        pictures: tuple[Picture, ...] = get_args(Picture)
        return tuple(partial(self.figure, picture) for picture in pictures if picture != "limits" or limited)


def evaluate_platforms(
    scores: Any,
    *,
    machines: Any = None,
    pool: Sequence[str] | str = (),
    strategy: str | Sequence[str] = USUAL_STRATEGIES,
    limits: Sequence[int] = (),
    sizes: Sequence[int] = (),
    at: int | None = None,
    draws: int | None = USUAL_DRAWS,
    seed: int = 1,
    confidence: float | None = None,
    out: str | Path | None = None,
    processes: int | None = None,
    listener: Listener | None = None,
) -> EvaluatedPlatforms:
    """Hold each benchmark of a suite out as the application, and predict it from some machines on all others.

    `scores` and `machines` (a table of facts) as in `load_scores`. `pool` names the machines to take part
    (all, unless it does), `strategy` one strategy or several. `sizes` are numbers of training machines (3 to
    14, unless they are given); `draws` how many sets of each size are drawn, None for all sets. Strategies
    that choose predictors are also evaluated with each of `limits` as the most of them. Thresholds and the
    worst models are of models from `at` machines (the largest size). `out` is a folder that keeps finished
    parts, so that a second start goes on; `listener` hears of each.

    Raises:
        InputError: the scores or what is asked of them cannot be used; says what to do.
    """
    level = take_confidence(confidence) or 0.95
    seed = take_seed(seed)
    loaded = load_scores(scores, machines=machines)
    matrix, notes = _take_pool(loaded.matrix, take_machines("pool", pool, loaded.matrix.machines))
    wanted = _take_sizes(sizes, len(matrix.machines))
    taken = take_whole("draws", draws, 1)
    last = take_whole("at", at, 2) or max(wanted)
    if last not in wanted:
        raise InputError(
            f"{argument('at')} is {last}, which is not among the sizes",
            remedy=f"Choose one of: {', '.join(map(str, wanted))}.",
        )
    plan = EvaluationPlan(
        machines=matrix.machines,
        benchmarks=matrix.benchmarks,
        applications=matrix.benchmarks,
        variants=_take_variants(take_names("strategy", strategy), limits),
        sizes=wanted,
        draws=taken or 0,
        seed=seed,
    )
    workers = take_whole("processes", processes, 1)
    folder = EvaluationFolder(Path(out), matrix, plan) if out is not None else None
    parts = _evaluate(matrix, plan, folder, workers, listener)
    evaluation = summarize_evaluation(matrix, plan, parts, level, last)
    return EvaluatedPlatforms(evaluation, parts, (*loaded.notes, *notes))


def _evaluate(
    matrix: ScoreMatrix,
    plan: EvaluationPlan,
    folder: EvaluationFolder | None,
    processes: int | None,
    listener: Listener | None,
) -> tuple[PartErrors, ...]:
    """All parts in the order of the plan, those of the folder first."""
    parts = list_parts(plan)
    found: dict[EvaluationPart, PartErrors] = {}
    if folder is not None:
        for part in parts:
            kept = folder.read_part(part)
            if kept is not None:
                found[part] = kept
    if found and listener is not None:
        listener(len(found), len(parts), list(found)[-1])
    # Those that take longest first, so that no process is left with them at the end.
    left = sorted((part for part in parts if part not in found), key=lambda part: -_guess_work(part))
    for errors in evaluate_parts(matrix, plan, left, processes):
        if folder is not None:
            folder.write_part(errors)
        found[errors.part] = errors
        if listener is not None:
            listener(len(found), len(parts), errors.part)
    return tuple(found[part] for part in parts)


def _guess_work(part: EvaluationPart) -> float:
    """How long a part takes beside others: of searches, those of middle sizes by far the longest."""
    return (part.stop - part.start) * math.exp(part.size / 3)


def _take_pool(matrix: ScoreMatrix, names: tuple[str, ...]) -> tuple[ScoreMatrix, tuple[str, ...]]:
    """The machines that are asked for and the benchmarks that they all have, and what was left out."""
    pool = matrix.keep_machines(names) if names else matrix
    known = np.isfinite(pool.seconds)
    kept = [name for place, name in enumerate(pool.benchmarks) if known[:, place].all()]
    if len(kept) < _FEWEST_BENCHMARKS:
        raise InputError(
            f"{len(kept)} of {len(pool.benchmarks)} benchmarks are known of all machines",
            remedy=f"Name machines that share at least {_FEWEST_BENCHMARKS} with {argument('pool')}.",
        )
    missing = [name for name in pool.benchmarks if name not in kept]
    notes = (
        (f"benchmarks without a value on some machine are left out: {', '.join(missing)}",) if missing else ()
    )
    return pool.keep_benchmarks(kept), notes


def _take_sizes(given: Sequence[int], machines: int) -> tuple[int, ...]:
    if machines <= _SMALLEST:
        those = f"{count_nouns(machines, 'machine')} {'is' if machines == 1 else 'are'}"
        raise InputError(
            f"{those} too few to train on some and predict others",
            remedy=f"Give scores of at least {_SMALLEST + 1} machines.",
        )
    if not given:
        return tuple(range(_SMALLEST, min(_LARGEST, machines - 1) + 1))
    sizes = sorted({size for item in given if (size := take_whole("sizes", item, 2)) is not None})
    if sizes[-1] >= machines:
        raise InputError(
            f"{sizes[-1]} of {machines} machines to train on leave none to predict",
            remedy=f"Choose {argument('sizes')} up to {machines - 1}.",
        )
    return tuple(sizes)


def _take_variants(names: tuple[str, ...], limits: Sequence[int]) -> tuple[Variant, ...]:
    """The strategies, and each that can be limited with each limit.

    Raises:
        InputError: there is no such strategy, or limits are given and none of the strategies has any.
    """
    if not names:
        raise InputError("no strategy is named", remedy=f"Name one with {argument('strategy')}.")
    variants = [Variant(name) for name in dict.fromkeys(names)]
    most = sorted({limit for item in limits if (limit := take_whole("limits", item, 1)) is not None})
    limited = [name for name in dict.fromkeys(names) if isinstance(find_strategy(name), LimitedStrategy)]
    if most and not limited:
        make_strategy(Variant(names[0], most[0]))
    return (*variants, *(Variant(name, limit) for name in limited for limit in most))
