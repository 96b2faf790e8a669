"""Whether re-runs had the result of their original: judged when both have ended, and kept for ever."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
from django.contrib.auth.models import AbstractUser, AnonymousUser, User

from datamill.analysis.reproduction.reproduction import ReproductionVerdict
from datamill.experiment.messages.numbers import format_level
from datamill.service.accounts import list_visible_experiments
from datamill.service.answers.bundle_folders import ANSWERING, write_bundle
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.models import FleetExperiment
from datamill.service.publishing.tables import Rerun
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.states import ENDED_EXPERIMENTS

if TYPE_CHECKING:
    from datamill.verbs.reproduction.reproduce import Reproduce


class KeptVerdict(msgspec.Struct, frozen=True):
    """A verdict in words, with its table as markup, its figure, and everything as JSON."""

    verdict: ReproductionVerdict
    sentences: tuple[str, ...]
    warnings: tuple[str, ...]
    numbers: str
    json: str
    picture: str = ""
    picture_title: str = ""
    picture_caption: str = ""


@dataclass(frozen=True, slots=True)
class ShownRerun:
    """A re-run with its verdict, None before it is judged; `due` says that it can be judged now."""

    rerun: Rerun
    verdict: KeptVerdict | None
    due: bool

    @property
    def margin(self) -> str:
        """The margin as it was chosen, such as `5%`."""
        return format_level(self.rerun.margin)


def list_judged(
    experiment_id: int, user: AbstractUser | AnonymousUser, *, before: int = 0, most: int | None = None
) -> list[ShownRerun]:
    """Return the re-runs that a user may see, the latest first; strangers see public ones.

    With `before` only those of lower numbers, of which `most` are returned.
    """
    found = Rerun.objects.filter(original_id=experiment_id).select_related("experiment__owner", "original")
    if user.is_authenticated:
        found = found.filter(experiment__in=list_visible_experiments(user))
    else:
        found = found.filter(experiment__public=True)
    if before:
        found = found.filter(pk__lt=before)
    return [show_rerun(rerun) for rerun in found.order_by("-pk")[:most]]


def find_own_rerun(experiment_id: int, user: AbstractUser | AnonymousUser) -> ShownRerun | None:
    """Return what an experiment runs again; None where it is no re-run, or of what the user may not see."""
    found = Rerun.objects.filter(pk=experiment_id, original__in=list_visible_experiments(user))
    rerun = found.select_related("experiment__owner", "original__owner").first()
    return None if rerun is None else show_rerun(rerun)


def show_rerun(rerun: Rerun) -> ShownRerun:
    """Return a re-run with what is known of it."""
    kept = None if rerun.verdict is None else msgspec.json.decode(bytes(rerun.verdict), type=KeptVerdict)
    ended = rerun.experiment.state in ENDED_EXPERIMENTS and rerun.original.state in ENDED_EXPERIMENTS
    return ShownRerun(rerun, kept, kept is None and ended)


def tally_verdicts(experiment_id: int) -> Counter[str]:
    """Count the verdicts on public re-runs of an experiment."""
    found = Rerun.objects.filter(original_id=experiment_id, experiment__public=True, verdict__isnull=False)
    told = (bytes(verdict) for verdict in found.values_list("verdict", flat=True) if verdict is not None)
    return Counter(msgspec.json.decode(raw, type=KeptVerdict).verdict for raw in told)


def count_verdicts(tally: Counter[str]) -> str:
    """Say of how many re-runs the result was reproduced; empty where there is no verdict."""
    total = sum(tally.values())
    return f"reproduced in {tally['reproduced']} of {total} re-run{'s' * (total != 1)}" if total else ""


def judge_rerun(rerun: Rerun, user: User) -> None:
    """Judge a re-run, and keep the verdict.

    Raises:
        BundleError: the database does not hold what it needs.
        BusyError, FullError: too many wait already.
        GoneError: the client left.
        InputError: the two cannot be compared, or it takes more than the coordinator gives one.
    """
    with taking_turn(user), TemporaryDirectory(prefix="datamill-rerun-") as folder:
        homes = [Path(folder) / name for name in ("original", "rerun")]
        for home, experiment in zip(homes, (rerun.original, rerun.experiment), strict=True):
            home.mkdir()
            write_bundle(experiment, user, home)
        judged: KeptVerdict = call_bounded(
            ANSWERING, judge_folders, str(homes[0]), str(homes[1]), rerun.margin
        )
    run_as_writer(_keep, rerun.pk, msgspec.json.encode(judged))


def judge_folders(original: str, rerun: str, margin: float) -> KeptVerdict:
    """Judge one bundle by another; runs in a process of its own."""
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.report.page.statement import render_parts
    from datamill.service.answers.drawing import draw_views
    from datamill.verbs.reproduction.reproduce import reproduce

    found: Reproduce = reproduce(original, rerun, margin=margin)
    verdict = KeptVerdict(
        found.found.verdict, found.lead, found.warnings, render_parts(found.list_numbers()), found.json()
    )
    figures, _ = found.draw_possible()
    if figures:
        view = draw_views(figures[:1])[0]
        verdict = msgspec.structs.replace(
            verdict, picture=view.svg, picture_title=view.title, picture_caption=view.caption
        )
    return verdict


def _keep(experiment_id: int, verdict: bytes) -> None:
    """Keep a verdict, unless somebody else's look was faster."""
    Rerun.objects.filter(pk=experiment_id, verdict=None).update(verdict=verdict, judged_unix_s=time.time())


def enter_rerun(experiment_id: int, original_id: int, margin: float) -> None:
    """Note that an experiment runs another one again, with the margin that was chosen before it began."""
    Rerun.objects.create(
        experiment=FleetExperiment.objects.get(pk=experiment_id),
        original_id=original_id,
        margin=margin,
        made_unix_s=time.time(),
    )
