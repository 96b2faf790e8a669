"""What a dimension of hardware does to a response, and to the effects of other factors on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamill.analysis.contrasts.multiplicity import adjust_holm
from datamill.analysis.hardware.nested_effects import NestedEffect, compare_levels
from datamill.analysis.model_data.cells import Cells, FloatArray, IntArray
from datamill.analysis.model_data.observations import Observations
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument, tell
from datamill.results.tables.table import CONTEXT_PREFIX

#: On what machines are compared: ratios of a response, or differences.
Scale = Literal["log", "linear"]
#: Logarithms beyond which a value is no double.
_LARGEST_LOGARITHM = 700.0


@dataclass(frozen=True, slots=True)
class MachineValue:
    """A machine with its level of the dimension, and its mean over the combinations of the other factors.

    On the scale "log" it is the geometric mean of these combinations' geometric means, in the response's
    unit.
    """

    machine: str
    level: str
    n: int
    value: float


@dataclass(frozen=True, slots=True)
class OtherFactorEffect:
    """A level of another factor against its first one, one value a machine.

    `effect.average` is what it does on the average of the dimension's levels, and `effect.p` whether that
    depends on the level. The adjusted p-values are over all effects of the analysis (Holm).
    """

    factor: str
    level: str
    base: str
    effect: NestedEffect
    average_p: float | None
    interaction_p: float | None


@dataclass(frozen=True, slots=True, eq=False)
class DimensionAnalysis:
    """A dimension of hardware with the machines nested in it.

    `main` compares the machines' means, on the logarithmic scale where `scale` says so; `main_p` is adjusted
    over all effects (Holm). `told_apart` is False where each level has one machine, so that nothing can be
    said of the dimension: then there is neither interval nor p. `combinations` counts those of the other
    factors that every machine has, of `possible` ones.
    """

    response: str
    unit: str
    dimension: str
    machine: str
    scale: Scale
    machines: tuple[MachineValue, ...]
    main: NestedEffect
    main_p: float | None
    factors: tuple[OtherFactorEffect, ...]
    told_apart: bool
    combinations: int
    possible: int
    n: int
    confidence: float
    alpha: float
    warnings: tuple[str, ...]

    @property
    def detected(self) -> bool:
        """Whether levels of the dimension were told apart."""
        return self.main_p is not None and self.main_p < self.alpha

    def sees_dependence(self, item: OtherFactorEffect) -> bool:
        """Whether what a factor does was found to depend on the dimension."""
        return item.interaction_p is not None and item.interaction_p < self.alpha

    def read_level(self, value: float) -> float:
        """A level as it was measured: back from its logarithm where these are compared."""
        # What a short sample of machines leaves open may be larger than a double holds.
        return math.exp(min(value, _LARGEST_LOGARITHM)) if self.scale == "log" else value

    def read_change(self, value: float) -> float:
        """A difference between levels: of logarithms the change in percent, else in the response's unit."""
        return 100 * (self.read_level(value) - 1) if self.scale == "log" else value


def analyze_dimension(
    observations: Observations,
    machine: str,
    dimension: str,
    *,
    scale: Scale | None,
    confidence: float,
    alpha: float,
) -> DimensionAnalysis:
    """Compare machines between the levels of a dimension, and what other factors do on them.

    Args:
        observations: with the columns of the machine and of the dimension among their factors.
        machine: the factor whose levels are the machines.
        dimension: the factor that machines are nested in.
        scale: on what to compare; None: ratios where all values are above zero, since a machine that is twice
            as fast is so in everything.
        confidence: level of intervals.
        alpha: level of p-values.

    Raises:
        InputError: the dimension has one level or changes within a machine, a value has no logarithm, or no
            combination of the other factors was measured on every machine.
    """
    cells = observations.cells
    names = [factor.name for factor in cells.factors]
    values = cells.values + cells.origin
    if scale == "log" and np.any(values <= 0):
        raise InputError(
            f"{observations.response} has values at or below zero, which have no ratios",
            remedy=f"Give {argument('scale', 'linear')}.",
        )
    chosen: Scale = scale or ("log" if np.all(values > 0) else "linear")
    of_machine, of_level = names.index(machine), names.index(dimension)
    dimension = dimension.removeprefix(CONTEXT_PREFIX)
    levels = _find_levels(cells, of_machine, of_level, machine, dimension)
    others = [index for index in range(len(names)) if index not in (of_machine, of_level)]
    table, counts, combos = _average_by_machine(
        np.log(values) if chosen == "log" else values, cells, of_machine, others
    )
    complete = np.all(counts > 0, axis=0)
    if not complete.any():
        raise InputError(
            "no combination of the other factors was measured on every machine",
            remedy=f"Name fewer {argument('factors')}, or leave out machines with {argument('where')}.",
        )
    table, combos = table[:, complete], combos[complete]
    level_names = cells.factors[of_level].levels
    main = compare_levels(table.mean(axis=1), levels, level_names, confidence)
    effects = [
        (index, code, compare_levels(contrast, levels, level_names, confidence))
        for place, index in enumerate(others)
        for code, contrast in _list_contrasts(table, combos, place, len(cells.factors[index].levels))
    ]
    adjusted = adjust_holm(
        [main.p, *(item.average_p for *_, item in effects), *(item.p for *_, item in effects)]
    )
    counted = len(effects)
    factors = tuple(
        OtherFactorEffect(
            names[index],
            cells.factors[index].levels[code],
            cells.factors[index].levels[0],
            effect,
            adjusted[1 + number],
            adjusted[1 + counted + number],
        )
        for number, (index, code, effect) in enumerate(effects)
    )
    shown = np.exp(table.mean(axis=1)) if chosen == "log" else table.mean(axis=1)
    machines = tuple(
        MachineValue(name, level_names[levels[code]], int(counts[code].sum()), float(shown[code]))
        for code, name in enumerate(cells.factors[of_machine].levels)
    )
    told_apart = main.df > 0
    return DimensionAnalysis(
        response=observations.response,
        unit=observations.unit,
        dimension=dimension,
        machine=machine,
        scale=chosen,
        machines=machines,
        main=main,
        main_p=adjusted[0],
        factors=factors,
        told_apart=told_apart,
        combinations=int(complete.sum()),
        possible=int(complete.size),
        n=cells.n,
        confidence=confidence,
        alpha=alpha,
        warnings=_collect_warnings(main, dimension, complete),
    )


