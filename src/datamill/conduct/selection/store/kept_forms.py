"""The version of the digests that a store's function tables have."""

from __future__ import annotations

from datamill.conduct.selection.read_program import read_form
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument


def check_form(store: SelectionStore) -> None:
    """Refuse to read programs into a store whose tables have digests of another version.

    Nothing compares the two. What such a store holds can be compared with itself.

    Raises:
        InputError: its tables have.
    """
    # One is enough: nothing else came into the store.
    name = next((name for item in store.programs.values() for name in item.tables.values()), None)
    if name is None:
        return
    kept, now = store.read_one_table(name).form, read_form()
    if kept != now:
        raise InputError(
            f"its function tables have digests of version {kept}, and this datamill makes those of version "
            f"{now}: versions that were collected before cannot be compared with versions that come now",
            where=str(store.folder),
            remedy=f"Name another store: {argument('store', 'FOLDER', verb='selection collect')}, or remove "
            "this one.",
        )
