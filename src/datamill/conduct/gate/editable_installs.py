"""Python packages that are installed from the repository as it lies there: base and head would share them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from datamill.experiment.command_lines import SHELL, list_words
from datamill.experiment.gate.gate import Benchmark

_RECORDS = "lib/python3*/site-packages/*.dist-info/direct_url.json"
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
#: What the head of a script of a package names in its first two lines; the second where the path is long.
_HEAD_BYTES = 512
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SEARCHED = "PYTHONPATH="
#: Options of Python that have a word of their own behind them, and those that keep the current folder out.
_WITH_WORD, _ISOLATING = ("-W", "-X"), ("-I", "-P")


def list_editable_installs(
    benchmarks: Iterable[Benchmark], top: Path, checkouts: Sequence[Path]
) -> list[str]:
    """Return a caution where the Python that benchmarks call has packages of the repository itself.

    An editable installation (`pip install -e`) imports the files of the user's own folder, whichever revision
    is measured: then base and head are the same. Looked at is the environment of each command's program, as
    far as it is found in PATH and is Python or a script of it. Packages that Python finds in the checkouts
    before it looks there are left out.

    Args:
        benchmarks: whose commands are looked at.
        top: the repository.
        checkouts: folders of base and head in which commands run.
    """
    found = {name for benchmark in benchmarks for name in _list_shared(benchmark, top, checkouts)}
    return [
        f"{name} is installed in editable form from this repository: where benchmarks import it from there, "
        "base and head both measure the files here, and no change shows. Have build install each revision, "
        'with build = "python3 -m venv .venv && .venv/bin/pip install .", and call .venv/bin/python'
        for name in sorted(found)
    ]


def _list_shared(benchmark: Benchmark, top: Path, checkouts: Sequence[Path]) -> list[str]:
    variables, words = _split_command(benchmark.command)
    program = words[0] if words else ""
    path = None if "/" in program and not program.startswith("/") else shutil.which(program)
    if path is None or not _is_python(Path(path)):
        return []
    folders = _list_searched(variables, words)
    places = [[place / benchmark.directory / folder for folder in folders] for place in checkouts]
    return [
        name
        for name, modules in _list_editable(Path(path), top)
        if not all(_holds(searched, modules) for searched in places)
    ]


def _split_command(command: str) -> tuple[list[str], list[str]]:
    """The variables before a command, which has a shell read it, and its words."""
    words = list(list_words(command, shell=None))
    if words[:2] == [SHELL, "-c"]:
        try:
            words = shlex.split(words[2])
        except ValueError:
            return [], []
    count = next((place for place, word in enumerate(words) if not _VARIABLE.match(word)), len(words))
    return words[:count], words[count:]


def _is_python(path: Path) -> bool:
    if _PYTHON.fullmatch(path.name):
        return True
    with suppress(OSError), path.open("rb") as file:
        lines = file.read(_HEAD_BYTES).split(b"\n")[:2]
        return lines[0].startswith(b"#!") and _PYTHON.search(b" ".join(lines).decode("latin-1")) is not None
    return False


def _list_searched(variables: Sequence[str], words: Sequence[str]) -> list[str]:
    """Folders that Python looks into before those of its environment, seen from where the command runs."""
    given = next((word.removeprefix(_SEARCHED) for word in variables if word.startswith(_SEARCHED)), "")
    folders = [re.sub(r"^\$(?:PWD\b|\{PWD\})/?", "", folder) for folder in given.split(":")] if given else []
    if not _PYTHON.fullmatch(Path(words[0]).name):
        # A script of a package looks into its own folder, which is in the environment.
        return folders
    place = 1
    while place < len(words) and words[place].startswith("-"):
        option = words[place]
        if option.startswith(_ISOLATING):
            return [] if option.startswith("-I") else folders
        if option.startswith(("-m", "-c")):
            return ["", *folders]
        place += 2 if option in _WITH_WORD else 1
    return [str(Path(words[place]).parent), *folders] if place < len(words) else folders


def _holds(folders: Sequence[Path], modules: Sequence[str]) -> bool:
    """Whether all modules are in one of some folders."""
    return all(
        any((folder / name).is_dir() or (folder / f"{name}.py").is_file() for folder in folders)
        for name in modules
    )


def _list_editable(program: Path, top: Path) -> list[tuple[str, list[str]]]:
    """Packages of the repository in the environment of a program, each with the modules at its top."""
    packages = []
    # Not resolved: the program of an environment is usually a link to one elsewhere.
    for record in program.parent.parent.glob(_RECORDS):
        with suppress(OSError, ValueError, AttributeError):
            about = json.loads(record.read_text(encoding="utf-8"))
            source = Path(unquote(urlsplit(about.get("url", "")).path)).resolve()
            if about.get("dir_info", {}).get("editable") and source.is_relative_to(top.resolve()):
                name = record.parent.name.partition("-")[0]
                packages.append((name, _list_modules(record.parent) or [name]))
    return packages


def _list_modules(about: Path) -> list[str]:
    with suppress(OSError):
        return (about / "top_level.txt").read_text(encoding="utf-8").split()
    return []
