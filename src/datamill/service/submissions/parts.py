"""A submission with `screen = "auto"` in its two parts: the screening, and the experiment that follows it."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from datamill.conduct.question.screening.screening_first import write_screening
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.source import Source
from datamill.experiment.file.toml_text import format_toml
from datamill.protocol.api.submissions import SubmissionOptions, SubmittedFile
from datamill.service.submissions.submission import Submission


class MainPart(msgspec.Struct, frozen=True):
    """The experiment that follows a screening, as it was submitted: kept until the screening has ended."""

    text: str
    file_name: str
    files: tuple[SubmittedFile, ...]
    options: SubmissionOptions


def split_submission(submission: Submission) -> tuple[Submission, MainPart | None]:
    """Return what is run now of a submission, and what follows; None where all of it is run now.

    Raises:
        InputError: when the text is no experiment.
    """
    if parse_experiment(submission.text, name=submission.file_name).screen != "auto":
        return submission, None
    text = write_screening(submission.text, name=submission.file_name)
    main = MainPart(submission.text, submission.file_name, submission.files, submission.options)
    first = replace(submission, text=text)
    return replace(first, files=_list_needed(first)), main


def make_main_submission(main: MainPart, text: str) -> Submission:
    """Return the submission of what follows a screening, by the text that the screening made of it."""
    options = msgspec.structs.replace(main.options, once=False)
    submission = Submission(text, main.file_name, main.files, options)
    return replace(submission, files=_list_needed(submission))


def drop_screen(text: str, *, name: str) -> str:
    """Return an experiment without its screening, as it would be if nothing survived."""
    tables = Source(name, text).parse()
    tables["experiment"].pop("screen", None)
    return format_toml(tables)


def _list_needed(submission: Submission) -> tuple[SubmittedFile, ...]:
    """The files of a part, which may have no load."""
    loads = {load.name for load in parse_experiment(submission.text, name=submission.file_name).loads}
    return tuple(item for item in submission.files if item.kind != "load" or item.name in loads)
