"""An analysis of an experiment that a page asks for, made in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.contrib.auth.models import User

from datamill.experiment.errors import InputError
from datamill.report.figures.views import FigureView
from datamill.service.answers.answering import answer_when_due, refuse_early_look
from datamill.service.answers.bundle_folders import ANSWERING, write_bundle
from datamill.service.answers.kept import ExperimentKey, Kept, name_progress
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.models import FleetExperiment

#: What can be asked: verbs of `datamill analyze`.
VERBS = ("anova", "quantiles", "tests", "variability", "summary")
#: Analyses that are kept until more trials end, and whole pages, each of 1 MB and more.
_MOST_KEPT, _MOST_PAGES = 64, 8


@dataclass(frozen=True, slots=True)
class AskedAnalysis:
    """What is asked: a verb, and its arguments as `datamill analyze` has them; empty ones are its usual."""

    verb: str
    response: str = ""
    factors: tuple[str, ...] = ()
    quantiles: tuple[float, ...] = ()
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    by: str = ""


@dataclass(frozen=True, slots=True)
class FleetAnalysis:
    """The result of an analysis: sentences, the numbers as markup, still figures, and its JSON."""

    title: str
    lead: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    numbers: str
    figures: tuple[FigureView, ...]
    json: str


_kept: Kept[tuple[ExperimentKey, AskedAnalysis], FleetAnalysis] = Kept(_MOST_KEPT)
#: None stands for the report.
_pages: Kept[tuple[ExperimentKey, AskedAnalysis | None], str] = Kept(_MOST_PAGES)


def analyze_experiment(experiment: FleetExperiment, user: User, asked: AskedAnalysis) -> FleetAnalysis:
    """Analyse the trials of an experiment that has ended: these intervals hold once.

    Raises:
        EarlyLookError: it goes on.
        BundleError: the database does not hold what it needs.
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
        GoneError: the client left.
        InputError: the data do not allow it, or it takes more than the coordinator gives one.
    """
    refuse_early_look(experiment)
    key = (name_progress(experiment), asked)
    if (kept := _kept.recall(key)) is not None:
        return kept
    found: FleetAnalysis = _infer(experiment, user, analyze_folder, asked)
    _kept.keep(key, found)
    return found


def write_page(experiment: FleetExperiment, user: User, asked: AskedAnalysis | None = None) -> str:
    """Return the page of an analysis, without one the report, with interactive figures; needs nothing else.

    Raises:
        BundleError, BusyError, EarlyLookError, FullError, GoneError, InputError: as `analyze_experiment`;
            the report of an experiment that grows is there after its first look.
    """
    if asked is None:
        answer_when_due(experiment, user)
    else:
        refuse_early_look(experiment)
    key = (name_progress(experiment), asked)
    if (kept := _pages.recall(key)) is not None:
        return kept
    page: str = _infer(experiment, user, page_folder, asked)
    _pages.keep(key, page)
    return page


def _infer(experiment: FleetExperiment, user: User, function: Any, asked: AskedAnalysis | None) -> Any:
    with taking_turn(user), TemporaryDirectory(prefix="datamill-analysis-") as folder:
        write_bundle(experiment, user, Path(folder))
        try:
            return call_bounded(ANSWERING, function, folder, asked)
        except InputError as problem:
            # Where its bundle stood meanwhile says nothing to a reader.
            raise (
                problem.moved(f"experiment {experiment.pk}") if folder in problem.where else problem
            ) from None


def analyze_folder(folder: str, asked: AskedAnalysis) -> FleetAnalysis:
    """Analyse a bundle in a folder; runs in a process of its own."""
    from datamill.report.figures.figure import shorten_figure
    from datamill.report.page.statement import render_parts
    from datamill.report.words.short_names import apply_short_names, use_short_names
    from datamill.service.answers.drawing import draw_views

    found = _ask(folder, asked)
    with use_short_names(found.label_groups()) as notes:
        figures, reasons = found.draw_possible()
        return FleetAnalysis(
            found.title,
            tuple(apply_short_names(sentence) for sentence in found.lead),
            tuple(apply_short_names(sentence) for sentence in found.warnings),
            (*reasons, *notes),
            render_parts(found.list_numbers()),
            draw_views([shorten_figure(figure) for figure in figures]),
            found.json(),
        )


def page_folder(folder: str, asked: AskedAnalysis | None) -> str:
    """Write the page of an analysis, or the report, of a bundle in a folder; runs in a process of its own."""
    from datamill.service.answers.drawing import hold_drawing_back
    from datamill.verbs.answer import answer

    hold_drawing_back()
    return answer(folder).report() if asked is None else str(_ask(folder, asked).page())


def _ask(folder: str, asked: AskedAnalysis) -> Any:
    """Call the verb with what was asked."""
    # Statistics take a second to load, and memory that the coordinator need not have.
    import datamill

    verb = getattr(datamill, asked.verb)
    given: dict[str, object] = {"where": {name: list(levels) for name, levels in asked.where}}
    if asked.response:
        given["response"] = asked.response
    if asked.factors:
        given["factors"] = list(asked.factors)
    if asked.quantiles:
        given["quantiles"] = list(asked.quantiles)
    if asked.by:
        given["by"] = asked.by
    return verb(folder, **given)
