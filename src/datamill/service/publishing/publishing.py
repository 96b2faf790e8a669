"""An experiment published, and a publication withdrawn."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.quantities import format_size
from datamill.results.crates.description import Description, clean_text
from datamill.service.accounts import DeniedError, NotFoundError, is_admin
from datamill.service.administration.quotas import find_quota
from datamill.service.coordinator.state.events import EventKind, NewEvent, add_events
from datamill.service.files.rights import FileUser, count_unclaimed
from datamill.service.files.store import AwayError, KeptFile, find_file, keep_file, name_holder, remove_files
from datamill.service.models import FleetExperiment
from datamill.service.publishing.archives import drop_withdrawn_archives, is_intact
from datamill.service.publishing.making import making_archive
from datamill.service.publishing.statements import MadeArchive, PublishedStatement
from datamill.service.publishing.tables import Publication
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.states import ENDED_EXPERIMENTS
from datamill.service.watching.places import BUNDLES

#: Folders of a bundle that a publisher may hold back, with what is in them.
HELD_BACK = {"artifacts": "what trials printed and collected"}
_MOST_REASON = 1000
_MOST_PUBLICATIONS = 20  # of one experiment


class WithdrawnError(InputError):
    """A publication was withdrawn; says why."""


class DamagedError(InputError):
    """The archive of a publication is not what was published."""


def check_readable(publication: Publication) -> None:
    """Make sure that what a publication says may be shown.

    Raises:
        AwayError: the storage of files does not answer.
        DamagedError: its archive is not what was published.
        WithdrawnError: it was withdrawn.
    """
    check_standing(publication)
    if not is_intact(publication):
        raise _tell_damage(publication)


def find_archive(publication: Publication) -> KeptFile:
    """Return the archive of a publication, which may be read.

    Raises:
        AwayError, DamagedError, WithdrawnError: as `check_readable`.
    """
    check_readable(publication)
    kept = find_file(publication.sha256)
    if kept is None:
        raise _tell_damage(publication)
    return kept


def _tell_damage(publication: Publication) -> DamagedError:
    return DamagedError(
        "the archive of this publication is damaged on this coordinator: it is not what was published",
        where=f"publication {publication.key}",
        remedy="Tell the people who run this coordinator: a backup has it.",
    )


def check_standing(publication: Publication) -> None:
    """Make sure that a publication was not withdrawn.

    Raises:
        WithdrawnError: it was.
    """
    if publication.withdrawn_unix_s is not None:
        raise WithdrawnError(
            f"this publication was withdrawn: {publication.withdrawn_reason}",
            where=f"publication {publication.key}",
        )


def publish_experiment(
    experiment: FleetExperiment,
    user: User,
    describe: Callable[[str], Description],
    *,
    held_back: tuple[str, ...] = (),
    enter_more: Callable[[Publication], None] = lambda _: None,
) -> Publication:
    """Write the archive of an experiment that has ended, and enter its publication; everybody may read it.

    Args:
        experiment: of the user, or the user is an administrator.
        user: who publishes.
        describe: makes the description from the key of the address.
        held_back: folders of `HELD_BACK` that stay away.
        enter_more: enters, given the publication, what belongs to the same transaction.

    Raises:
        AwayError: the storage of files does not answer.
        BundleError: the database does not hold what a bundle needs.
        BusyError, FullError: too many are being made already.
        GoneError: the client left.
        InputError: it has not ended, nothing was measured, or it is too large, also for the user's quota.
    """
    if experiment.state not in ENDED_EXPERIMENTS:
        raise InputError("the experiment has not ended", remedy="Publish it when its last trial is in.")
    if Publication.objects.filter(experiment=experiment).count() >= _MOST_PUBLICATIONS:
        raise InputError(
            f"it was published {_MOST_PUBLICATIONS} times already", remedy="Cite one of these publications."
        )
    key = secrets.token_hex(6)
    description = describe(key)
    place = BUNDLES.take(user.pk)
    try:
        with making_archive(experiment, user, description, held_back) as draft:
            made = draft.made
            # Before it is kept, which may take long; another may be entered meanwhile.
            _check_quota(user, made.size_bytes)

            def enter() -> Publication:
                try:
                    return run_as_writer(_enter, key, experiment.pk, user, description, made, enter_more)
                except BaseException:
                    # Its key is in it: nothing else names this archive.
                    with suppress(AwayError, OSError):
                        remove_files((made.sha256,))
                    raise

            return keep_file(draft.path, made.sha256, enter)
    finally:
        place.leave()


def _check_quota(user: User, size_bytes: int) -> None:
    _, held = count_unclaimed(FileUser(name_holder(user), user=user))
    most = find_quota(user).stored_bytes
    if held + size_bytes > most:
        raise InputError(
            f"its archive has {format_size(size_bytes)}; {format_size(held)} of yours are here, and at most "
            f"{format_size(most)} are kept",
            remedy="Hold back what trials printed and collected, or ask the operator of the coordinator for "
            "room.",
        )


@transaction.atomic
def _enter(
    key: str,
    experiment_id: int,
    user: User,
    description: Description,
    made: MadeArchive,
    enter_more: Callable[[Publication], None],
) -> Publication:
    """Enter a publication; who may read the result may read its experiment from now on."""
    _check_quota(user, made.size_bytes)
    experiment = FleetExperiment.objects.only("public").get(pk=experiment_id)
    earlier = Publication.objects.filter(experiment_id=experiment_id).order_by("published_unix_s").first()
    was_public = experiment.public if earlier is None else read_statement(earlier).was_public
    statement = msgspec.structs.replace(made.statement, was_public=was_public)
    FleetExperiment.objects.filter(pk=experiment_id).update(public=True)
    entered = Publication.objects.create(
        key=key,
        experiment_id=experiment_id,
        publisher=user,
        published_unix_s=description.published_unix_s,
        sha256=made.sha256,
        size_bytes=made.size_bytes,
        description=msgspec.json.encode(description),
        words="\n".join((description.title, *(author.name for author in description.authors))),
        statement=msgspec.json.encode(statement),
    )
    _note(EventKind.PUBLISHED, entered, user, f"publication {key}")
    enter_more(entered)
    return entered


def withdraw_publication(
    publication: Publication,
    user: User,
    reason: str,
    enter_more: Callable[[Publication], None] = lambda _: None,
) -> None:
    """Withdraw a publication: its address says why from now on, and its archive is gone.

    `enter_more` enters, given the publication, what belongs to the same transaction.

    Raises:
        DeniedError: it is another's.
        InputError: there is no reason, or it was withdrawn before.
    """
    if publication.publisher_id != user.pk and not is_admin(user):
        raise DeniedError(
            f"this publication is {publication.publisher.username}'s",
            remedy="Ask its publisher or an administrator.",
        )
    if publication.withdrawn_unix_s is not None:
        raise InputError("it was withdrawn already", remedy="Nothing is left to be done.")
    reason = clean_text(reason).strip()[:_MOST_REASON]
    if not reason:
        raise InputError("there is no reason", remedy="Say why: readers who cite it will find it here.")
    run_as_writer(_enter_withdrawal, publication.pk, user, reason, enter_more)
    # Afterwards: an archive without a withdrawal would be a damaged one, and a storage may be slow.
    drop_withdrawn_archives()


@transaction.atomic
def _enter_withdrawal(key: str, user: User, reason: str, enter_more: Callable[[Publication], None]) -> None:
    publication = Publication.objects.select_related("publisher", "experiment").get(pk=key)
    publication.withdrawn_unix_s, publication.withdrawn_reason = time.time(), reason
    publication.save(update_fields=["withdrawn_unix_s", "withdrawn_reason"])
    others = Publication.objects.filter(withdrawn_unix_s=None)
    is_last = not others.filter(experiment_id=publication.experiment_id).exists()
    if is_last and not read_statement(publication).was_public:
        FleetExperiment.objects.filter(pk=publication.experiment_id).update(public=False)
    _note(EventKind.WITHDRAWN, publication, user, f"publication {key}: {reason}")
    enter_more(publication)


def _note(kind: EventKind, publication: Publication, user: User, detail: str) -> None:
    event = NewEvent(kind, user=user.username, experiment_id=publication.experiment_id, detail=detail)
    add_events([event], time.time())


def find_publication(key: str) -> Publication:
    """Return the publication of an address, withdrawn or not.

    Raises:
        NotFoundError: there is none.
    """
    found = list_publications().filter(pk=key).first() if len(key) <= 12 else None
    if found is None:
        raise NotFoundError("there is no publication at this address", where="publications")
    return found


def suggest_title(experiment: FleetExperiment) -> str:
    """Return the question of an experiment, or its name where it has none."""
    try:
        return parse_experiment(experiment.text, name="experiment.toml").question or experiment.name
    except InputError:
        # Files of an earlier version may hold what this one no longer takes.
        return experiment.name


def list_publications() -> QuerySet[Publication]:
    """Return all publications, the latest first."""
    return Publication.objects.select_related("publisher", "experiment").order_by("-published_unix_s", "key")


def read_description(publication: Publication) -> Description:
    """Return what a publication says of itself, with the digest by which it is cited."""
    told = msgspec.json.decode(bytes(publication.description), type=Description)
    return msgspec.structs.replace(told, digest=publication.sha256)


def read_statement(publication: Publication) -> PublishedStatement:
    """Return what a publication says."""
    return msgspec.json.decode(bytes(publication.statement), type=PublishedStatement)
