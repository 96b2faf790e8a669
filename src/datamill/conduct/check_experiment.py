"""From an experiment file to whether it is sound, what would run, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from datamill.conduct.question.design_size import (
    SizedDesign,
    check_design_size,
    count_design,
    size_design,
)
from datamill.conduct.question.doubts import list_doubts, list_lost_factors
from datamill.conduct.question.host import ask_host, check_constraints, list_fleet_notes
from datamill.conduct.question.needed_builds import NeededBuilds, count_builds
from datamill.conduct.question.needed_metrics import list_unchecked_metrics
from datamill.conduct.question.needed_time import NeededTime, estimate_time
from datamill.conduct.question.read_files import FoundExperiment, read_experiment_file
from datamill.conduct.question.screening.screening_first import read_screening_question
from datamill.conduct.running.pilot import PilotListener, run_pilot
from datamill.execution.host_lock import lock_host
from datamill.execution.seen_places import list_unseen_values
from datamill.execution.worker import find_worker, read_host_facts
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns


@dataclass(frozen=True, slots=True)
class CheckedExperiment:
    """An experiment that is sound: what would run here, and what that costs.

    `builds` is None where no package is built, `time` where no trial of its packages was timed here yet.
    `notes` say what is not followed or not checked here, `doubts` what is allowed and yet may disappoint.
    `refusal` is why it may not run on this machine, though it may on another.
    """

    file: FoundExperiment
    size: SizedDesign
    builds: NeededBuilds | None
    time: NeededTime | None
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    refusal: InputError | None = None


def check_experiment(
    given: Path,
    *,
    pilot: PilotListener | None = None,
    allow_trials: int = 0,
    shown_by: str = "a pilot, or the first trial, shows",
) -> CheckedExperiment:
    """Check an experiment file and its packages against this machine, and say what would run.

    Args:
        given: an experiment file, or a folder that holds one.
        pilot: hears of one trial of each package, which runs first; without it nothing runs.
        allow_trials: confirms a design of up to so many trials.
        shown_by: what shows whether packages report the metrics that formulas need.

    Raises:
        InputError: when the experiment is not sound, or a trial of the pilot does not complete.
        WorkerError: when the worker cannot tell what this machine has.
    """
    binary = find_worker()
    read = read_experiment_file(given)
    found = ask_host(read, binary)
    factors, trials = check_design_size(found, allow_trials)
    experiment = found.experiment
    host = read_host_facts(binary)
    if pilot is not None:
        check_constraints(experiment.constraints, host, where=str(found.path))
        with lock_host(tell=pilot.tell_waiting) as lock:
            run_pilot(found, binary, lock, pilot)
    size = size_design(experiment, factors, trials)
    unchecked = [] if pilot is not None else list_unchecked_metrics(experiment, shown_by)
    unbuilt = [package.name for package in found.packages if not package.has_setup]
    refusal = None
    try:
        check_constraints(experiment.constraints, host, where=str(found.path))
    except InputError as problem:
        refusal = problem
    return CheckedExperiment(
        file=found,
        size=size,
        builds=count_builds(found, size),
        time=estimate_time(found, trials),
        notes=(
            *found.notes,
            *list_fleet_notes(experiment),
            *unchecked,
            *_note_screening(read, binary),
        ),
        doubts=(
            *list_lost_factors(read, found),
            *list_doubts(experiment, factors, trials, unbuilt),
            *list_unseen_values(experiment, found.packages, found.loads, binary),
        ),
        refusal=refusal,
    )


def _note_screening(read: FoundExperiment, binary: Path) -> tuple[str, ...]:
    """Say how large the screening is that comes first, if one does; what was checked is what follows it."""
    if read.experiment.screen != "auto":
        return ()
    # It names levels that what was checked does not, and a host tells what it lacks where it is asked.
    factors, trials = count_design(ask_host(read_screening_question(read), binary))
    screened = sum(item.role == "factor" and item.name != "package" for item in factors)
    return (
        f"A screening of {count_nouns(screened, 'hidden factor')} comes first, "
        f"{count_nouns(trials, 'trial')}; survivors then vary in what is shown here.",
    )
