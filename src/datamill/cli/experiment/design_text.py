"""A design in words: factors, levels, points, trials, time."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from textwrap import wrap

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from datamill.cli.experiment.replication_text import (
    list_extra_trials,
    phrase_nested_builds,
    phrase_replicates,
)
from datamill.conduct.question.read_files import ExperimentFile
from datamill.design.batches import grow_replication, phrase_batches, phrase_rule
from datamill.design.design import DesignFactor
from datamill.design.nesting import is_drawn_build
from datamill.design.nuisance import list_unsettled_factors, phrase_treatment
from datamill.design.order import phrase_order
from datamill.design.points.points import choose_points, count_points
from datamill.design.trials import build_design, name_build
from datamill.execution.trial_times import TrialTime
from datamill.experiment.experiment import StoppingRule
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.quantities import format_duration, format_size

#: Sentences on aliases that are shown.
_MOST_ALIASES = 12


def describe_design(
    file: ExperimentFile, factors: tuple[DesignFactor, ...], trials: int, time: TrialTime | None
) -> RenderableType:
    """Return what would run; `time` is the mean time of a trial, None when no trial was ever timed."""
    experiment, packages = file.experiment, file.packages
    crossed = [factor for factor in factors if factor.role == "factor"]
    points = count_points(experiment, factors)
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
    if experiment.design.kind == "full":
        sizes.append(
            f"{'design points':16} {format_count(points)}{f' = {product}' if len(crossed) > 1 else ''}\n"
        )
    else:
        sizes.append(_describe_points(file, factors, product))
    if experiment.until is None:
        sizes.append(f"{'replicates':16} {phrase_replicates(experiment)}\n")
        sizes.append(f"{'trials':16} {format_count(trials)}", style="bold")
        extra = "".join(f"{'':16} {text}\n" for text in list_extra_trials(experiment, trials))
        sizes.append(f", in {phrase_order(experiment)} from seed {experiment.seed}\n{extra}")
    else:
        sizes.append(f"{'replicates':16} {phrase_batches(experiment, points)}\n")
        sizes.append(f"{'trials':16} at most {format_count(trials)}", style="bold")
        extra = "".join(f"{'':16} {text}\n" for text in list_extra_trials(experiment, trials))
        sizes.append(
            f", in {phrase_order(experiment)} from seed {experiment.seed} within each batch\n{extra}"
        )
        sizes.append(f"{'goes on':16} {phrase_rule(experiment.until)}\n")
    # With until: the builds of the whole plan.
    grown = grow_replication(experiment, points)
    most = "" if experiment.until is None else "up to the bound: "
    builds = _describe_builds(replace(file, experiment=grown), factors, trials)
    sizes.append(f"{'builds':16} {most}{builds}\n")
    sizes.append(f"{'estimated time':16} {describe_time(time, trials, experiment.until)}\n")
    indent = f"\n{'':16} "
    responses = indent.join(
        f"{response.name} = {response.formula} [{response.unit}], {response.direction} is better"
        for response in experiment.responses
    )
    sizes.append(f"{'responses':16} {responses}\n")
    hidden = _describe_hidden(factors, nested=experiment.replication is not None)
    sizes.append(f"{'hidden factors':16} {indent.join(hidden)}\n")
    for kind, facts in (*(("package", item) for item in packages), *(("load", item) for item in file.loads)):
        sizes.append(
            f"{kind:16} {facts.name}: {facts.files} files, {format_size(facts.size_bytes)}"
            f"{'' if facts.has_setup else ', no setup.sh'}\n"
        )
    return Group(lines, table, sizes) if crossed else Group(lines, sizes)


def _describe_hidden(factors: tuple[DesignFactor, ...], *, nested: bool) -> list[str]:
    """What becomes of the factors that the question is not about, one line each."""
    hidden = [factor for factor in factors if factor.role == "nuisance"]
    lines = [f"{factor.name}: {phrase_treatment(factor, nested=nested)}" for factor in hidden]
    left = list_unsettled_factors(factors)
    if left:
        lines.append(f"left as they are: {', '.join(left)} (see [nuisance])")
    return lines or ["none besides the factors above"]


def _describe_points(file: ExperimentFile, factors: tuple[DesignFactor, ...], product: str) -> str:
    """How many points were chosen out of how many, how, and what cannot be told apart for it."""
    # Imported late: it brings the analysis along, which takes a while to load.
    from datamill.report.words.term_names import spell_terms_of_design

    chosen = choose_points(file.experiment, factors)
    combinations = math.prod(len(factor.levels) for factor in factors if factor.role == "factor")
    lines = [("design", f"{chosen.kind}: {chosen.construction}")]
    lines.append(
        ("design points", f"{format_count(len(chosen.points))} of {format_count(combinations)} = {product}")
    )
    aliases = [spell_terms_of_design(text) for text in chosen.aliases[:_MOST_ALIASES]]
    if len(chosen.aliases) > _MOST_ALIASES:
        aliases.append(f"… and {len(chosen.aliases) - _MOST_ALIASES} more; design.json of the bundle has all")
    lines += [
        (title if not number else "", text)
        for title, texts in (("generators", chosen.generators), ("aliases", aliases))
        for number, text in enumerate(texts)
    ]
    wrapped = [(title, wrap(text, 100) or [""]) for title, text in lines]
    return "".join(
        f"{title if not number else '':16} {part}\n"
        for title, parts in wrapped
        for number, part in enumerate(parts)
    )


def _describe_builds(file: ExperimentFile, factors: tuple[DesignFactor, ...], trials: int) -> str:
    with_setup = {facts.name for facts in file.packages if facts.has_setup}
    if not with_setup:
        return "none: no package has a setup.sh"
    if file.experiment.replication is not None and file.experiment.build == "shared":
        return phrase_nested_builds(file.experiment, factors, len(with_setup))
    built = trials * len(with_setup) // len(file.packages)
    if file.experiment.build == "fresh":
        return f"{format_count(built)}, a fresh one in each trial"
    build_factors = [factor for factor in factors if factor.build and factor.name != "package"]
    if any(is_drawn_build(factor) for factor in build_factors) or file.experiment.design.kind != "full":
        # Which levels come together is up to the trials' seeds, or to the points that were chosen.
        design = build_design(file.experiment, file.offers)
        names = (name_build(design, trial) for trial in design.trials if trial.package in with_setup)
        builds = Counter(names)
        least, most, count = min(builds.values()), max(builds.values()), len(builds)
    else:
        count = len(with_setup) * math.prod(len(factor.levels) for factor in build_factors)
        least = most = built // count
    if most == 1:
        return f"{format_count(count)}, one for each trial"
    shared = format_count(least) if least == most else f"{format_count(least)} to {format_count(most)}"
    return f"{format_count(count)}, each shared by {shared} trials (variation between builds is not measured)"


def describe_time(time: TrialTime | None, trials: int, rule: StoppingRule | None) -> str:
    """Return how long so many trials take, at most as long as the rule allows."""
    most = "at most " if rule is not None else ""
    if time is None:
        return (
            "unknown: no trial of these packages was timed here yet; datamill check --pilot runs one of each"
        )
    each = format_duration(time.seconds)
    total_s = time.seconds * trials
    other = "" if time.alike else " with another number of measurements"
    if rule is not None and rule.max_time_s:
        total_s = min(total_s, rule.max_time_s)
    return f"{most}{format_duration(total_s)} ({each} a trial, from earlier trials here{other})"
