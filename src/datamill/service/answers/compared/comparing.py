"""Results of several experiments compared as `datamill compare` does, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from django.contrib.auth.models import User

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import join_names
from datamill.report.figures.views import FigureView
from datamill.service.accounts import find_experiment
from datamill.service.answers.answering import EarlyLookError, refuse_early_look, tell_counted
from datamill.service.answers.bundle_folders import ANSWERING, write_bundle
from datamill.service.answers.compared.offers import find_common_ground
from datamill.service.answers.compared.question import PACKAGE, AskedComparison, complete_question
from datamill.service.answers.kept import ExperimentKey, Kept, name_progress
from datamill.service.answers.table_parts import count_trials
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.models import FleetExperiment

#: Experiments side by side.
MOST_COMPARED = 8


@dataclass(frozen=True, slots=True)
class ComparedVersion:
    """A version, the experiment that measured it, and what `VersionRow` says of it."""

    experiment: int
    version: str
    n: str
    mean: str
    interval: str
    against: str
    change: str
    change_interval: str
    verdict: str


@dataclass(frozen=True, slots=True)
class FleetComparison:
    """A comparison in sentences, its versions in rows, figures, all numbers as markup, and as JSON.

    `asked` is the whole question, with what was chosen for who asked; `unit` is that of the rows' means.
    """

    asked: AskedComparison
    title: str
    lead: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    unit: str
    versions: tuple[ComparedVersion, ...]
    figures: tuple[FigureView, ...]
    numbers: str
    json: str

    @property
    def subject(self) -> str:
        """What is compared, as it was asked or chosen."""
        chosen = [f"{name} {level}" for name, level in self.asked.where if name != PACKAGE]
        package = dict(self.asked.where).get(PACKAGE, "")
        return " ".join(
            (
                self.asked.response,
                f"of package {package}" if package else "of each experiment's package",
                *((f"at {join_names(chosen)}",) if chosen else ()),
            )
        )


#: Refusals are kept as well: the same trials would be refused again, as dearly.
_kept: Kept[tuple[tuple[ExperimentKey, ...], AskedComparison], FleetComparison | InputError] = Kept(32)


def find_compared(user: User, numbers: Iterable[int]) -> list[FleetExperiment]:
    """Return the experiments of these numbers, each once, in their order.

    Raises:
        InputError: there are too few or too many.
        NotFoundError: one is not there, or may not be seen.
    """
    asked = list(dict.fromkeys(numbers))
    if len(asked) > MOST_COMPARED:
        raise InputError(f"{len(asked)} experiments are too many", remedy=f"Name up to {MOST_COMPARED}.")
    found = [find_experiment(user, number) for number in asked]
    if len(found) < 2:
        few = "one experiment cannot be compared with itself" if found else "no experiments are named"
        raise InputError(few, remedy="Name two or more.")
    return found


def compare_results(
    experiments: Sequence[FleetExperiment], user: User, asked: AskedComparison
) -> FleetComparison:
    """Compare the results of experiments that have ended: their intervals hold once.

    Raises:
        EarlyLookError: one goes on.
        BundleError: the database does not hold what it needs.
        BusyError: too many wait already.
        FullError: too many bundles are being made already.
        GoneError: the client left.
        InputError: they have nothing in common, the data do not allow it, or it takes too much.
    """
    for experiment in experiments:
        _refuse_unmeasured(experiment)
    ground = find_common_ground(experiments)
    question = complete_question(asked, ground)
    key = (tuple(name_progress(experiment) for experiment in experiments), question)
    if (kept := _kept.recall(key)) is not None:
        return _return_or_raise(kept)
    # Versions are called after their bundles, which `datamill fetch` calls so.
    bundles = tuple((experiment.pk, f"{experiment.name}-{experiment.pk}") for experiment in experiments)
    with taking_turn(user), TemporaryDirectory(prefix="datamill-compared-") as folder:
        for experiment, (_, name) in zip(experiments, bundles, strict=True):
            home = Path(folder) / name
            home.mkdir()
            write_bundle(experiment, user, home)
        found: FleetComparison | InputError
        try:
            found = call_bounded(ANSWERING, compare_folders, folder, bundles, question, ground.list_choices())
        except (BusyError, GoneError):
            raise
        except InputError as problem:
            found = problem
    _kept.keep(key, found)
    return _return_or_raise(found)


def _return_or_raise(kept: FleetComparison | InputError) -> FleetComparison:
    if isinstance(kept, InputError):
        # A new one each time: catching an exception adds to its traceback.
        raise kept.moved(kept.where)
    return kept


def _refuse_unmeasured(experiment: FleetExperiment) -> None:
    try:
        refuse_early_look(experiment)
    except EarlyLookError as problem:
        raise EarlyLookError(
            f"experiment {experiment.pk} is still running and cannot be compared before it ends: "
            f"{tell_counted(experiment)}",
            # That other experiments may be looked at says nothing of a comparison.
            problem.details[:1],
        ) from None
    if not count_trials(experiment):
        raise InputError(
            f"no trial of experiment {experiment.pk} counted, so that it has nothing to compare",
            remedy="Leave it out.",
        )


def compare_folders(
    folder: str,
    bundles: tuple[tuple[int, str], ...],
    asked: AskedComparison,
    choices: Mapping[str, tuple[str, ...]],
) -> FleetComparison:
    """Compare bundles in a folder, each of an experiment's number and name; runs in a process of its own.

    `choices` are what could have been asked for in `where`.
    """
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.report.compare.answer import scale_comparison
    from datamill.report.compare.version_rows import list_version_rows
    from datamill.report.figures.figure import shorten_figure
    from datamill.report.page.statement import render_parts
    from datamill.report.tables.envelope import write_result
    from datamill.report.words.short_names import apply_short_names, use_short_names
    from datamill.service.answers.drawing import draw_views
    from datamill.verbs.compare import compare

    # Where bundles stood meanwhile says nothing to a reader.
    above = f"{folder}/"
    try:
        found = compare(
            *(above + name for _, name in bundles),
            response=asked.response,
            where=dict(asked.where),
            series=asked.series,
            baseline=asked.baseline,
            threshold=asked.threshold,
            confidence=asked.confidence,
            alpha=asked.alpha,
            adjust=asked.adjust,
            direction=asked.direction,
            seed=asked.seed,
        )
    except InputError as problem:
        raise problem.moved(problem.where.replace(above, "")) from None
    found = replace(found, notes=tuple(note.replace(above, "") for note in found.notes))
    rows = list_version_rows(found.comparison)
    versions = [
        ComparedVersion(bundles[place][0], *astuple(row))
        for place, row in zip(found.origins, rows, strict=True)
    ]
    if asked.form == "text" or asked.form == "verbose":
        text = found.show(verbose=asked.form == "verbose")
    else:
        text = found.tables(asked.form)
    beside = {
        "experiments": [
            {
                "experiment": number,
                "bundle": name,
                "versions": [item.version for item in versions if item.experiment == number],
            }
            for number, name in bundles
        ],
        "where": dict(asked.where),
        "choices": {name: choices[name] for name, _ in asked.where if name in choices},
        "worse": None if found.comparison.direction is None else found.worse,
        "text": text,
    }
    with use_short_names(found.label_groups()) as notes:
        figures, reasons = found.draw_possible()
        return FleetComparison(
            asked,
            found.title,
            tuple(apply_short_names(sentence) for sentence in found.lead),
            tuple(apply_short_names(sentence) for sentence in found.warnings),
            (*reasons, *notes),
            scale_comparison(found.comparison).unit,
            tuple(
                replace(
                    item, version=apply_short_names(item.version), against=apply_short_names(item.against)
                )
                for item in versions
            ),
            draw_views([shorten_figure(figure) for figure in figures]),
            render_parts(found.list_numbers()),
            write_result(found.lead, found.numbers() | beside, found.warnings),
        )
