"""A plan for a hypothesis: the difference that must be seen so that the hypothesis is shown, by a pilot."""

from __future__ import annotations

import math
from dataclasses import dataclass

from datamill.experiment.errors import InputError
from datamill.experiment.hypothesis import Hypothesis, parse_hypothesis
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.numbers import format_figures, format_given
from datamill.verbs.inputs.nested_data import NestedData


@dataclass(frozen=True, slots=True)
class HypothesisGoal:
    """What a plan must reach so that a hypothesis is shown, if the pilot's means are the true ones.

    `detect` is a difference of two means in the unit of the response that two versions of equal variance must
    show with `power`, tested at the two-sided level `alpha`; `sentence` says where it comes from.
    """

    detect: float
    alpha: float
    power: float
    sentence: str


def find_hypothesis_goal(text: str, read: NestedData, alpha: float, power: float) -> HypothesisGoal:
    """Return what shows a hypothesis with a power, one-sided at alpha.

    The claim that mean A lies below L × mean B is tested as that A - L B lies below zero, whose variance is
    1 + L² times that of one mean, not twice: the margin between the pilot's ratio and L is scaled by it.
    Where there are two bounds both tests have to show theirs, so that each may miss half as often.

    Raises:
        InputError: when there is no such sentence, or the pilot's means are not as it claims.
    """
    means = {nested.version: float(nested.values.mean()) for nested in read.versions}
    hypothesis = _read(text, read, list(means))
    package, baseline = means[hypothesis.package], means[hypothesis.baseline]
    if baseline <= 0 or package <= 0:
        raise InputError(
            "a hypothesis is about ratios, and a mean of the pilot is not above zero",
            where=argument("hypothesis"),
        )
    ratio = package / baseline
    margins = []
    if hypothesis.low is not None:
        margins.append((ratio - hypothesis.low, hypothesis.low))
    if hypothesis.high is not None:
        margins.append((hypothesis.high - ratio, hypothesis.high))
    margin, limit = min(margins)
    seen = f"{format_figures(100 * (ratio - 1), 3, signed=True)}%"
    if margin <= 0:
        raise InputError(
            f"in the pilot {hypothesis.package} differs from {hypothesis.baseline} by {seen}, which is not "
            f"what the hypothesis claims ({hypothesis.phrase()}): no number of repetitions shows it",
            where=argument("hypothesis"),
            remedy="Claim less, or plan with another pilot.",
        )
    missed = (1 - power) / (2 if hypothesis.two_sided else 1)
    return HypothesisGoal(
        detect=margin * baseline / math.sqrt((1 + limit**2) / 2),
        alpha=2 * alpha,
        power=1 - missed,
        sentence=(
            f"To show that {hypothesis.phrase()}, one-sided at alpha {format_given(alpha)} with power "
            f"{format_given(power)}: in the pilot the departure is {seen}, {format_figures(100 * margin)}% "
            f"of {hypothesis.baseline} from the limit; if it is less in truth, more is needed."
        ),
    )


def _read(text: str, read: NestedData, versions: list[str]) -> Hypothesis:
    response = read.versions[0].response
    responses = read.experiment.responses if read.experiment else ()
    directions = {item.name: item.direction for item in responses if item.name == response}
    return parse_hypothesis(
        text, packages=versions, directions=directions or {response: "lower"}, where="hypothesis"
    )
