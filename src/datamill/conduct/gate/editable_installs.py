"""Python packages that are installed from the repository as it lies there: base and head would share them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from datamill.experiment.command_lines import list_words
from datamill.experiment.gate.gate import Benchmark

_RECORDS = "lib/python3*/site-packages/*.dist-info/direct_url.json"


def list_editable_installs(benchmarks: Iterable[Benchmark], top: Path) -> list[str]:
    """Return a caution where the Python that benchmarks call has packages of the repository itself.

    An editable installation (`pip install -e`) imports the files of the user's own folder, whichever revision
    is measured: then base and head are the same. Looked at is the environment of each command's program, as
    far as it is found in PATH.

    Args:
        benchmarks: whose commands are looked at.
        top: the repository.
    """
    programs = {list_words(benchmark.command, shell=None)[0] for benchmark in benchmarks}
    found = {name for program in programs for name in _list_editable(program, top)}
    return [
        f"{name} is installed in editable form from this repository: where benchmarks import it from there, "
        "base and head both measure the files here, and no change shows. Have build install each revision, "
        'with build = "python3 -m venv .venv && .venv/bin/pip install .", and call .venv/bin/python'
        for name in sorted(found)
    ]


def _list_editable(program: str, top: Path) -> list[str]:
    path = None if "/" in program and not program.startswith("/") else shutil.which(program)
    if path is None:
        return []
    names = []
    # Not resolved: the program of an environment is usually a link to one elsewhere.
    for record in Path(path).parent.parent.glob(_RECORDS):
        with suppress(OSError, ValueError, AttributeError):
            about = json.loads(record.read_text(encoding="utf-8"))
            source = Path(unquote(urlsplit(about.get("url", "")).path)).resolve()
            if about.get("dir_info", {}).get("editable") and source.is_relative_to(top.resolve()):
                names.append(record.parent.name.partition("-")[0])
    return names
