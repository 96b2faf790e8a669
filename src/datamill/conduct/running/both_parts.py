"""`screen = "auto"` on this machine: a screening in a bundle of its own, then the experiment in another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from datamill.conduct.question.read_files import FoundExperiment
from datamill.conduct.question.screening.main_question import read_main_question
from datamill.conduct.question.screening.screening_first import SUFFIX, read_screening_question
from datamill.results.judgement.screened import SCREENED_FILE, encode_screened

#: The file of a screening's bundle with the experiment that it came before.
MAIN_FILE = "main.toml"


@dataclass(frozen=True, slots=True)
class ResumedRun:
    """A bundle that goes on; `retry_failed` attempts again each trial that did not complete."""

    bundle: Path
    retry_failed: bool = False


@dataclass(frozen=True, slots=True)
class PreparedPart:
    """A question that was read and is to run into a new bundle; `also` are further files of it.

    `folder` is the new bundle, named after experiment and time without it. `allow_trials` confirms a design
    of up to so many trials.
    """

    question: FoundExperiment
    folder: Path | None = None
    allow_trials: int = 0
    also: Mapping[str, bytes] = field(default_factory=dict)


def begin_screening(question: FoundExperiment, folder: Path) -> PreparedPart:
    """Return the screening before an experiment, whose own bundle will be `folder`.

    Raises:
        InputError: when the screening cannot be.
    """
    first = read_screening_question(question)
    return PreparedPart(first, _name_screening(folder), also={MAIN_FILE: question.text.encode()})


def phrase_screening_first(first: PreparedPart) -> str:
    """Say that a screening comes first, and where it is."""
    return (
        f"A screening of hidden factors comes first, in {first.folder}; those that move "
        f"{first.question.experiment.responses[0].name} then vary in the experiment."
    )


def find_part_to_resume(asked: ResumedRun) -> ResumedRun:
    """Return the screening in the place of an experiment that has no bundle yet, whose screening has."""
    screening = _name_screening(asked.bundle)
    if not asked.bundle.exists() and (screening / MAIN_FILE).is_file():
        return replace(asked, bundle=screening)
    return asked


def find_main_part(
    screening: Path, tell: Callable[[Sequence[str]], None], *, allow_trials: int = 0
) -> PreparedPart | ResumedRun | None:
    """Return the experiment that a screening came before, or its bundle where that is there.

    None of a bundle that is no such screening. `tell` hears what becomes of the factors.

    Raises:
        InputError: when the screening says nothing, or the experiment cannot be.
    """
    main = screening / MAIN_FILE
    if not main.is_file() or not screening.name.endswith(SUFFIX):
        return None
    folder = screening.with_name(screening.name.removesuffix(SUFFIX))
    if (folder / "bundle.json").is_file():
        return ResumedRun(folder)
    question, screened, lines = read_main_question(
        screening, main.read_text(encoding="utf-8"), name=str(main)
    )
    tell(lines)
    return PreparedPart(question, folder, allow_trials, {SCREENED_FILE: encode_screened(screened)})


def _name_screening(folder: Path) -> Path:
    return folder.with_name(folder.name + SUFFIX)
