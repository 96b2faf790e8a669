"""A factor's archive looked into, and registered for everybody."""

from __future__ import annotations

from django.contrib.auth.models import User

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Limits
from datamill.packing.user_factors import UserFactor
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.coordinator.registry.registered import register_factor
from datamill.service.files.rights import list_unusable_files
from datamill.service.files.store import find_file
from datamill.service.models import RegisteredFactor
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.submissions.planned_apart import INSPECTION, inspect_archive


def register_archive(sha256: str, user: User, now_s: float) -> RegisteredFactor:
    """Register the factor in an archive that the user brought.

    Raises:
        AwayError: the storage of files does not answer.
        InputError: when the user did not bring it, it is no factor, or its name is taken.
    """
    if list_unusable_files(user, [sha256]):
        raise InputError("this file is not here", where=sha256, remedy="Upload it first.")
    kept = find_file(sha256)
    if kept is None:
        raise InputError("this file is not here any more", where=sha256, remedy="Upload it first.")
    with kept.at_hand() as path:
        try:
            factor = call_bounded(INSPECTION, inspect_archive, "factor", path, Limits(), "factor")
        except InputError as problem:
            # Where the store has it is no matter of users.
            raise problem.moved(problem.where.replace(str(path), "factor")) from None
    if not isinstance(factor, UserFactor):
        raise InputError("this file is not a factor", where=sha256)
    return run_as_writer(register_factor, factor, sha256, user, now_s)
