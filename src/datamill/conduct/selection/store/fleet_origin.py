"""Which machine of a fleet built and measured what a store holds, and the experiment that is under way."""

from __future__ import annotations

from typing import Literal

import msgspec

from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument

ORIGIN_FILE, SUBMITTED_FILE = "fleet.json", "submitted.json"
#: What an experiment of the fleet is for: versions built, programs measured, programs profiled alone.
Purpose = Literal["build", "measure", "profile"]


class FleetOrigin(msgspec.Struct, frozen=True):
    """The one machine of a fleet that all of a store comes from: versions are compared, machines are not.

    `worker_id` and `hardware` are those that it had when the first experiment came home; empty before.
    """

    machine: str
    worker_id: str = ""
    hardware: dict[str, str] = {}


class PendingSubmission(msgspec.Struct, frozen=True):
    """An experiment of the fleet that is not in the store yet.

    It is written down before it is submitted: `number` is 0 until the coordinator has told it, and `name`
    finds it there all the same. `url` is the coordinator's address. `builds` says of each commit by what it
    is built (`kept_commands.spell_build`): the settings may be others when it comes home.
    """

    purpose: Purpose
    name: str
    url: str
    number: int = 0
    builds: dict[str, str] = {}


def read_origin(store: SelectionStore) -> FleetOrigin | None:
    """Return the machine of the fleet that a store comes from; None where it was collected here."""
    return store.read_json(ORIGIN_FILE, FleetOrigin)


def read_submission(store: SelectionStore) -> PendingSubmission | None:
    """Return the experiment that is under way, or None."""
    return store.read_json(SUBMITTED_FILE, PendingSubmission)


def forget_submission(store: SelectionStore) -> None:
    """Note that no experiment is under way."""
    (store.folder / SUBMITTED_FILE).unlink(missing_ok=True)


def check_collected_here(store: SelectionStore) -> None:
    """Refuse to build or measure for a store here that a fleet collects.

    Raises:
        InputError: a machine of a fleet built and measured what it holds.
    """
    origin = read_origin(store)
    if origin is not None:
        raise InputError(
            f"all that it holds was built and measured on {origin.machine}, a machine of a fleet: what is "
            "built or measured here cannot be compared with that",
            where=str(store.folder),
            remedy=f"Go on there with {argument('fleet', verb='selection collect')}, or name another store: "
            f"{argument('store', verb='selection collect')}.",
        )


def check_collected_on_fleet(store: SelectionStore, machine: str | None) -> None:
    """Refuse to have a fleet collect for a store that was collected here, or on another of its machines.

    Raises:
        InputError: the store holds versions of another machine than `machine`.
    """
    origin = read_origin(store)
    other = argument("store", verb="selection collect")
    if origin is None and store.programs:
        raise InputError(
            "what it holds was collected on this machine, with which a fleet's cannot be compared",
            where=str(store.folder),
            remedy=f"Name another store: {other}.",
        )
    if origin is not None and origin.worker_id and machine not in (None, origin.machine):
        raise InputError(
            f"all that it holds was built and measured on {origin.machine}, not on {machine}",
            where=str(store.folder),
            remedy=f"Name that machine or none, or another store: {other}.",
        )
