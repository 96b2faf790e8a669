"""`screen = "auto"`: the experiment itself, once the screening before it has ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from datamill.conduct.question.read_files import FoundExperiment, read_experiment_file
from datamill.conduct.question.screening.follow_up import apply_decisions, decide_factors
from datamill.conduct.question.screening.screening_first import list_unscreened
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.factors.catalogue import USUAL_FACTORS
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.source import Source
from datamill.experiment.file.toml_text import format_toml
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.opening import open_bundle
from datamill.results.judgement.screened import ScreenedFirst, ScreenedLevels


def read_main_question(
    folder: Path, text: str, *, name: str
) -> tuple[FoundExperiment, ScreenedFirst, tuple[str, ...]]:
    """Return the experiment that a screening came before, with its survivors, and what the screening found.

    Args:
        folder: the bundle of the screening, whose packages it has.
        text: the experiment file with `screen = "auto"`.
        name: what the file is called, for messages.

    Raises:
        InputError: when the screening has not ended or says nothing, or the experiment cannot be.
    """
    found = read_experiment_file(folder)
    written, screened, lines = write_main_question(open_bundle(folder), text, name=name)
    experiment = parse_experiment(written, name=f"{name}, after its screening")
    return (
        replace(found, text=written, experiment=experiment, loads=found.loads if experiment.loads else ()),
        screened,
        lines,
    )


def write_main_question(
    bundle: Bundle, text: str, *, name: str, told: str = ""
) -> tuple[str, ScreenedFirst, tuple[str, ...]]:
    """Return the file of an experiment that a screening came before, what that found, and both in lines.

    Survivors are crossed, at the two levels that were screened. The others are what the file says of hidden
    factors in general, else fixed at the low level. `told` names the screening; its folder without it.

    Raises:
        InputError: when the screening has not ended or says nothing.
    """
    decided = decide_factors(bundle)
    tables = Source(name, text).parse()
    tables["experiment"].pop("screen", None)
    policy = tables.get("nuisance", {}).get("policy")
    named = {*tables.get("factors", {}), *tables.get("nuisance", {})}
    rows = [item for item in decided.factors if item.factor not in named]
    left = {item.factor for item in rows if policy and not item.survives and item.factor in USUAL_FACTORS}
    apply_decisions(tables, [item for item in rows if item.factor not in left], {}, hidden=True)
    machines = next((len(item.levels) for item in bundle.design.factors if item.name == MACHINE_FACTOR), 1)
    experiment = parse_experiment(text, name=name)
    screened = ScreenedFirst(
        bundle=told or str(bundle.folder.name),
        response=bundle.experiment.responses[0].name,
        trials=len(bundle.design.trials),
        points=bundle.design.points,
        replicates=bundle.design.replicates,
        machines=machines,
        alpha=bundle.experiment.alpha,
        confidence=bundle.experiment.confidence,
        method=decided.method,
        factors=tuple(
            ScreenedLevels(
                item.factor,
                item.levels,
                item.survives,
                "varied" if item.survives else policy if item.factor in left else "fixed",
                item.reason,
            )
            for item in rows
        ),
        smallest_percent=decided.widest_percent,
        missed=list_unscreened(
            experiment, {item.factor: None for item in decided.factors}, machines=machines
        ),
        warnings=decided.warnings,
    )
    lines = [f"After the screening in {told or bundle.folder}:"]
    lines += [
        f"  {item.factor}: as [nuisance] policy says ({item.reason})"
        if item.factor in left
        else f"  {item.phrase()}"
        for item in rows
    ]
    if not screened.survivors:
        lines.append("  Nothing that was screened is varied: no factor was detected.")
    lines += [f"  Warning: {warning}." for warning in decided.warnings]
    comments = "".join(f"# {line}\n" for line in lines)
    return f"{comments}\n{format_toml(tables)}", screened, tuple(lines)
