"""The CPythons of this machine that a trace is tried on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

#: More of them, between colons.
VARIABLE = "DATAMILL_TEST_INTERPRETERS"
_MINORS = range(11, 16)


@cache
def list_interpreters() -> dict[str, str]:
    """Return one interpreter of each version that is here, by its version: such as `3.11.2` and its path.

    Of those that the variable names each is returned: builds of one version have their paths besides.
    """
    named = [place for place in os.environ.get(VARIABLE, "").split(":") if place]
    places = [sys.executable, "/usr/bin/python3"]
    places += filter(None, (shutil.which(f"python3.{minor}") for minor in _MINORS))
    # Those that a manager of versions keeps in a folder each.
    places += sorted(map(str, Path.home().glob(".pyenv/versions/*/bin/python3")))
    found: dict[str, str] = {}
    for place in named:
        if version := _ask_version(place):
            found[f"{version} {place}" if version in found else version] = place
    for place in places:
        if version := _ask_version(place):
            found.setdefault(version, place)
    return found


@cache
def has_pools(place: str) -> bool:
    """Whether an interpreter serves requests from pools, as its own statistics say."""
    return "# arenas allocated total" in _ask(place, "import sys; sys._debugmallocstats()").stderr


@cache
def is_free_threaded(place: str) -> bool:
    """Whether an interpreter has no global lock."""
    return "free-threading" in _ask(place, "import sys; print(sys.version)").stdout


def _ask(place: str, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([place, "-c", program], capture_output=True, text=True, check=True, timeout=60)


def _ask_version(place: str) -> str:
    try:
        told = subprocess.run([place, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except OSError:
        return ""
    version = re.fullmatch(r"Python (3\.(\d+)\.\S+)", told.stdout.strip())
    return version[1] if version and int(version[2]) in _MINORS else ""
