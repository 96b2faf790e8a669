"""The register of this machine's folders with secrets, which its workers keep from trials."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path


def note_folder(folder: Path) -> None:
    """Note a folder where workers of the same user look, as the crate `host` does (`known_folders.rs`).

    A machine that keeps no register has none: this is beside the search for what not everybody may read.
    """
    real = folder.resolve()
    # One at the root holds more than ours, and nothing could run without it.
    if len(real.parts) < 3:
        return
    register = _find_usual_state() / "folders"
    name = hashlib.sha256(os.fsencode(real)).hexdigest()[:16]
    with contextlib.suppress(OSError):
        register.mkdir(parents=True, exist_ok=True)
        # One that is there already leads to the same folder.
        (register / name).symlink_to(real)


def _find_usual_state() -> Path:
    """Return where workers of this user keep their state when no variable names another place."""
    if os.geteuid() == 0:
        return Path("/var/lib/datamill")
    named = os.environ.get("XDG_STATE_HOME", "")
    state = Path(named) if named.startswith("/") else Path.home() / ".local" / "state"
    return state / "datamill"