def _find_levels(cells: Cells, of_machine: int, of_level: int, machine: str, dimension: str) -> IntArray:
    """The dimension's level of each machine.

    Raises:
        InputError: there is one level only, or a machine has several.
    """
    if len(cells.factors[of_level].levels) < 2:
        raise InputError(
            f"all machines have the same {dimension}, {cells.factors[of_level].levels[0]}",
            remedy="Choose a dimension in which they differ.",
        )
    pairs = np.unique(cells.codes[:, [of_machine, of_level]], axis=0)
    names, counts = np.unique(pairs[:, 0], return_counts=True)
    if np.any(counts > 1):
        several = cells.factors[of_machine].levels[int(names[np.argmax(counts)])]
        seen = [
            cells.factors[of_level].levels[int(code)]
            for name, code in pairs
            if name == names[np.argmax(counts)]
        ]
        raise InputError(
            f"{dimension} changes on {machine} {several} ({', '.join(seen)}), so that machines are not "
            "nested in it",
            remedy=f"Choose the trials with one of them by {argument('where')}.",
        )
    return np.asarray(pairs[:, 1], dtype=np.int64)


def _average_by_machine(
    values: FloatArray, cells: Cells, of_machine: int, others: list[int]
) -> tuple[FloatArray, IntArray, IntArray]:
    """Mean and number of observations by machine and combination of other factors; the combinations."""
    codes = cells.codes[cells.of_row]
    machines = len(cells.factors[of_machine].levels)
    combos, place = np.unique(codes[:, others], axis=0, return_inverse=True)
    if not others:
        combos, place = np.zeros((1, 0), dtype=np.int64), np.zeros(codes.shape[0], dtype=np.int64)
    flat = codes[:, of_machine].astype(np.int64) * combos.shape[0] + place.reshape(-1)
    size = machines * combos.shape[0]
    counts = np.bincount(flat, minlength=size)
    sums = np.bincount(flat, weights=values, minlength=size)
    means = np.divide(sums, counts, out=np.zeros(size), where=counts > 0)
    shape = (machines, combos.shape[0])
    return means.reshape(shape), counts.reshape(shape), combos


def _list_contrasts(
    table: FloatArray, combos: IntArray, place: int, levels: int
) -> list[tuple[int, FloatArray]]:
    """Of each level but the first of a factor: its mean less that of the first, by machine.

    Only combinations of the other factors count that have both levels.
    """
    rest = np.delete(combos, place, axis=1)
    _, group = np.unique(rest, axis=0, return_inverse=True)
    group = group.reshape(-1) if rest.shape[1] else np.zeros(combos.shape[0], dtype=np.int64)
    found = []
    for code in range(1, levels):
        at = {int(group[i]): i for i in np.flatnonzero(combos[:, place] == code)}
        base = {int(group[i]): i for i in np.flatnonzero(combos[:, place] == 0)}
        both = sorted(at.keys() & base.keys())
        if both:
            gaps = table[:, [at[key] for key in both]] - table[:, [base[key] for key in both]]
            found.append((code, gaps.mean(axis=1)))
    return found


def _collect_warnings(main: NestedEffect, dimension: str, complete: np.ndarray) -> tuple[str, ...]:
    warnings = []
    alone = [item.level for item in main.levels if item.machines == 1]
    if main.df == 0:
        warnings.append(
            f"each {dimension} has one machine, so that the effect of the one cannot be told apart from that "
            "of the other: there is neither interval nor test. Measure on two machines or more of some level"
        )
    elif alone:
        warnings.append(
            f"{', '.join(alone)} {'has' if len(alone) == 1 else 'have'} one machine: that machines of it "
            "vary as "
            "those of the other levels do is assumed, not seen"
        )
    if main.df > 0 and main.deviation is None:
        warnings.append(
            "machines of the same level do not differ at all, so that there is no error to judge levels by"
        )
    elif 0 < main.df < 3:
        warnings.append(
            f"the spread of machines is known from {main.df} degree{'s' if main.df > 1 else ''} of freedom "
            "only: "
            "intervals are wide, and a few more machines would narrow them most"
        )
    if not np.all(complete):
        warnings.append(
            f"{int(np.sum(~complete))} of {complete.size} combinations of the other factors are not "
            "measured on "
            "every machine, and do not count"
        )
    return tuple(tell(text) for text in warnings)
