"""`datamill run --after-screening`: from a screening to the full factorial experiment over its survivors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from datamill.conduct.question.read_files import FoundExperiment, read_experiment_file
from datamill.execution.here import list_pending_trials
from datamill.experiment.errors import InputError
from datamill.experiment.factors.catalogue import BACKGROUND_LOAD, NO_LOAD
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.source import Source
from datamill.experiment.file.toml_text import format_toml
from datamill.experiment.messages.arguments import command
from datamill.late import pl
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle

#: Keys of `[experiment]` that say which points a design has.
_DESIGN_KEYS = ("design", "resolution", "max_points", "strength")
_SUFFIX = "-after-screening"
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class ScreenedFactor:
    """What becomes of a factor that was screened, and why: it varies, or is held at its first level.

    The first level is the low one, unless that alone has no valid trial.
    """

    factor: str
    levels: tuple[str, str]
    survives: bool
    reason: str

    def phrase(self) -> str:
        """The decision in a line."""
        done = f"varied over {', '.join(self.levels)}" if self.survives else f"fixed at {self.levels[0]}"
        return f"{self.factor}: {done} ({self.reason})"


def read_follow_up(folder: Path, file: Path | None) -> tuple[FoundExperiment, tuple[str, ...]]:
    """Return the experiment that follows a screening, and what was decided, line by line.

    Its packages and question are the screening's, or those of `file`. What survived is crossed, each at its
    two levels; the other factors that were screened are fixed at the low one, or at the one that
    worked. What `file` names itself stays as it says.

    Raises:
        InputError: when the folder is no screening, or one that has not ended or says nothing yet.
    """
    bundle = open_bundle(folder)
    decided = decide_factors(bundle)
    decisions, warnings = decided.factors, decided.warnings
    found = read_experiment_file(bundle.folder if file is None else file)
    tables = Source(str(found.path), found.text).parse()
    lines = [f"After the screening in {folder}:"]
    named = {*tables.get("factors", {}), *tables.get("nuisance", {})}
    sweeps = {name: given for name, given in tables.get("factors", {}).items() if isinstance(given, dict)}
    if file is None:
        _forget_screening(tables, decisions)
    else:
        kept = [item for item in decisions if item.factor in named]
        lines += [f"  {item.factor}: as {found.path} says ({item.reason})" for item in kept]
        decisions = tuple(item for item in decisions if item.factor not in named)
    for key in _DESIGN_KEYS:
        if tables["experiment"].get("design") == "screening" or file is None:
            tables["experiment"].pop(key, None)
    loads = apply_decisions(tables, decisions, sweeps)
    lines += [f"  {item.phrase()}" for item in decisions]
    if not any(item.survives for item in decisions):
        lines.append("  Nothing that was screened is varied: no factor was detected.")
    lines += [f"  Warning: {warning}." for warning in warnings]
    comments = "".join(f"# {line}\n" for line in lines)
    text = f"{comments}\n{format_toml(tables)}"
    experiment = parse_experiment(text, name=f"{found.path}, after the screening")
    return (
        replace(found, text=text, experiment=experiment, loads=found.loads if loads else ()),
        tuple(lines),
    )


@dataclass(frozen=True, slots=True)
class DecidedFactors:
    """What becomes of each factor of a screening, the strongest effects first, and what to beware of.

    `widest_percent` is how far from zero, in percent of the mean, the interval of a factor reaches that was
    not detected; None where that cannot be said of each.
    """

    factors: tuple[ScreenedFactor, ...]
    warnings: tuple[str, ...]
    method: str
    widest_percent: float | None


def decide_factors(bundle: Bundle) -> DecidedFactors:
    """Return what becomes of each factor of a screening, the strongest effects first, and what to beware of.

    A fleet's screening has ended when the coordinator says so, with trials that were given up.

    Raises:
        InputError: when the bundle is no screening, has trials to run, or no valid observation.
    """
    # Statistics take a second to load, which other uses of `run` need not wait for.
    from datamill.analysis.answer.machines.machine_by_machine import relate_to_machines
    from datamill.analysis.answer.response import analyze_response
    from datamill.analysis.answer.screening import find_observed_aliases, list_screened, screen_response
    from datamill.report.screening.section import list_screening_warnings, phrase_decision

    where = str(bundle.folder)
    if bundle.experiment.design.kind != "screening":
        raise InputError(
            "this experiment is not a screening",
            where=where,
            remedy='Run one with design = "screening" first, and name its bundle.',
        )
    records = bundle.read_records()
    waiting = len(list_pending_trials(bundle, records))
    if waiting and not bundle.of_fleet:
        raise InputError(
            f"the screening has not ended: {waiting} of {len(bundle.design.trials)} trials have not run",
            where=where,
            remedy=f"Continue it with {command('run', resume=bundle.folder)}.",
        )
    table = bundle.build_table(records)
    response = bundle.experiment.responses[0]
    valid = table.filter((pl.col("response") == response.name) & pl.col("valid"))
    if valid.height == 0:
        raise InputError(f"no trial of the screening gave a valid {response.name}", where=where)
    # Several machines count alike, as in the report.
    related = relate_to_machines(bundle.experiment, bundle.design, table)
    analysis = analyze_response(
        related.experiment, bundle.design, related.table, related.experiment.responses[0]
    )
    screening = screen_response(bundle.design, analysis)
    if not screening.effects:
        raise InputError(
            f"the screening says nothing about what moves {response.name}: {' '.join(screening.warnings)}",
            where=where,
            remedy="Run it with replicates = 2 or more.",
        )
    screened = list_screened(bundle.design)
    levels = {
        factor.name: (factor.levels[0], factor.levels[1])
        for factor in bundle.design.crossed
        if factor.name in screened
    }
    order = dict.fromkeys([effect.factor for effect in screening.effects] + list(screened))
    decisions = []
    for name in order:
        measured = [level for level in levels[name] if level in valid[name].cast(pl.String).to_list()]
        reason = phrase_decision(name, screening)
        if len(measured) == 1:
            # The other level gave nothing to go on with, whichever it is.
            other = next(level for level in levels[name] if level != measured[0])
            levels[name] = (measured[0], other)
            reason = f"no valid trial had {other}"
        decisions.append(ScreenedFactor(name, levels[name], name in screening.survivors, reason))
    structure = find_observed_aliases(analysis.observations.cells, screened)
    warnings = list_screening_warnings(bundle.design, analysis, screening, structure)
    hidden = [effect for effect in screening.effects if effect.factor not in screening.survivors]
    reaches = [
        None if effect.percent is None else max(abs(effect.percent.low), abs(effect.percent.high))
        for effect in hidden
    ]
    known = [reach for reach in reaches if reach is not None]
    widest = max(known) if known and len(known) == len(reaches) and not screening.unknown else None
    return DecidedFactors(tuple(decisions), warnings, screening.method, widest)


def _forget_screening(tables: dict[str, Any], decisions: Sequence[ScreenedFactor]) -> None:
    """Take out of the screening's tables what is decided anew, and give the experiment a name of its own."""
    head = tables["experiment"]
    head["name"] = head["name"][: _LONGEST_NAME - len(_SUFFIX)] + _SUFFIX
    for section in ("factors", "nuisance"):
        for item in decisions:
            tables.get(section, {}).pop(item.factor, None)
    if tables.get("nuisance", {}).get("policy") == "vary":
        tables["nuisance"].pop("policy")


