"""When a prediction is refused, and why: rules on the errors that the method makes for the suite itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamill.experiment.messages.numbers import format_figures
from datamill.platforms.ensemble.inference import FEWEST_TAKEN, Inference
from datamill.platforms.prediction.platform_prediction import Refusal
from datamill.platforms.scores.score_matrix import FloatArray

#: An error above this share is one that a user would regret.
LIMIT = 0.25
#: Of a hundred predictions that are not refused, one may err by more than so many limits (on the logarithm).
_RARE = 0.99
_RARE_LIMIT = 1.2
#: A machine is unlike the others where a benchmark errs beyond the limit, and so many times as much as it
#: does elsewhere; it is refused where the application's own error, too, may reach half of the limit.
_UNLIKE = 5.0
_DOUBT_LIMIT = 0.5


def find_refusals(
    found: Inference, benchmarks: Sequence[str], *, limit: float = LIMIT
) -> tuple[tuple[Refusal, ...], ...]:
    """Return for each target why it is refused; empty where the prediction may be relied on.

    It is refused where (1) one in a hundred errors is expected beyond 1.2 of the limit, on the logarithm, or
    (2) some benchmark of the suite, taken for the application, was mispredicted there by more than the
    limit and five times as much as elsewhere, and one in a hundred errors of the application itself is
    expected beyond half of the limit. The rules were chosen on suites of three decades; what they achieve
    stands in docs/platforms.md.

    Args:
        found: the inference.
        benchmarks: names of the suite's columns.
        limit: the largest error that would not be regretted, as a share.
    """
    bound = np.log1p(limit)
    if len(found.taken) < FEWEST_TAKEN:
        return _refuse_without_suite(found, bound)
    rare = found.sizes * np.nanquantile(np.abs(found.spread), _RARE)
    rare = np.sqrt(rare**2 + (2.6 * found.noise) ** 2)
    sizes = np.nan_to_num(np.abs(found.errors))
    typical = np.nanmedian(np.abs(found.errors), axis=1, keepdims=True) + 0.01
    strange = np.where(sizes > _UNLIKE * typical, sizes, 0.0)
    worst = strange.max(axis=0)
    names = [benchmarks[column] for column in found.taken]
    own = np.nanmedian(np.log(found.own_sizes), axis=1)
    place = float((own < np.median(np.log(found.sizes))).mean())
    by_target = np.median(found.own_sizes, axis=0)
    unlike = by_target / np.median(by_target)
    answers = []
    for index, size in enumerate(rare):
        reasons = []
        if worst[index] > bound and size > _DOUBT_LIMIT * bound:
            name = names[int(np.argmax(strange[:, index]))]
            reasons.append(
                Refusal(
                    "target",
                    f"the machine is unlike those that measured the application: {name}, taken for the "
                    f"application, is mispredicted there by {_say_error(worst[index])}",
                )
            )
        if size > _RARE_LIMIT * bound:
            reasons.append(_explain_size(size, place, unlike[index], len(found.taken)))
        answers.append(tuple(reasons))
    return tuple(answers)


def _explain_size(size: float, place: float, unlike: float, taken: int) -> Refusal:
    """Say what a large expected error comes from: the application, the target, or the machines."""
    reach = f"one prediction in a hundred would err by more than {_say_error(size)}"
    if place >= 0.9:
        fewer = round(place * taken)
        return Refusal(
            "application",
            f"the application is unlike the suite: it is harder to predict than {fewer} of its {taken} "
            f"benchmarks, and {reach}",
        )
    if unlike >= 1.5:
        return Refusal(
            "target",
            f"the machine is unlike those that measured the application: the suite's own benchmarks err "
            f"{format_figures(unlike, 2)} times as much there as elsewhere, and {reach}",
        )
    return Refusal(
        "machines",
        f"the machines that measured the application are too few, or too unlike this one: {reach}",
    )


def _refuse_without_suite(found: Inference, bound: float) -> tuple[tuple[Refusal, ...], ...]:
    """Refuse where no benchmark could be taken for the application, unless the trained machines agree."""
    trained = found.by_machine.shape[1]
    answers: list[tuple[Refusal, ...]] = []
    for size in found.sizes:
        if not np.isfinite(size):
            sentence = (
                f"the suite has {len(found.taken)} benchmarks that can be taken for the application, and "
                f"{trained} machine measured it: nothing tells how large errors are"
            )
            answers.append((Refusal("machines", sentence),))
        elif size * 2.6 > bound or trained < 3:
            sentence = (
                f"the application departs from the suite by {_say_error(size)} from machine to machine, "
                f"and only {trained} machines measured it"
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
