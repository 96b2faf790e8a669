"""`datamill fork`: somebody's experiment as a folder of one's own, to be changed and submitted."""

from __future__ import annotations

import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click

from datamill.cli.console import name_command, print_clean
from datamill.cli.coordinator.coordinator_client import CoordinatorClient, connect
from datamill.cli.coordinator.coordinator_settings import coordinator_options
from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.packing.unpacking import unpack_members
from datamill.protocol.api.submissions import ExperimentSource, SubmittedFile

#: Tables of an experiment file that name folders, and the kind that the API calls each.
_TABLES = {"package": "package", "load": "load", "factor": "factor"}


@dataclass(frozen=True, slots=True)
class NamedFolder:
    """A folder that the file names; `name` is empty for a factor's."""

    path: str
    name: str


@click.command()
@click.argument("number", metavar="ID", type=click.IntRange(min=1))
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="The new folder [NAME].")
@coordinator_options
def fork(number: int, out: Path | None, url: str | None, key: str | None) -> None:
    """Make a folder of experiment ID, yours or a public one: its file and its packages, unpacked.

    Change what you like; datamill submit sends it, datamill run executes it here. Packages of others are
    programs of theirs: look before you run them.
    """
    with connect(url, key) as coordinator:
        source = coordinator.get(f"/experiments/{number}/source", ExperimentSource)
        folder = out or Path(PurePosixPath(source.name).name)
        if folder.exists():
            raise InputError("the folder exists", where=str(folder), remedy="Name another one with --out.")
        text, places = place_files(source)
        folder.mkdir(parents=True)
        for file, place in places:
            _bring(coordinator, file, folder / place)
        (folder / "experiment.toml").write_text(text, encoding="utf-8")
    print_clean(f"{folder}: {source.owner}'s experiment {number} with {count_nouns(len(places), 'archive')}")
    print_clean(f"{name_command()} submit {folder}")


def place_files(source: ExperimentSource) -> tuple[str, list[tuple[SubmittedFile, str]]]:
    """Return the text of the file, and for each archive the folder beside it that the text then names.

    What lay outside of the experiment's folder comes to lie in it, and the text is changed so. Packages that
    are a command in the text need no folder.

    Raises:
        InputError: the text is no experiment file, or names a folder in a way that cannot be changed.
    """
    text = source.text
    places: list[tuple[SubmittedFile, str]] = []
    taken = [PurePosixPath("experiment.toml")]
    for table, kind in _TABLES.items():
        for entry in _list_entries(text, table):
            path = entry.path
            if any(place == path for _, place in places):
                continue
            file = next((f for f in source.packages if f.kind == kind and _is_it(f, entry)), None)
            if file is None:
                continue
            place = path if _lies_inside(path, taken) else _choose_place(kind, file.name, taken)
            if place != path:
                text = _rename(text, table, path, place)
            taken.append(PurePosixPath(place))
            places.append((file, place))
    return text, places


def _list_entries(text: str, table: str) -> list[NamedFolder]:
    try:
        found = tomllib.loads(text).get(table, [])
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the file of the experiment cannot be read: {error}") from None
    entries = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    return [
        NamedFolder(entry["path"], str(entry.get("name", "")))
        for entry in entries
        if isinstance(entry.get("path"), str)
    ]


def _is_it(file: SubmittedFile, entry: NamedFolder) -> bool:
    # A factor's name stands in its own folder; its table names the folder alone.
    return file.name == entry.name if entry.name else file.name in PurePosixPath(entry.path).name


def _lies_inside(path: str, taken: list[PurePosixPath]) -> bool:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or pure.suffix in (".gz", ".tgz"):
        return False
    return not any(pure == other or pure in other.parents or other in pure.parents for other in taken)


def _choose_place(kind: str, name: str, taken: list[PurePosixPath]) -> str:
    wanted = PurePosixPath(name).name or kind
    place, number = wanted, 2
    while not _lies_inside(place, taken):
        place, number = f"{wanted}-{number}", number + 1
    return place


def _rename(text: str, table: str, path: str, place: str) -> str:
    """Have the text name another folder, in the one spelling that people use."""
    for quote in ('"', "'"):
        changed = text.replace(f"{quote}{path}{quote}", f"{quote}{place}{quote}")
        entries = _list_entries(changed, table)
        if changed != text and any(entry.path == place for entry in entries):
            return changed
    raise InputError(
        f'the folder "{path}" of a {table} cannot be given another place in the file',
        remedy="Fetch the experiment with datamill fetch, and write the file anew.",
    )


def _bring(coordinator: CoordinatorClient, file: SubmittedFile, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="datamill-fork-") as scratch:
        archive = Path(scratch) / "archive.tar.gz"
        coordinator.download(file.sha256, archive)
        unpack_members(archive, folder)
