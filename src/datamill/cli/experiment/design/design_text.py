"""A design in words: factors, levels, points, trials, time."""

from __future__ import annotations

from textwrap import wrap

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from datamill.cli.experiment.design.replication_text import (
    list_extra_trials,
    phrase_builds,
    phrase_replicates,
)
from datamill.conduct.check_experiment import CheckedExperiment
from datamill.conduct.question.design_size import SizedDesign
from datamill.conduct.question.needed_time import NeededTime
from datamill.design.batches import phrase_batches, phrase_rule
from datamill.design.design import DesignFactor
from datamill.design.nuisance import list_unsettled_factors, phrase_treatment
from datamill.design.order import phrase_order
from datamill.design.points.points import ChosenPoints
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.messages.numbers import format_count
from datamill.experiment.quantities import format_duration, format_size

#: Sentences on aliases that are shown.
_MOST_ALIASES = 12


def describe_design(checked: CheckedExperiment) -> RenderableType:
    """Return what would run."""
    file, size = checked.file, checked.size
    experiment, trials = file.experiment, size.trials
    crossed = size.crossed
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
    if size.chosen is None:
        sizes.append(
            f"{'design points':16} {format_count(size.points)}{f' = {product}' if len(crossed) > 1 else ''}\n"
        )
    else:
        sizes.append(_describe_points(size, size.chosen, product))
    if experiment.until is None:
        sizes.append(f"{'replicates':16} {phrase_replicates(experiment)}\n")
        sizes.append(f"{'trials':16} {format_count(trials)}", style="bold")
        extra = "".join(f"{'':16} {text}\n" for text in list_extra_trials(experiment, size))
        sizes.append(f", in {phrase_order(experiment)} from seed {experiment.seed}\n{extra}")
    else:
        sizes.append(f"{'replicates':16} {phrase_batches(experiment, size.points)}\n")
        sizes.append(f"{'trials':16} at most {format_count(trials)}", style="bold")
        extra = "".join(f"{'':16} {text}\n" for text in list_extra_trials(experiment, size))
        sizes.append(
            f", in {phrase_order(experiment)} from seed {experiment.seed} within each batch\n{extra}"
        )
        sizes.append(f"{'goes on':16} {phrase_rule(experiment.until)}\n")
    # With until: the builds of the whole plan.
    most = "" if experiment.until is None else "up to the bound: "
    sizes.append(f"{'builds':16} {most}{phrase_builds(checked.builds)}\n")
    bounded = experiment.until is not None
    sizes.append(f"{'estimated time':16} {describe_time(checked.time, bounded=bounded)}\n")
    indent = f"\n{'':16} "
    responses = indent.join(
        f"{response.name} = {response.formula} [{response.unit}], {response.direction} is better"
        for response in experiment.responses
    )
    sizes.append(f"{'responses':16} {responses}\n")
    hidden = _describe_hidden(size.factors, nested=experiment.replication is not None)
    sizes.append(f"{'hidden factors':16} {indent.join(hidden)}\n")
    for kind, facts in (
        *(("package", item) for item in file.packages),
        *(("load", item) for item in file.loads),
    ):
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


def _describe_points(size: SizedDesign, chosen: ChosenPoints, product: str) -> str:
    """How many points were chosen out of how many, how, and what cannot be told apart for it."""
    # Imported late: it brings the analysis along, which takes a while to load.
    from datamill.report.words.term_names import spell_terms_of_design

    lines = [("design", f"{chosen.kind}: {chosen.construction}")]
    lines.append(
        ("design points", f"{format_count(size.points)} of {format_count(size.combinations)} = {product}")
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


def describe_time(time: NeededTime | None, *, bounded: bool) -> str:
    """Return how long the trials take; `bounded` where it is the most that a rule allows."""
    if time is None:
        return (
            "unknown: no trial of these packages was timed here yet; datamill check --pilot runs one of each"
        )
    most = "at most " if bounded else ""
    each = format_duration(time.trial.seconds)
    other = "" if time.trial.alike else " with another number of measurements"
    return f"{most}{format_duration(time.total_s)} ({each} a trial, from earlier trials here{other})"
