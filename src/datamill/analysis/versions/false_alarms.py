"""How often a version would seem to differ from itself: the simulation of EPEW 2006, Figure 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from datamill import _native
from datamill.analysis.model_data.cells import FloatArray
from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument

#: Builds per version in the paper's figure.
USUAL_SIZES = (1, 10, 15, 20, 25, 30)
#: What is looked at where there are too few builds for these.
_SMALL_SIZES = (2, 3, 5, 7)
#: Builds below which groups drawn from them have hardly any that are new.
_FEW = 20
#: Distinct pairs of groups below which the answer says how few there are.
FEW_PAIRS = 100


@dataclass(frozen=True, slots=True)
class AlarmRate:
    """The share of comparisons that see a difference, with the simulation's 95% interval (Wilson 1927).

    Where there are fewer distinct pairs of groups than comparisons, the interval is that of so many: drawing
    the same pairs again tells nothing more.
    """

    count: int
    comparisons: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """False alarms with so many builds of each version.

    `disjoint`: the two groups share no build; otherwise both were drawn with replacement. `overlap` is the
    paper's rule, that intervals by equation 17 do not overlap (with one build: by the two-level model), and
    `welch` Welch's test of build means. Those with `_executions` take executions as independent, whatever
    build they are of. None where a rule is undefined. `pairs`: distinct pairs of groups that can be drawn.
    """

    builds: int
    disjoint: bool
    pairs: int
    overlap: AlarmRate | None
    welch: AlarmRate | None
    overlap_executions: AlarmRate | None
    welch_executions: AlarmRate | None


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """False alarms by the number of builds of each version, all of one version's own builds.

    `nominal_overlap` is how often the paper's rule would err if all its intervals were exact and equally
    wide.
    """

    version: str
    response: str
    unit: str
    builds: int
    executions: int
    n: int
    rows: tuple[AlarmRow, ...]
    comparisons: int
    confidence: float
    alpha: float
    nominal_overlap: float
    seed: int
    method: str
    warnings: tuple[str, ...]


def simulate_false_alarms(
    nested: NestedValues,
    sizes: Sequence[int] = (),
    *,
    confidence: float = 0.95,
    comparisons: int = 10_000,
    seed: int = 1,
) -> FalseAlarms:
    """Compare random groups of one version's builds with each other, and count how often they seem to differ.

    Without `sizes` those of the paper, as far as there are as many builds, and smaller ones where most are
    not possible. Of the section 4 of EPEW 2006; p-values count below 1 − `confidence`.

    Raises:
        InputError: there are fewer than two builds, or a size is beyond their number.
    """
    count = nested.build_count
    if count < 2:
        raise InputError(
            f"{nested.version} has one build: how often versions of several builds seem to differ without a "
            "change cannot be known from it",
            remedy="Measure several builds; 20 allow to compare groups of 10.",
        )
    wanted = tuple(sorted(set(sizes))) or choose_sizes(count)
    if wanted[-1] > count:
        raise InputError(
            f"groups of {wanted[-1]} builds cannot be drawn from {count}",
            where=argument("group_sizes"),
            remedy=f"Ask for 1 to {count}; up to {count // 2} the two groups share none.",
        )
    critical = float(ndtri((1 + confidence) / 2))
    found = _native.simulate_comparisons(
        nested.values, nested.executions, nested.builds, list(wanted), comparisons, critical, seed
    )
    alpha = 1 - confidence
    repeated = nested.execution_count > count
    rows = []
    for index, size in enumerate(wanted):
        overlap = found.single_build if size == 1 else int(found.paper[index])
        disjoint = bool(found.disjoint[index])
        pairs = count_pairs(count, size, disjoint=disjoint)
        rows.append(
            AlarmRow(
                builds=size,
                disjoint=disjoint,
                pairs=pairs,
                overlap=_rate(overlap, comparisons, pairs),
                welch=_rate_p(found.welch_t[index], found.welch_df[index], alpha, pairs),
                overlap_executions=_rate(int(found.executions[index]), comparisons, pairs)
                if repeated
                else None,
                welch_executions=_rate_p(found.execution_t[index], found.execution_df[index], alpha, pairs)
                if repeated
                else None,
            )
        )
    return FalseAlarms(
        version=nested.version,
        response=nested.response,
        unit=nested.unit,
        builds=count,
        executions=nested.execution_count,
        n=len(nested.values),
        rows=tuple(rows),
        comparisons=comparisons,
        confidence=confidence,
        alpha=alpha,
        # Two exact and equally wide normal intervals part when means differ by √2 times their critical value.
        nominal_overlap=float(2 * ndtr(-critical * math.sqrt(2))),
        seed=seed,
        method="random groups of builds compared with each other (EPEW 2006, section 4)",
        warnings=_list_warnings(nested, rows),
    )


def choose_sizes(builds: int) -> tuple[int, ...]:
    """Sizes of groups to look at: those of the paper, and smaller ones where there are few builds."""
    sizes = {size for size in USUAL_SIZES if size <= builds}
    if builds // 2 < _FEW // 2:
        sizes |= {size for size in _SMALL_SIZES if size <= builds // 2}
        sizes |= {max(1, builds // 2)}
    return tuple(sorted(sizes))


def count_pairs(builds: int, size: int, *, disjoint: bool) -> int:
    """Distinct pairs of groups of `size` builds: without a build in both, or each drawn with replacement."""
    if disjoint:
        return math.comb(builds, size) * math.comb(builds - size, size) // 2
    groups = math.comb(builds + size - 1, size)
    return groups * (groups + 1) // 2


def _rate_p(statistics: FloatArray, df: FloatArray, alpha: float, pairs: int) -> AlarmRate | None:
    if np.isnan(statistics).any():
        return None
    p = 2 * stdtr(df, -np.abs(statistics))
    return _rate(int((p < alpha).sum()), len(statistics), pairs)


def _rate(count: int, comparisons: int, pairs: int) -> AlarmRate | None:
    """A share with Wilson's interval; None for the kernel's mark of what is undefined."""
    if count < 0:
        return None
    z = float(ndtri(0.975))
    share = count / comparisons
    n = min(comparisons, pairs)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    spread = math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    reach = z * spread / (1 + z * z / n)
    return AlarmRate(count, comparisons, share, max(0.0, middle - reach), min(1.0, middle + reach))


def _list_warnings(nested: NestedValues, rows: Sequence[AlarmRow]) -> tuple[str, ...]:
    warnings = []
    count = nested.build_count
    shared = [row.builds for row in rows if not row.disjoint]
    if shared:
        sizes = ", ".join(str(size) for size in shared)
        warnings.append(
            f"two groups of {sizes} builds have no {2 * shared[0]} different ones to be drawn from among "
            f"{count}: both are drawn with replacement from the same builds. One build then stands several "
            "times in a group and in both, so that these rows tell how the rules fare if these builds were "
            "all there are, not how they fare on new ones, and with few builds they distort"
        )
    few = [row for row in rows if row.pairs < FEW_PAIRS]
    if few:
        spelled = ", ".join(f"{row.pairs} of groups of {row.builds}" for row in few)
        warnings.append(
            f"{count} builds make few distinct pairs of groups ({spelled}), which the comparisons repeat: "
            "their intervals are those of as many comparisons as there are pairs"
        )
    if count < _FEW:
        warnings.append(
            f"{count} builds show few of the differences that builds can have; the rates hold for these, and "
            "their intervals count the simulation's chance only"
        )
    if nested.execution_count == count:
        warnings.append(
            "each build has one execution: the rules that take executions alone have nothing to add"
        )
    if not np.ptp(nested.values) > 0:
        warnings.append("all values are equal, so that no rule can see a difference")
    return tuple(warnings)
