"""When a prediction is refused, and why: rules on the errors that the method makes for the suite itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from datamill.experiment.messages.numbers import format_figures
from datamill.experiment.messages.phrases import count_nouns
from datamill.platforms.ensemble.error_scale import average_errors
from datamill.platforms.ensemble.few_benchmarks import allow_for_few
from datamill.platforms.ensemble.inference import FEWEST_TAKEN, EnsembleInference, reach_level
from datamill.platforms.prediction.platform_prediction import LIMIT, Refusal
from datamill.platforms.scores.score_matrix import FloatArray

#: The error that one prediction in a hundred exceeds, told by two measures; their geometric mean may reach
#: nine tenths of the limit.
_RARE = 0.99
_REACH = 0.9
#: The same of the two tails of a distribution.
_TWO_SIDED = 0.995
#: The first of them alone may reach so many limits.
_FAR = 1.3
#: One error in a hundred is as large as so many root mean squares.
_RARE_SIZES = 3.0
#: A benchmark whose typical error is above so much of the limit says little about a single machine.
_HARD = 0.5
#: A machine is unlike the others where the suite's errors are so many times as large as elsewhere.
_UNLIKE = 1.5
#: An application is unlike the suite where it is harder to predict than this share of its benchmarks.
_LONE = 0.9


def find_refusals(
    found: EnsembleInference, benchmarks: Sequence[str], *, limit: float = LIMIT
) -> tuple[tuple[Refusal, ...], ...]:
    """Return for each target why it is refused; empty where the prediction may be relied on.

    Two measures tell which error one prediction in a hundred exceeds: the size expected of this application
    on this machine, times what the suite's benchmarks show at that level; and three times the root mean
    square of their errors on this machine, without benchmarks that are hard everywhere. A prediction is
    refused where the geometric mean of both exceeds 0.9 of the limit, or the first alone 1.3 limits, on the
    logarithm. The rule was chosen on suites of three decades; docs/performance.md has what it achieves.

    Args:
        found: the inference.
        benchmarks: names of the suite's columns.
        limit: the largest error that would not be regretted, as a share.
    """
    bound = np.log1p(limit)
    if len(found.taken) < FEWEST_TAKEN:
        return _refuse_without_suite(found, bound)
    rare = reach_level(found, _RARE) * allow_for_few(len(found.taken), _RARE)
    rare = np.sqrt(rare**2 + (2.6 * found.noise) ** 2)
    sizes = np.nan_to_num(np.abs(found.errors))
    typical = np.nanmedian(np.abs(found.errors), axis=1)
    telling = typical <= _HARD * bound if (typical <= _HARD * bound).any() else np.ones(len(typical), bool)
    there = _RARE_SIZES * average_errors(found.errors[telling])
    refused = (np.sqrt(rare * there) > _REACH * bound) | (rare > _FAR * bound)
    own = np.nanmedian(np.log(found.own_sizes), axis=1)
    harder = int((own < np.median(np.log(found.sizes))).sum())
    worst = np.where(telling[:, None], sizes, 0.0).argmax(axis=0)
    unlike = there / max(float(np.median(there)), 1e-12)
    answers: list[tuple[Refusal, ...]] = []
    for index in range(len(rare)):
        if not refused[index]:
            answers.append(())
            continue
        reasons = []
        if unlike[index] >= _UNLIKE and there[index] > bound:
            row = int(worst[index])
            reasons.append(_blame_target(benchmarks[found.taken[row]], float(sizes[row, index])))
        if harder >= _LONE * len(found.taken):
            reasons.append(_blame_application(float(rare[index]), harder, len(found.taken)))
        answers.append(tuple(reasons) or (_blame_machines(float(rare[index])),))
    return tuple(answers)


def _blame_target(benchmark: str, error: float) -> Refusal:
    """Say that the machine is unlike those that measured the application."""
    return Refusal(
        "target",
        f"the machine is unlike those that measured the application: {benchmark}, taken for the "
        f"application, is mispredicted there by {_say_error(error)}",
    )


def _blame_application(size: float, harder: int, taken: int) -> Refusal:
    """Say that the application is unlike the suite."""
    return Refusal(
        "application",
        f"the application is unlike the suite: it is harder to predict than {harder} of its {taken} "
        f"benchmarks, and one prediction in a hundred would err by more than {_say_error(size)}",
    )


def _blame_machines(size: float) -> Refusal:
    """Say that the trained machines are what lacks."""
    return Refusal(
        "machines",
        "the machines that measured the application are too few, or too unlike this one: one prediction in "
        f"a hundred would err by more than {_say_error(size)}",
    )


def _refuse_without_suite(found: EnsembleInference, bound: float) -> tuple[tuple[Refusal, ...], ...]:
    """Refuse where no benchmark could be taken for the application, unless the trained machines agree."""
    trained = found.by_machine.shape[1]
    answers: list[tuple[Refusal, ...]] = []
    for size in found.sizes:
        if not np.isfinite(size):
            sentence = (
                f"the suite has {count_nouns(len(found.taken), 'benchmark')} that can be taken for the "
                f"application, and {count_nouns(trained, 'machine')} measured it: nothing tells how large "
                "errors are"
            )
            answers.append((Refusal("machines", sentence),))
        elif size * float(stdtrit(trained - 1, _TWO_SIDED)) > bound:
            sentence = (
                f"the application departs from the suite by {_say_error(size)} from machine to machine, "
                f"and only {count_nouns(trained, 'machine')} measured it"
            )
            answers.append((Refusal("machines", sentence),))
        else:
            answers.append(())
    return tuple(answers)


def _say_error(size: float | FloatArray) -> str:
    """Write an error on the logarithm: in percent, as a factor from 2 on, and none that is beyond all use."""
    if size > np.log(1000):
        return "a factor of 1000"
    if size >= np.log(2):
        return f"a factor of {format_figures(float(np.exp(size)), 2)}"
    return f"{format_figures(100 * float(np.expm1(size)), 2)}%"
