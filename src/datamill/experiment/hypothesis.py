"""A hypothesis about two packages, as a sentence of the experiment file says it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from datamill.experiment.errors import InputError
from datamill.experiment.messages.numbers import format_figures
from datamill.experiment.messages.suggestions import suggest_name

#: What is claimed of the package: a response below or above the baseline's, one that is not worse than it by
#: so much, or one that departs from it by less.
Claim = Literal["lower", "higher", "not worse", "equivalent"]

_FORMS = (
    '"A at least 10% lower than B", "A lower than B", "A not worse than B by more than 5%" or "A equivalent '
    'to B within 2%", each with "in RESPONSE" behind it where it is not about the first'
)
_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}"
_SHARE = r"[0-9]{1,6}(?:\.[0-9]{1,6})?\s*%"
_IN = rf"(?:\s+in\s+(?P<response>{_NAME}))?"
_DEPARTS = re.compile(
    rf"(?P<package>{_NAME})\s+(?:at\s+least\s+(?P<share>{_SHARE})\s+)?(?P<claim>lower|higher)\s+than\s+"
    rf"(?P<baseline>{_NAME}){_IN}"
)
_NOT_WORSE = re.compile(
    rf"(?P<package>{_NAME})\s+not\s+worse\s+than\s+(?P<baseline>{_NAME})"
    rf"(?:\s+by\s+more\s+than\s+(?P<share>{_SHARE}))?{_IN}"
)
_EQUIVALENT = re.compile(
    rf"(?P<package>{_NAME})\s+equivalent\s+to\s+(?P<baseline>{_NAME})\s+within\s+(?P<share>{_SHARE}){_IN}"
)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A claim about the ratio of two packages' means: it lies above `low` and below `high`, where these are.

    `share` is the number in the sentence; `response` names what it is about. Of the two bounds a one-sided
    claim has one.
    """

    package: str
    baseline: str
    claim: Claim
    share: float
    response: str
    low: float | None
    high: float | None

    @property
    def two_sided(self) -> bool:
        """Whether it has two bounds, and each is tested by itself."""
        return self.low is not None and self.high is not None

    def phrase(self) -> str:
        """Return it in one spelling, such as `a at least 10% lower than b in wall_time`."""
        share = f"{format_figures(100 * self.share, 4)}%"
        if self.claim == "equivalent":
            text = f"{self.package} equivalent to {self.baseline} within {share}"
        elif self.claim == "not worse":
            text = f"{self.package} not worse than {self.baseline}" + (
                f" by more than {share}" if self.share else ""
            )
        else:
            least = f"at least {share} " if self.share else ""
            text = f"{self.package} {least}{self.claim} than {self.baseline}"
        return f"{text} in {self.response}"


def parse_hypothesis(
    text: str, *, packages: Sequence[str], directions: Mapping[str, str], where: str
) -> Hypothesis:
    """Return what a sentence claims.

    Args:
        text: the sentence.
        packages: those of the experiment.
        directions: of each response which direction is better, "higher" or "lower"; the first is meant where
            the sentence names none.
        where: its place, for messages.

    Raises:
        InputError: when it is no such sentence, names what is not there, or claims what cannot be.
    """
    given = " ".join(text.split())
    match = next(
        (found for form in (_DEPARTS, _NOT_WORSE, _EQUIVALENT) if (found := form.fullmatch(given))), None
    )
    if match is None:
        raise InputError(f'"{given}" is not a hypothesis', where=where, remedy=f"Write {_FORMS}.")
    package, baseline = match["package"], match["baseline"]
    for name in (package, baseline):
        if name not in packages:
            raise InputError(
                f'the hypothesis is about "{name}", which is not a package of this experiment',
                where=where,
                remedy=suggest_name(name, packages),
            )
    if package == baseline:
        raise InputError(
            f"the hypothesis compares {package} with itself", where=where, remedy="Name two packages."
        )
    response = str(match["response"] or next(iter(directions)))
    if response not in directions:
        raise InputError(
            f'the hypothesis is about "{response}", which is not a response of this experiment',
            where=where,
            remedy=suggest_name(response, list(directions)),
        )
    share = 0.0 if match["share"] is None else float(match["share"].rstrip("% ")) / 100
    claim: Claim = "equivalent"
    low, high = 1 - share, 1 + share
    below: float | None = low
    above: float | None = high
    if match.re is _NOT_WORSE:
        claim = "not worse"
        below, above = (low, None) if directions[response] == "higher" else (None, high)
    elif match.re is _DEPARTS:
        claim = "lower" if match["claim"] == "lower" else "higher"
        below, above = (None, low) if claim == "lower" else (high, None)
    bounds = [bound for bound in (below, above) if bound is not None]
    if (match["share"] is not None and not share) or min(bounds) <= 0:
        raise InputError(
            f"{format_figures(100 * share, 4)}% leaves nothing to be shown",
            where=where,
            remedy="Write a share above 0%, and below 100% of what is to become less.",
        )
    return Hypothesis(package, baseline, claim, share, response, below, above)
