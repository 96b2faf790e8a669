"""A design in words: factors, levels, points, trials, time."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from datamill.design.records import DesignFactor
from datamill.execution.packages import PackageFacts
from datamill.experiment.factors import FACTORS
from datamill.experiment.quantities import format_duration, format_size
from datamill.experiment.records import Experiment


def describe_design(
    experiment: Experiment,
    factors: tuple[DesignFactor, ...],
    packages: tuple[PackageFacts, ...],
    trials: int,
    trial_s: float | None,
) -> RenderableType:
    """Return what would run; `trial_s` is the mean time of a trial, None when no trial was ever timed."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("factor")
    table.add_column("levels", justify="right")
    table.add_column("which", overflow="fold")
    table.add_column("what it is", style="dim", overflow="fold")
    for factor in factors:
        summary = FACTORS[factor.name].summary if factor.name in FACTORS else "what is measured"
        share = "" if len(factor.levels) == factor.available else f" of {factor.available}"
        table.add_row(factor.name, f"{len(factor.levels)}{share}", "  ".join(factor.levels), summary)

    points = 1
    for factor in factors:
        points *= len(factor.levels)
    product = " x ".join(str(len(factor.levels)) for factor in factors)
    lines = Text()
    if experiment.question:
        lines.append(f"{experiment.question}\n", style="bold")
    sizes = Text()
    sizes.append(f"{'design points':16} {points:,}{f' = {product}' if len(factors) > 1 else ''}\n")
    sizes.append(f"{'replicates':16} {experiment.replicates}\n")
    sizes.append(f"{'trials':16} {trials:,}", style="bold")
    sizes.append(f", in random order from seed {experiment.seed}\n")
    sizes.append(f"{'builds':16} {_describe_builds(experiment, factors, packages, points, trials)}\n")
    sizes.append(f"{'estimated time':16} {_describe_time(trial_s, trials)}\n")
    responses = f"\n{'':16} ".join(
        f"{response.name} = {response.formula} [{response.unit}], {response.direction} is better"
        for response in experiment.responses
    )
    sizes.append(f"{'responses':16} {responses}\n")
    for facts in packages:
        sizes.append(
            f"{'package':16} {facts.name}: {facts.files} files, {format_size(facts.size_bytes)}"
            f"{'' if facts.has_setup else ', no setup.sh'}\n"
        )
    return Group(lines, table, sizes)


def _describe_builds(
    experiment: Experiment,
    factors: tuple[DesignFactor, ...],
    packages: tuple[PackageFacts, ...],
    points: int,
    trials: int,
) -> str:
    if not any(facts.has_setup for facts in packages):
        return "none: no package has a setup.sh"
    if experiment.build == "fresh":
        return f"{trials:,}, a fresh one in each trial"
    variants = points
    for factor in factors:
        if not factor.build:
            variants //= len(factor.levels)
    shared = trials // variants
    return f"{variants:,}, each shared by {shared:,} trials (variation between builds is not measured)"


def _describe_time(trial_s: float | None, trials: int) -> str:
    if trial_s is None:
        return (
            "unknown: no trial of these packages was timed here yet; datamill check --pilot runs one of each"
        )
    return (
        f"{format_duration(trial_s * trials)} ({format_duration(trial_s)} a trial, from earlier trials here)"
    )
