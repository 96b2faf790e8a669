"""What a package asks of the host, from its table in an experiment file."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, get_args

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, KernelInterface, PackageNeeds
from datamill.experiment.file.source import Source
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.messages.suggestions import suggest_name

NEED_KEYS = ("network", "devices", "kernel", "privileged", "folders")

_INTERFACES: tuple[KernelInterface, ...] = get_args(KernelInterface)


def parse_needs(entry: Mapping[str, Any], source: Source, section: str, index: int) -> PackageNeeds:
    """Return the needs that a table `[[package]]` or `[[load]]` names.

    Raises:
        InputError: when one is not of its kind, with the line and the remedy.
    """

    def flag(key: str) -> bool:
        given = entry.get(key, False)
        if not isinstance(given, bool):
            raise InputError(
                f"{key} must be true or false",
                where=source.locate(section, key, occurrence=index),
                remedy=f"Write {key} = true where the package cannot do without, or leave it out.",
            )
        return given

    def texts(key: str, example: str) -> tuple[str, ...]:
        given = entry.get(key, [])
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            raise InputError(
                f"{key} must be a list of texts",
                where=source.locate(section, key, occurrence=index),
                remedy=f"Write, say, {key} = [{example}].",
            )
        return tuple(dict.fromkeys(given))

    def read_devices() -> tuple[str, ...]:
        devices = texts("devices", '"/dev/kvm"')
        for device in devices:
            if not device.startswith("/dev/") or posixpath.normpath(device) != device:
                raise InputError(
                    f'"{device}" is not the path of a device',
                    where=source.locate(section, "devices", occurrence=index),
                    remedy='Name devices by plain paths such as "/dev/kvm".',
                )
        return devices

    def read_interface(text: str) -> KernelInterface:
        interface = next((item for item in _INTERFACES if item == text), None)
        if interface is None:
            raise InputError(
                f'unknown interface of the kernel "{text}"',
                where=source.locate(section, "kernel", occurrence=index),
                remedy=suggest_name(text, _INTERFACES),
            )
        return interface

    def read_folders() -> tuple[str, ...]:
        folders = texts("folders", '"/home/me/spec2017"')
        for folder in folders:
            if not folder.startswith("/") or posixpath.normpath(folder) != folder or folder == "/":
                raise InputError(
                    f'"{folder}" is not the whole path of a folder',
                    where=source.locate(section, "folders", occurrence=index),
                    remedy='Name folders by plain paths from the root, such as "/home/me/spec", without ~ '
                    "and ..",
                )
        return folders

    mistakes = Mistakes()
    needs = PackageNeeds(
        mistakes.attempt(lambda: flag("network"), False),
        mistakes.attempt(read_devices, ()),
        mistakes.attempt(
            lambda: tuple(read_interface(text) for text in texts("kernel", '"perf_events"')), ()
        ),
        mistakes.attempt(lambda: flag("privileged"), False),
        mistakes.attempt(read_folders, ()),
    )
    mistakes.refuse()
    return needs


def check_guests_needs(experiment: Experiment, source: Source) -> None:
    """Refuse to show folders of the host to packages in guests, which see nothing of the host.

    Raises:
        InputError: with the line of the first package or load that needs one.
    """
    if experiment.isolation != "guest":
        return
    for section, items in (("package", experiment.packages), ("load", experiment.loads)):
        for index, item in enumerate(items):
            if item.command is not None and item.command.directory:
                raise InputError(
                    f'{section} "{item.name}" runs in a folder of the host, and a guest sees none of them',
                    where=source.locate(section, "command", occurrence=index),
                    remedy='Write directory = "" if it needs no files of this machine; else put them into '
                    "the folder of a package, or choose another isolation.",
                )
            if item.needs.folders:
                raise InputError(
                    f'{section} "{item.name}" needs folders of the host, and a guest sees none of them',
                    where=source.locate(section, "folders", occurrence=index),
                    remedy="Put the files into the package, or choose another isolation.",
                )
