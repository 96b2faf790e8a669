"""The answer to what an experiment would run, made where the plan is."""

from __future__ import annotations

import msgspec
from django.contrib.auth.models import User

from datamill.service.submissions.preview import preview_submission
from datamill.service.submissions.submission import Submission


def encode_preview(submission: Submission, user: User) -> bytes:
    """Return the preview of a submission as JSON.

    Raises:
        InputError: as `preview_submission` does.
    """
    return msgspec.json.encode(preview_submission(submission, user))
