"""Where the uncertainty of each version's mean comes from: builds, executions or measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from datamill.analysis.random_effects.nested_data.nesting import NestingColumns, gather_nested
from datamill.analysis.versions.variances import VersionVariances, analyze_version
from datamill.design.design import Design
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Response

#: Versions (packages, or design points of several factors) that are looked at.
MOST_VERSIONS = 30


@dataclass(frozen=True, slots=True, eq=False)
class LevelsOfRepetition:
    """The variances of versions of which something is known; `count` is the number of all versions."""

    versions: tuple[VersionVariances, ...]
    count: int


def share_out_uncertainty(
    experiment: Experiment, design: Design, table: pl.DataFrame, response: Response
) -> LevelsOfRepetition | None:
    """Estimate the variance of each level of repetition; None where nothing is nested or known."""
    nested = experiment.replication
    if nested is None or (nested.builds == 1 and nested.executions == 1):
        return None
    levels: Mapping[str, Sequence[str]] = {factor.name: factor.levels for factor in design.crossed}
    try:
        found = gather_nested(table, NestingColumns(response=response.name), levels=levels)
        versions = [analyze_version(item, experiment.confidence) for item in found.versions[:MOST_VERSIONS]]
    except InputError:
        # A version has a single measurement so far: there is nothing to share out yet.
        return None
    known = tuple(item for item in versions if item.estimate.uncertainty)
    return LevelsOfRepetition(known, len(found.versions)) if known else None
