"""Results of experiments as a data set: which parts there are, and whether one changed."""

from __future__ import annotations

import msgspec

#: Version of the columns of parts; docs/reference/tables.md describes them.
TABLES_SCHEMA = 1


class TablePart(msgspec.Struct, frozen=True):
    """An experiment's part of the data set; `version` changes whenever its rows do."""

    experiment: int
    name: str
    owner: str
    state: str
    trials: int
    version: str


class TableParts(msgspec.Struct, frozen=True):
    """Some parts by the numbers of their experiments; ask for the rest with `after=next`.

    `columns_version` tells whether columns are those that one knows.
    """

    columns_version: int
    parts: tuple[TablePart, ...]
    next: int | None
