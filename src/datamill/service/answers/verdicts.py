"""The first sentence of each answer of an ended experiment, or why it has no answer, kept in the data folder.

What is there was inferred from what the database holds: lost files are made again when they are asked for.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
from django.conf import settings

from datamill.service.models import FleetExperiment

_FOLDER = "verdicts"


class Verdict(msgspec.Struct, frozen=True):
    """The first sentence of an answer; `ended_unix_s` names the experiment's end that it rests on.

    Where `failure` says why there is no answer, `remedy` says what to do, and there is no sentence.
    """

    submitted_unix_s: float
    ended_unix_s: float
    headline: str
    n: int
    failure: str = ""
    remedy: str = ""


def keep_verdict(experiment: FleetExperiment, headline: str, n: int) -> None:
    """Keep the verdict of an experiment that has ended; of others nothing is kept."""
    if experiment.ended_unix_s is not None:
        _keep(experiment, Verdict(experiment.submitted_unix_s, experiment.ended_unix_s, headline, n))


def keep_failure(experiment: FleetExperiment, reason: str, remedy: str) -> None:
    """Keep why the trials of an ended experiment give no answer: they would give none the next time."""
    if experiment.ended_unix_s is not None:
        ended = experiment.ended_unix_s
        _keep(experiment, Verdict(experiment.submitted_unix_s, ended, "", 0, reason, remedy))


def forget_failure(experiment: FleetExperiment) -> None:
    """Let an answer be worked out again that could not be; a verdict that there is stays."""
    kept = recall_verdict(experiment)
    if kept is not None and kept.failure:
        with contextlib.suppress(OSError):
            _find_file(experiment).unlink(missing_ok=True)


def _keep(experiment: FleetExperiment, verdict: Verdict) -> None:
    file = _find_file(experiment)
    # A full disk costs a list its sentence, and nobody an answer.
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".new")
        partial.write_bytes(msgspec.json.encode(verdict))
        partial.replace(file)


def recall_verdict(experiment: FleetExperiment) -> Verdict | None:
    """Return the kept verdict of an experiment, None where there is none that rests on its end."""
    try:
        verdict = msgspec.json.decode(_find_file(experiment).read_bytes(), type=Verdict)
    except (OSError, msgspec.DecodeError):
        return None
    rests_on = (verdict.submitted_unix_s, verdict.ended_unix_s)
    return verdict if rests_on == (experiment.submitted_unix_s, experiment.ended_unix_s) else None


def _find_file(experiment: FleetExperiment) -> Path:
    return Path(settings.DATA_FOLDER) / _FOLDER / f"{experiment.pk}.json"
