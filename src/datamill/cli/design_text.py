"""A design in words: factors, levels, points, trials, time."""

from __future__ import annotations

import math
from collections import Counter

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from datamill.cli.experiment_files import ExperimentFile
from datamill.design.nuisance import list_unsettled_factors, phrase_treatment
from datamill.design.records import DesignFactor
from datamill.design.trials import build_design, name_build
from datamill.experiment.factors import FACTORS
from datamill.experiment.quantities import format_duration, format_size


def describe_design(
    file: ExperimentFile, factors: tuple[DesignFactor, ...], trials: int, trial_s: float | None
) -> RenderableType:
    """Return what would run; `trial_s` is the mean time of a trial, None when no trial was ever timed."""
    experiment, packages = file.experiment, file.packages
    crossed = [factor for factor in factors if factor.role == "factor"]
    points = trials // experiment.replicates
    summaries = {factor.name: factor.summary for factor in file.user_factors}
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("factor")
    table.add_column("levels", justify="right")
    table.add_column("which", overflow="fold")
    table.add_column("what it is", style="dim", overflow="fold")
    for factor in crossed:
        known = FACTORS[factor.name].summary if factor.name in FACTORS else "what is measured"
        share = "" if len(factor.levels) == factor.available else f" of {factor.available}"
        table.add_row(
            factor.name,
            f"{len(factor.levels)}{share}",
            Text("  ".join(factor.levels)),
            Text(summaries.get(factor.name, known)),
        )

    product = " x ".join(str(len(factor.levels)) for factor in crossed)
    lines = Text()
    if experiment.question:
        lines.append(f"{experiment.question}\n", style="bold")
    sizes = Text()
    sizes.append(f"{'design points':16} {points:,}{f' = {product}' if len(crossed) > 1 else ''}\n")
    sizes.append(f"{'replicates':16} {experiment.replicates}\n")
    sizes.append(f"{'trials':16} {trials:,}", style="bold")
    sizes.append(f", in random order from seed {experiment.seed}\n")
    sizes.append(f"{'builds':16} {_describe_builds(file, factors, trials)}\n")
    sizes.append(f"{'estimated time':16} {_describe_time(trial_s, trials)}\n")
    indent = f"\n{'':16} "
    responses = indent.join(
        f"{response.name} = {response.formula} [{response.unit}], {response.direction} is better"
        for response in experiment.responses
    )
    sizes.append(f"{'responses':16} {responses}\n")
    sizes.append(f"{'hidden factors':16} {indent.join(_describe_hidden(factors))}\n")
    for kind, facts in (*(("package", item) for item in packages), *(("load", item) for item in file.loads)):
        sizes.append(
            f"{kind:16} {facts.name}: {facts.files} files, {format_size(facts.size_bytes)}"
            f"{'' if facts.has_setup else ', no setup.sh'}\n"
        )
    return Group(lines, table, sizes) if crossed else Group(lines, sizes)


def _describe_hidden(factors: tuple[DesignFactor, ...]) -> list[str]:
    """What becomes of the factors that the question is not about, one line each."""
    lines = [f"{factor.name}: {phrase_treatment(factor)}" for factor in factors if factor.role == "nuisance"]
    left = list_unsettled_factors(factors)
    if left:
        lines.append(f"left as they are: {', '.join(left)} (see [nuisance])")
    return lines or ["none besides the factors above"]


def _describe_builds(file: ExperimentFile, factors: tuple[DesignFactor, ...], trials: int) -> str:
    with_setup = {facts.name for facts in file.packages if facts.has_setup}
    if not with_setup:
        return "none: no package has a setup.sh"
    built = trials * len(with_setup) // len(file.packages)
    if file.experiment.build == "fresh":
        return f"{built:,}, a fresh one in each trial"
    build_factors = [factor for factor in factors if factor.build and factor.name != "package"]
    if any(_is_drawn(factor) for factor in build_factors):
        # Which levels come together is up to the trials' seeds.
        design = build_design(file.experiment, file.offers)
        names = (name_build(design, trial) for trial in design.trials if trial.package in with_setup)
        builds = Counter(names)
        least, most, count = min(builds.values()), max(builds.values()), len(builds)
    else:
        count = len(with_setup) * math.prod(len(factor.levels) for factor in build_factors)
        least = most = built // count
    if most == 1:
        return f"{count:,}, one for each trial"
    shared = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{count:,}, each shared by {shared} trials (variation between builds is not measured)"


def _is_drawn(factor: DesignFactor) -> bool:
    return bool(factor.drawn_from) or any(level in FACTORS[factor.name].drawn for level in factor.levels)


def _describe_time(trial_s: float | None, trials: int) -> str:
    if trial_s is None:
        return (
            "unknown: no trial of these packages was timed here yet; datamill check --pilot runs one of each"
        )
    return (
        f"{format_duration(trial_s * trials)} ({format_duration(trial_s)} a trial, from earlier trials here)"
    )
