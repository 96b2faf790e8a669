"""An experiment as a user submits it."""

from __future__ import annotations

from dataclasses import dataclass, field

from datamill.protocol.api.submissions import SubmissionOptions, SubmittedFile


@dataclass(frozen=True, slots=True)
class Submission:
    """An experiment as a user submits it."""

    text: str
    file_name: str
    files: tuple[SubmittedFile, ...]
    options: SubmissionOptions = field(default_factory=SubmissionOptions)
