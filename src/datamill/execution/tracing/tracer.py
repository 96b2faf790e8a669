"""The library that traced programs load."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

from datamill.experiment.errors import InputError

TRACER_NAME = "libdatamill_trace.so"
#: Names another tracer than the installed one.
TRACER_VARIABLE = "DATAMILL_TRACER"
#: Where a traced program finds the file in which it counts.
LEDGER_VARIABLE = "DATAMILL_TRACE_LEDGER"


def find_tracer() -> Path:
    """Return the tracer: the one named in the environment, or that of this installation.

    Raises:
        InputError: when there is none, or the dynamic linker takes a character of its path for a separator.
    """
    named = os.environ.get(TRACER_VARIABLE)
    folders = (Path(sys.prefix), *([Path(base)] if (base := site.getuserbase()) else []))
    places = [Path(named)] if named else [folder / "lib" / "datamill" / TRACER_NAME for folder in folders]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise InputError(
            f"{named} is not here" if named else f"{TRACER_NAME} is not here",
            remedy="Install datamill from its wheel, or run make setup in its sources, or name the library "
            f"in the environment variable {TRACER_VARIABLE}.",
        )
    path = found.resolve()
    if any(separator in str(path) for separator in ": "):
        raise InputError(
            f"{path} cannot be loaded: the dynamic linker takes spaces and colons for separators",
            remedy="Install datamill in a folder whose path has neither.",
        )
    return path
