"""A project: its repository, its settings and its store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.settings import SETTINGS_FILE, SelectionSettings, parse_settings

STORE_FOLDER = Path(".datamill") / "selection"


@dataclass(frozen=True, slots=True)
class Project:
    """A repository with its settings, its store, and the folder of the settings file."""

    history: GitHistory | None
    settings: SelectionSettings
    settings_file: Path
    store: SelectionStore

    @property
    def here(self) -> Path:
        """The folder of the settings file."""
        return self.settings_file.absolute().parent


def open_project(repository: Path, file: Path | None, store: Path | None) -> Project:
    """Return a project; a packed store has its settings with it and needs no repository.

    Raises:
        InputError: there is no settings file, or it cannot be used.
    """
    history = None
    packed = store is not None and file is None and (store / SETTINGS_FILE).is_file()
    if packed:
        assert store is not None
        file = store / SETTINGS_FILE
        try:
            history = GitHistory(repository)
        except InputError:
            history = None
    else:
        history = GitHistory(repository)
    path = file or _require(history).top / SETTINGS_FILE
    if not path.is_file():
        raise InputError(
            "is not there",
            where=str(path),
            remedy=f"Begin one: datamill selection init {repository}",
        )
    settings = parse_settings(path.read_text(encoding="utf-8", errors="replace"), str(path))
    folder = store or _require(history).top / STORE_FOLDER
    return Project(history, settings, path, SelectionStore(folder))


def _require(history: GitHistory | None) -> GitHistory:
    assert history is not None
    return history
