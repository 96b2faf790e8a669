"""The archive of an experiment, made in a folder that goes: for a publication, or for one reader."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Sum

from datamill.results.crates.description import Description
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.child import Budget
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bundles.export import prepare_bundle
from datamill.service.files.store import check_disk_room
from datamill.service.models import Artifact, FleetExperiment
from datamill.service.publishing.archives import name_old_folder
from datamill.service.publishing.statements import MAKING, MadeArchive, make_archive

_UNFINISHED = ".making-"


@dataclass(frozen=True, slots=True)
class DraftArchive:
    """An archive that was written, and what is known of it; its file goes unless it is moved or opened."""

    path: Path
    made: MadeArchive


@contextmanager
def making_archive(
    experiment: FleetExperiment,
    user: User,
    description: Description,
    held_back: tuple[str, ...] = (),
    budget: Budget = MAKING,
) -> Iterator[DraftArchive]:
    """Write the archive of an experiment, with table and report, and yield it.

    Who calls this holds a place of `BUNDLES` for as long as the archive takes room.

    Args:
        experiment: one that the user may see.
        user: whose turn it takes.
        description: what the archive says of itself.
        held_back: folders of the bundle that stay away.
        budget: what making it may take.

    Raises:
        AwayError: the storage of files does not answer.
        BundleError: the database does not hold what a bundle needs.
        BusyError: too many are being made already.
        FullDiskError: the disk has no room for it.
        GoneError: the client left.
        InputError: nothing was measured, or it is too large.
    """
    place = _name_place()
    place.mkdir(parents=True, exist_ok=True)
    with taking_turn(user), TemporaryDirectory(prefix=_UNFINISHED, dir=place) as folder:
        home, draft = Path(folder) / "bundle", Path(folder) / "archive.zip"
        home.mkdir()
        check_disk_room(_estimate_room(experiment))
        prepare_bundle(experiment, time.time()).write(home)
        made: MadeArchive = call_bounded(budget, make_archive, str(home), str(draft), description, held_back)
        yield DraftArchive(draft, made)


def drop_unfinished_archives() -> None:
    """Remove what a coordinator left that was killed while it made archives; nobody makes any now."""
    for place in (_name_place(), name_old_folder()):
        for folder in place.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(folder, ignore_errors=True)


def _name_place() -> Path:
    # Beside the files of the store, so that an archive becomes one of them by a change of its name.
    return Path(settings.DATA_FOLDER) / "files"


def _estimate_room(experiment: FleetExperiment) -> int:
    """Bytes that bundle and archive may take: artifacts are most of it, and those on the disk are linked."""
    artifacts = Artifact.objects.filter(attempt__trial__experiment=experiment)
    size_bytes: int = artifacts.aggregate(all=Sum("file__size_bytes", default=0))["all"]
    return size_bytes * (2 if settings.FILES_URL else 1)
