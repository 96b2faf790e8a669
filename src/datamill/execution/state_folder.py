"""The folder in which the worker keeps its journal: whether it can, before anything runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path

from datamill.execution.host_lock import STATE_VARIABLE
from datamill.experiment.errors import InputError

#: Folders for results that this process has named; who asked for one may not have made it yet.
_named: set[Path] = set()


def find_state_folder(environment: Mapping[str, str], *, is_root: bool) -> Path:
    """Return where the worker keeps its journal, by the rule that `crates/host/src/state.rs` follows."""

    def name(variable: str) -> Path | None:
        path = Path(environment.get(variable, ""))
        return path if path.is_absolute() else None

    named = name(STATE_VARIABLE)
    if named is not None:
        return named
    if is_root:
        return Path("/var/lib/datamill")
    home = name("HOME")
    own = name("XDG_STATE_HOME") or (home / ".local" / "state" if home is not None else None)
    return (own or Path(tempfile.gettempdir())) / "datamill"


def find_results_folder(environment: Mapping[str, str], *, is_root: bool) -> Path:
    """Return where results go for which nobody names a folder: the state folder, absolute.

    Users without a home, as in containers, cannot make theirs: they get a new folder for temporary files.
    """
    state = find_state_folder(environment, is_root=is_root).absolute()
    # Not by Path.exists(), which raises below a folder that this user may not search.
    above = next(folder for folder in (state, *state.parents) if os.path.exists(folder))  # noqa: PTH110
    if environment.get(STATE_VARIABLE) or (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        return state
    return _make_temporary_folder()


def name_results_folder(kind: str, environment: Mapping[str, str], *, is_root: bool) -> Path:
    """Return a folder for results of a kind that is not there yet, named after the time and this process.

    Several within a second differ in a number, also from those that a process of the same number in a
    container has made.
    """
    above = find_results_folder(environment, is_root=is_root) / kind
    name = f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{os.getpid()}"
    numbered = (above / (name if number == 1 else f"{name}-{number}") for number in count(1))
    folder = next(path for path in numbered if path not in _named and not os.path.lexists(path))
    _named.add(folder)
    return folder


@cache
def _make_temporary_folder() -> Path:
    # A new one: what others made under a name that they can foresee is not to be trusted.
    return Path(tempfile.mkdtemp(prefix="datamill-"))


def check_state_folder(factors: Iterable[str]) -> None:
    """Refuse factors that change the host where nothing could be written down of what is to be restored.

    Without the journal the worker refuses each trial by itself. Factors that the catalogue does not know are
    the experiment's own, and may change the host.

    Raises:
        InputError: when the folder cannot be made or written, or others may write it.
    """
    changing = [name for name in factors if name != "package" and _may_change_host(name)]
    if not changing:
        return
    folder = find_state_folder(os.environ, is_root=os.geteuid() == 0)
    problem = ""
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        facts = folder.stat()
        if facts.st_uid != os.geteuid():
            problem = f"it belongs to user {facts.st_uid}"
        elif facts.st_mode & (0o022 if os.geteuid() == 0 else 0o002):
            problem = "other users may write it; take that right away with chmod go-w"
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
    if problem:
        raise InputError(
            f"the journal of changes to this host cannot be kept: {problem}",
            where=str(folder),
            remedy=f"{' and '.join(changing[:3])} cannot be set without it. Name a folder that this user can "
            f"write in {STATE_VARIABLE}.",
        )


def _may_change_host(name: str) -> bool:
    # Imported late: records of all factors, of which the folder's name needs none.
    from datamill.experiment.factors.catalogue import FACTORS

    return name not in FACTORS or FACTORS[name].stage == "host"