def apply_decisions(
    tables: dict[str, Any],
    decisions: Sequence[ScreenedFactor],
    sweeps: Mapping[str, Mapping[str, object]],
    *,
    hidden: bool = False,
) -> bool:
    """Write decisions into `[factors]` and `[nuisance]`; tell whether background loads still have a part.

    What `sweeps` describe stays described. Survivors are what the question is about, or `hidden` factors that
    are crossed with those of another question.
    """
    loads = True
    for item in decisions:
        if item.factor in sweeps:
            levels = list(item.levels) if item.survives else [item.levels[0]]
            tables.setdefault("factors", {})[item.factor] = {**sweeps[item.factor], "levels": levels}
        elif item.survives and hidden:
            tables.setdefault("nuisance", {})[item.factor] = {"vary": list(item.levels)}
        elif item.survives:
            tables.setdefault("factors", {})[item.factor] = list(item.levels)
        elif item.factor == BACKGROUND_LOAD and item.levels[0] == NO_LOAD:
            # Without any load there is none to pack, and no session of one.
            loads = False
            tables.pop("load", None)
        else:
            tables.setdefault("nuisance", {})[item.factor] = {"fix": item.levels[0]}
    if not loads:
        for section in ("factors", "nuisance"):
            tables.get(section, {}).pop("session", None)
    return loads
