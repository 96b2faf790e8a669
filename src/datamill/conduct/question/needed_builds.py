"""How many builds an experiment needs, and what tells them apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from datamill.conduct.question.design_size import SizedDesign
from datamill.conduct.question.read_files import FoundExperiment
from datamill.design.batches import grow_replication
from datamill.design.design import DesignFactor
from datamill.design.nesting import is_drawn_build
from datamill.design.trials import build_design, name_build
from datamill.experiment.experiment import Experiment


@dataclass(frozen=True, slots=True)
class NeededBuilds:
    """The builds that trials need: a fresh one for each, shared ones, or those of nested replication.

    `fewest` to `most` trials share one. Nested replication makes `each` of them for each combination of
    levels of `factors`, with the levels of `drawn` left to chance.
    """

    kind: Literal["fresh", "shared", "nested"]
    count: int
    fewest: int = 1
    most: int = 1
    each: int = 1
    factors: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()


def count_builds(file: FoundExperiment, size: SizedDesign) -> NeededBuilds | None:
    """Return the builds of the whole design, however soon it may stop; None where nothing is built."""
    with_setup = {facts.name for facts in file.packages if facts.has_setup}
    if not with_setup:
        return None
    experiment = grow_replication(file.experiment, size.points)
    if experiment.replication is not None and experiment.build == "shared":
        return count_nested_builds(experiment, size.factors, len(with_setup))
    built = size.trials * len(with_setup) // len(file.packages)
    if experiment.build == "fresh":
        return NeededBuilds("fresh", built)
    build_factors = [factor for factor in size.factors if factor.build and factor.name != "package"]
    if any(is_drawn_build(factor) for factor in build_factors) or experiment.design.kind != "full":
        # Which levels come together is up to the trials' seeds, or to the points that were chosen.
        design = build_design(experiment, file.offers)
        shares = Counter(name_build(design, trial) for trial in design.trials if trial.package in with_setup)
        return NeededBuilds("shared", len(shares), min(shares.values()), max(shares.values()))
    count = len(with_setup) * math.prod(len(factor.levels) for factor in build_factors)
    return NeededBuilds("shared", count, built // count, built // count)


def count_nested_builds(
    experiment: Experiment, factors: Sequence[DesignFactor], packages: int
) -> NeededBuilds:
    """Return the builds of nested replication.

    Args:
        experiment: with `[replication]`.
        factors: of the design.
        packages: how many of the packages have a `setup.sh`.
    """
    nested = experiment.replication
    assert nested is not None
    crossed = [
        factor for factor in factors if factor.build and factor.role == "factor" and factor.name != "package"
    ]
    return NeededBuilds(
        kind="nested",
        count=packages * nested.builds * math.prod(len(factor.levels) for factor in crossed),
        fewest=nested.executions,
        most=nested.executions,
        each=nested.builds,
        factors=("package", *(factor.name for factor in crossed)),
        drawn=tuple(factor.name for factor in factors if is_drawn_build(factor)),
    )
