"""The scripts that make figures interactive: Vega, Vega-Lite and Vega-Embed, as the converter has them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

from datamill.late import vl_convert

#: What pages call; its last words show that the kept file is whole.
_ENTRY = "window.vegaEmbed = vegaEmbed;"
_MARK = "window.vegaEmbed="


def load_vega_runtime() -> str:
    """The scripts as one text without any reference to elsewhere, about 0.9 MB.

    Putting them together takes a second, so that they are kept in the user's cache folder, named
    after the converter's version; where that cannot be written they are made anew each time.
    """
    file = find_vega_runtime()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    if _MARK in text[-1000:]:
        return text
    text = str(vl_convert.javascript_bundle(_ENTRY))
    with contextlib.suppress(OSError):
        _keep(file, text)
    return text


def find_vega_runtime() -> Path:
    """Where the scripts are kept, whether or not they are there yet."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    usual = Path(given) if given else Path(os.path.expanduser("~"), ".cache")  # noqa: PTH111 - never raises
    return usual / "datamill" / f"vega-{version('vl-convert-python')}.js"


def _keep(file: Path, text: str) -> None:
    """Write the file so that others find it whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        Path(partial).replace(file)
    except OSError:
        Path(partial).unlink(missing_ok=True)
        raise
