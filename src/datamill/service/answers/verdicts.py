"""The first sentence of each answer of an ended experiment, kept in the data folder for lists.

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
    """The first sentence of an answer; `ended_unix_s` names the experiment's end that it rests on."""

    submitted_unix_s: float
    ended_unix_s: float
    headline: str
    n: int


def keep_verdict(experiment: FleetExperiment, headline: str, n: int) -> None:
    """Keep the verdict of an experiment that has ended; of others nothing is kept."""
    if experiment.ended_unix_s is None:
        return
    file = _find_file(experiment)
    verdict = Verdict(experiment.submitted_unix_s, experiment.ended_unix_s, headline, n)
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
