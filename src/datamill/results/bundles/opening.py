"""Opening a bundle, and holding it while its experiment runs."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, get_type_hints

import msgspec

from datamill.design.design import Design
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.bundle_head import READ_FORMATS, BundleHead
from datamill.results.bundles.placed_trials import place_trials
from datamill.results.judgement.judged_attempts import ATTEMPTS_FILE, read_attempts

_T = TypeVar("_T")
#: Time that the worker of a killed command gets to end its trial.
_LOCK_WAIT_S = 5.0


class _Format(msgspec.Struct, frozen=True):
    """What a head of any format says first."""

    format: int


def _define_design_file() -> type[msgspec.Struct]:
    """Make the record of `design.json`: a design that refuses fields it does not know."""
    kinds = get_type_hints(Design)
    fields = [
        (item.name, kinds[item.name])
        if item.default is dataclasses.MISSING
        else (item.name, kinds[item.name], item.default)
        for item in dataclasses.fields(Design)
    ]
    return msgspec.defstruct("DesignFile", fields, frozen=True, forbid_unknown_fields=True)


_DesignFile = _define_design_file()


def open_bundle(folder: Path) -> Bundle:
    """Open a bundle.

    Raises:
        InputError: the folder is no bundle, or one of another format, is damaged, or its question or plan was
            changed.
    """
    head_file = folder / "bundle.json"
    if not head_file.is_file():
        raise InputError(
            "this is not a bundle: it has no bundle.json",
            where=str(folder),
            remedy="Name the folder that `datamill run` made.",
        )
    # A newer format may have fields that this one does not know.
    told = _read(head_file)
    found = _decode(told, _Format, head_file).format
    if found not in READ_FORMATS:
        raise InputError(
            f"the bundle has format {found}, this datamill reads {' and '.join(map(str, READ_FORMATS))}",
            where=str(head_file),
            remedy="Open it with the datamill that made it, or a newer one.",
        )
    head = _decode(told, BundleHead, head_file)
    fixed = {name: _read(folder / name) for name in ("experiment.toml", "design.json")}
    for name, content in fixed.items():
        if hashlib.sha256(content).hexdigest() != head.sha256.get(name):
            raise InputError(
                "the file was changed after the experiment had begun",
                where=str(folder / name),
                remedy="Question and plan are fixed before data: restore it, or begin a new experiment.",
            )
    design = Design(
        **msgspec.structs.asdict(_decode(fixed["design.json"], _DesignFile, folder / "design.json"))
    )
    experiment = parse_experiment(fixed["experiment.toml"].decode(), name=str(folder / "experiment.toml"))
    judged = read_attempts(folder / ATTEMPTS_FILE)
    if judged is not None:
        design = place_trials(design, judged.made_on)
    hardware = _read_hardware(folder / "fleet.json")
    return Bundle(folder, head, experiment, design, judged, hardware)


class _Member(msgspec.Struct, frozen=True):
    """What is read of a machine that took part."""

    name: str
    hardware: dict[str, str] = {}


class _Fleet(msgspec.Struct, frozen=True):
    """What is read of a fleet."""

    workers: tuple[_Member, ...] = ()


def _read_hardware(file: Path) -> dict[str, dict[str, str]]:
    """Return the levels of a fleet's machines by dimension, as its coordinator had them; else nothing."""
    if not file.is_file():
        return {}
    return {member.name: member.hardware for member in _decode(_read(file), _Fleet, file).workers}


def _decode(content: bytes, kind: type[_T], file: Path) -> _T:
    """Return the record that a JSON file of a bundle holds."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _describe_damage(file, str(error)) from None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise _describe_damage(file, error.strerror or str(error)) from None


def _describe_damage(file: Path, reason: str) -> InputError:
    return InputError(
        f"the bundle is damaged: {reason[:1].lower()}{reason[1:]}",
        where=str(file),
        remedy="Copy the folder again from where it is whole.",
    )


@contextmanager
def lock_bundle(bundle: Bundle) -> Iterator[int]:
    """Hold the bundle for this process and whoever inherits the yielded descriptor; a crash releases it.

    The worker of a killed command holds it until its trial's processes are gone, so this waits for a moment.

    Raises:
        InputError: when another process is running it.
    """
    handle = os.open(bundle.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline_s = time.monotonic() + _LOCK_WAIT_S
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline_s:
                    raise InputError(
                        "another datamill is running this experiment",
                        where=str(bundle.folder),
                        remedy="Wait until it has ended.",
                    ) from None
                time.sleep(0.05)
        yield handle
    finally:
        os.close(handle)
