"""How large a change is, if there is one, by the changes of the history and of other projects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from datamill.selection.predictors.case import Case

METHOD = "conformal, by the largest change of each version"
CONFIDENCE = 0.9
#: As how many versions with a change the other projects count together. The interval of a history without one
#: ends where 18 of 19 of theirs lie below; 30 were too many for a history that has a few (docs/howto).
OTHERS_COUNT_AS = 19

#: Sizes of the changes of each version of a project that has some.
VersionSizes = tuple[tuple[float, ...], ...]


class Magnitude(msgspec.Struct, frozen=True):
    """The size of a change, |new / old - 1|, if there is one.

    `size` is a typical one; with a probability of `confidence` all changes of a version lie between `low`,
    from which on something counts as a change, and `high`. `n` are the versions of the own history that it
    was learnt from.
    """

    size: float
    low: float
    high: float
    confidence: float
    n: int
    method: str = METHOD


def learn_magnitude(
    cases: Iterable[Case], least: float, others: Sequence[VersionSizes] = ()
) -> Magnitude | None:
    """Learn from the changes of a history; None where no interval holds.

    Benchmarks of one version change alike, so that what is exchangeable is a version, not a case. `high` is
    the k-th smallest of the versions' largest changes, k = ⌈(n + 1) · confidence⌉ (Vovk, Gammerman and Shafer
    2005; of n + 1 exchangeable values the last is as likely at each rank), which takes nine versions with a
    change. `low` is `least`: below it nothing is a change.

    Other projects stand for `OTHERS_COUNT_AS` versions, the same share each, by those of their changes that
    are at least `least`; below `truth.COUNT_THRESHOLD` none are known. No theorem covers this, since no
    project is like another. Their part shrinks with each version of the own history. `size` is the median;
    the changes of a version share its weight.
    """
    own = group_sizes(cases)
    kept = [found for sizes in others if (found := _keep_from(sizes, least))]
    borrowed = kept if sum(map(len, kept)) >= OTHERS_COUNT_AS else []
    weighed = [(sizes, 1.0) for sizes in own]
    weighed += [
        (sizes, OTHERS_COUNT_AS / len(borrowed) / len(project)) for project in borrowed for sizes in project
    ]
    total = len(own) + (OTHERS_COUNT_AS if borrowed else 0)
    high = _find_quantile([(max(sizes), weight) for sizes, weight in weighed], CONFIDENCE * (total + 1))
    if high is None:
        return None
    spread = [(size, weight / len(sizes)) for sizes, weight in weighed for size in sizes]
    size = _find_quantile(spread, total / 2)
    assert size is not None
    method = f"{METHOD}; other projects count as {OTHERS_COUNT_AS} versions" if borrowed else METHOD
    # Counts were compared, not their ratio with 1, which rounding may leave below the least change.
    return Magnitude(max(size, least), least, max(high, least), CONFIDENCE, len(own), method)


def group_sizes(cases: Iterable[Case]) -> VersionSizes:
    """Return the sizes of the changes of each version that has some, the oldest first."""
    found: dict[int, list[float]] = {}
    for case in cases:
        if case.changed and case.ratio is not None and case.ratio != 1:
            found.setdefault(case.new_order, []).append(abs(case.ratio - 1))
    return tuple(tuple(sizes) for _, sizes in sorted(found.items()))


def _keep_from(versions: VersionSizes, least: float) -> VersionSizes:
    kept = (tuple(size for size in sizes if size >= least) for sizes in versions)
    return tuple(sizes for sizes in kept if sizes)


def _find_quantile(weighed: Iterable[tuple[float, float]], weight: float) -> float | None:
    """The least value up to which the weights reach `weight`; None where all together do not."""
    reached = 0.0
    for value, part in sorted(weighed):
        reached += part
        if reached >= weight - 1e-9:
            return value
    return None
