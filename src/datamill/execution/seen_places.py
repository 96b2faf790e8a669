"""What trials see of this machine: folders that packages need, and paths in their `env` and commands."""

from __future__ import annotations

import shlex
import tarfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from datamill.execution.worker import ask_worker
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment, Package
from datamill.experiment.messages.arguments import argument
from datamill.packing.packages import PackageFacts

#: No variable of a package is longer, and no `env` larger.
_MOST_ENV_BYTES = 1 << 20


class PlaceSeen(msgspec.Struct, frozen=True):
    """A place of this host, as the worker tells: `objection` is why it cannot be shown, empty when it can."""

    path: str
    exists: bool
    is_seen: bool
    objection: str


def look_at_places(binary: Path, paths: Iterable[str]) -> dict[str, PlaceSeen]:
    """Return what a trial sees of places of this host, by path.

    Raises:
        WorkerError: when the worker cannot tell.
    """
    asked = list(dict.fromkeys(paths))
    if not asked:
        return {}
    places = msgspec.json.decode(ask_worker(binary, "places", *asked), type=list[PlaceSeen])
    return dict(zip(asked, places, strict=True))


def check_needed_folders(experiment: Experiment, binary: Path, *, where: str, bundle: Path | None) -> None:
    """Refuse folders that packages need and that are not here, or that no trial may be shown.

    Args:
        experiment: the question.
        binary: the worker.
        where: name of the experiment file, for messages.
        bundle: the folder that the trials will write to, None when it is not known yet.

    Raises:
        InputError: with the package and the folder.
        WorkerError: when the worker cannot tell.
    """
    items = [("package", item) for item in experiment.packages]
    items += [("load", item) for item in experiment.loads]
    seen = look_at_places(binary, (folder for _, item in items for folder in item.needs.folders))
    for kind, item in items:
        for folder in item.needs.folders:
            problem = ""
            if not Path(folder).is_dir():
                problem = f"{folder} is not a folder of this machine"
            elif experiment.isolation != "plain" and seen[folder].objection:
                problem = seen[folder].objection
            elif bundle is not None and bundle.resolve().is_relative_to(Path(folder).resolve()):
                problem = f"the folder {folder} holds the bundle {bundle}, which no trial sees"
            if problem:
                raise _refuse_folder(item, kind, folder, problem, where, bundle)


def _refuse_folder(
    item: Package, kind: str, folder: str, problem: str, where: str, bundle: Path | None
) -> InputError:
    elsewhere = f", or another bundle with {argument('out', verb='run')}." if bundle is not None else "."
    if item.command is not None and item.command.directory == folder:
        return InputError(
            f'{kind} "{item.name}" cannot run in its folder: {problem}',
            where=f"{where}: [[{kind}]] directory",
            remedy='Name a folder with the files that it needs as directory, or write directory = "" if it '
            f"needs none{elsewhere}",
        )
    return InputError(
        f'{kind} "{item.name}" needs a folder that it cannot have: {problem}',
        where=f"{where}: [[{kind}]] folders",
        remedy=f"Name the folder with the files alone, by its whole path{elsewhere}",
    )


def list_unseen_values(
    experiment: Experiment, packages: Iterable[PackageFacts], loads: Iterable[PackageFacts], binary: Path
) -> list[str]:
    """Return what packages name in `env` or their commands and trials do not see here, a sentence each.

    Raises:
        WorkerError: when the worker cannot tell.
    """
    if experiment.isolation in ("plain", "guest"):
        return []
    paths = {facts.name: _read_paths(facts.path) for facts in packages}
    paths_of_loads = {facts.name: _read_paths(facts.path) for facts in loads}
    found = [("package", item, *pair) for item in experiment.packages for pair in paths[item.name]]
    found += [("load", item, *pair) for item in experiment.loads for pair in paths_of_loads[item.name]]
    for kind, items in (("package", experiment.packages), ("load", experiment.loads)):
        found += [(kind, item, "", word) for item in items for word in _list_command_paths(item)]
    seen = look_at_places(binary, (value for *_, value in found))
    return [
        (
            f'{name} in env of {kind} "{item.name}" is {value}, which trials do not see. '
            if name
            else f'The command of {kind} "{item.name}" names {value}, which trials do not see. '
        )
        + _advise(item, Path(value), kind)
        for kind, item, name, value in found
        if seen[value].exists and not seen[value].is_seen and not _is_shown(item, value)
    ]


def _list_command_paths(item: Package) -> list[str]:
    """Words of a package's command that are absolute paths, as far as they can be told from a shell's."""
    try:
        words = shlex.split(item.command.text) if item.command is not None else []
    except ValueError:
        return []
    return [word for word in words if word.startswith("/") and "\0" not in word]


def _is_shown(item: Package, value: str) -> bool:
    return any(Path(value).is_relative_to(folder) for folder in item.needs.folders)


def _advise(item: Package, place: Path, kind: str) -> str:
    folder = place if place.is_dir() else place.parent
    own = item.command.directory if item.command is not None else ""
    asked = [name for name in item.needs.folders if name != own]
    shown = ", ".join(f'"{name}"' for name in (*asked, str(folder)))
    return f"Add folders = [{shown}] to its [[{kind}]]."


def _read_paths(package: Path) -> list[tuple[str, str]]:
    """Names and values of a package's `env` that are absolute paths."""
    values = []
    for line in _read_env(package).splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        try:
            words = shlex.split(value)
        except ValueError:
            continue
        if equals and not name.startswith("#") and len(words) == 1 and words[0].startswith("/"):
            values.append((name.strip(), words[0]))
    return values


def _read_env(package: Path) -> str:
    try:
        if package.is_dir():
            with (package / "env").open("rb") as file:
                return file.read(_MOST_ENV_BYTES).decode(errors="replace")
        with tarfile.open(package) as archive:
            for name in ("env", "./env"):
                member = archive.extractfile(name) if name in archive.getnames() else None
                if member is not None:
                    return member.read(_MOST_ENV_BYTES).decode(errors="replace")
    except (OSError, tarfile.TarError):
        # What is wrong with a package is said elsewhere.
        pass
    return ""
