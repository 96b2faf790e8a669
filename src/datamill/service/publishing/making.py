"""The archive of an experiment, made in a folder that goes: for a publication, or for one reader."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from django.contrib.auth.models import User

from datamill.results.crates.description import Description
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bundles.export import prepare_bundle
from datamill.service.models import FleetExperiment
from datamill.service.publishing.archives import find_archive
from datamill.service.publishing.statements import MAKING, MadeArchive, make_archive
from datamill.service.watching.places import BUNDLES


@dataclass(frozen=True, slots=True)
class DraftArchive:
    """An archive that was written, and what is known of it; its file goes unless it is moved or opened."""

    path: Path
    made: MadeArchive


@contextmanager
def making_archive(
    experiment: FleetExperiment, user: User, description: Description, held_back: tuple[str, ...] = ()
) -> Iterator[DraftArchive]:
    """Write the archive of an experiment, with table and report, and yield it.

    Args:
        experiment: one that the user may see.
        user: whose turn it takes.
        description: what the archive says of itself.
        held_back: folders of the bundle that stay away.

    Raises:
        BundleError: the database does not hold what a bundle needs.
        BusyError, FullError: too many are being made already.
        GoneError: the client left.
        InputError: nothing was measured, or it is too large.
    """
    # Beside the archives, so that it becomes one of them by a change of its name.
    place = find_archive("0").parent
    place.mkdir(parents=True, exist_ok=True)
    with taking_turn(user), TemporaryDirectory(prefix=".making-", dir=place) as folder:
        home, draft = Path(folder) / "bundle", Path(folder) / "archive.zip"
        home.mkdir()
        _write_bundle(experiment, user, home)
        made: MadeArchive = call_bounded(MAKING, make_archive, str(home), str(draft), description, held_back)
        yield DraftArchive(draft, made)


def _write_bundle(experiment: FleetExperiment, user: User, home: Path) -> None:
    sending = BUNDLES.take(user.pk)
    try:
        prepare_bundle(experiment, time.time()).write(home)
    finally:
        sending.leave()
