"""The case of a benchmark in two versions, and what lies between these."""

from __future__ import annotations

from collections.abc import Mapping

from datamill.selection.history.records import Version
from datamill.selection.predictors.case import Case


def make_case(
    benchmark: str,
    old: Version,
    new: Version,
    features: Mapping[str, float],
    changed: bool | None = None,
    ratio: float | None = None,
) -> Case:
    """Return the case of a benchmark in two versions; its readings are the indicators among the features."""
    readings = {
        name.removeprefix("indicator."): value
        for name, value in features.items()
        if name.startswith("indicator.")
    }
    return Case(
        benchmark=benchmark,
        old=old.commit,
        new=new.commit,
        old_order=old.order,
        new_order=new.order,
        readings=readings,
        features=features,
        changed=changed,
        ratio=ratio,
    )


def describe_distance(known: Mapping[str, Version], old: Version, new: Version) -> dict[str, float]:
    """Return what lies between two versions as `commit.*`: commits, days, changed lines, words of speed.

    Counted along the closest ancestors from the new version to the old one; where these do not lead to it,
    only the days between their dates are known.
    """
    hops = lines = words = 0
    at: Version | None = new
    while at is not None and at.commit != old.commit:
        hops, lines, words = hops + at.hops, lines + at.lines, words + at.speed_words
        at = known.get(at.ancestor)
    days = abs(new.committed_unix_s - old.committed_unix_s) / 86400
    if at is None:
        return {"commit.days": days}
    return {
        "commit.days": days,
        "commit.hops": float(hops),
        "commit.lines": float(lines),
        "commit.speed_words": float(words),
    }
