"""What differs between two builds of a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from datamill.experiment.errors import InputError
from datamill.selection.changes.match_functions import Matches, match_functions
from datamill.selection.tables.function_table import DataObject, Function, FunctionTable

#: What became of a function. Only `changed` ones do something else; `lines` differ in line numbers alone.
FunctionFate = Literal["changed", "new", "deleted", "renamed", "lines"]


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """A function that differs between two builds; `old` is None of a new one, `new` of a deleted one."""

    fate: FunctionFate
    old: Function | None
    new: Function | None

    @property
    def name(self) -> str:
        """Its name in the old build, or in the new one where it is new."""
        function = self.old or self.new
        assert function is not None
        return function.name


@dataclass(frozen=True, slots=True)
class DataChange:
    """Named data that differ between two builds."""

    fate: Literal["changed", "new", "deleted"]
    old: DataObject | None
    new: DataObject | None

    @property
    def name(self) -> str:
        """Their name."""
        found = self.old or self.new
        assert found is not None
        return found.name


@dataclass(frozen=True, slots=True)
class TableChanges:
    """All that differs between two builds of a program.

    `is_identical`: all code and data are equal, byte by byte. `build` says in sentences what is different in
    how they were built. Only functions and data that differ are in it.
    """

    old: FunctionTable
    new: FunctionTable
    functions: tuple[FunctionChange, ...]
    data: tuple[DataChange, ...]
    build: tuple[str, ...]

    @property
    def is_identical(self) -> bool:
        """Whether both are the same program."""
        return self.old.content == self.new.content and not self.build

    @property
    def is_seen(self) -> bool:
        """Whether something that can be executed or read differs: functions, data, how they were built.

        Programs may differ in other bytes: in what they export, in line numbers, in names. Where one has no
        symbols, changes may be there that cannot be seen.
        """
        nameless = any(table.source != self.old.source or table.lost for table in (self.old, self.new))
        touched = self.of_fate("changed", "new", "deleted")
        return bool(touched or self.data or self.build) or nameless

    @property
    def is_hidden(self) -> bool:
        """Whether the programs differ in what cannot be seen, since symbols are missing."""
        told = self.functions or self.data or self.build
        return not told and self.old.content != self.new.content and bool(self.old.lost or self.new.lost)

    def of_fate(self, *fates: FunctionFate) -> tuple[FunctionChange, ...]:
        """Return the functions of which that became."""
        return tuple(change for change in self.functions if change.fate in fates)


def compare_tables(old: FunctionTable, new: FunctionTable) -> TableChanges:
    """Compare two builds of a program.

    A function whose digest differs is no change where only line numbers differ (`lines`), or where it differs
    only in names of functions and data that were themselves renamed.

    Raises:
        InputError: the tables are of different architectures, or of different versions of the digests.
    """
    if old.machine != new.machine:
        raise InputError(
            f"is for {new.machine}, the other program for {old.machine}", where="the new program"
        )
    if old.form != new.form:
        raise InputError(
            f"its digests are of version {old.form}, those of the other of version {new.form}",
            where="the old table",
            remedy="Read both with the same version of datamill. An older store is collected anew into "
            "another folder, or once it is removed.",
        )
    matches = match_functions(old.functions, new.functions)
    names = {before.name: after.name for before, after in matches.pairs}
    names |= _match_renamed_data(old.data, new.data)
    changes = [*_compare_pairs(matches, names)]
    changes += [FunctionChange("deleted", function, None) for function in matches.deleted]
    changes += [FunctionChange("new", None, function) for function in matches.new]
    return TableChanges(
        old, new, tuple(changes), tuple(_compare_data(old.data, new.data, names)), _compare_builds(old, new)
    )


def _compare_pairs(matches: Matches, names: dict[str, str]) -> Iterable[FunctionChange]:
    for before, after in matches.pairs:
        if before.code == after.code:
            if before.name != after.name:
                yield FunctionChange("renamed", before, after)
        elif before.code_without_lines is not None and before.code_without_lines == after.code_without_lines:
            yield FunctionChange("lines", before, after)
        elif not _differs_only_in_names(before, after, names):
            yield FunctionChange("changed", before, after)


def _differs_only_in_names(before: Function, after: Function, names: dict[str, str]) -> bool:
    """Whether all that differs is what functions and data are called that were renamed."""
    if before.code_without_names is None or before.code_without_names != after.code_without_names:
        return False
    return _rename(before.calls, names) == after.calls and _rename(before.refers_to, names) == after.refers_to


def _rename(used: tuple[str, ...], names: dict[str, str]) -> tuple[str, ...]:
    return tuple(names.get(name, name) for name in used)


def _match_renamed_data(old: tuple[DataObject, ...], new: tuple[DataObject, ...]) -> dict[str, str]:
    """Data that only one build has under their name, and the other's with the only equal content."""
    gone = {item.name for item in old} - {item.name for item in new}
    come = {item.name for item in new} - {item.name for item in old}
    if not gone or not come:
        return {}
    lost, found = _by_content(old, gone), _by_content(new, come)
    return {
        names[0]: found[key][0]
        for key, names in lost.items()
        if len(names) == 1 and len(found.get(key, ())) == 1
    }


def _by_content(data: tuple[DataObject, ...], names: set[str]) -> dict[tuple[str, int, str], list[str]]:
    grouped: dict[tuple[str, int, str], list[str]] = {}
    for item in data:
        if item.name in names:
            grouped.setdefault((item.content, item.size, item.section), []).append(item.name)
    return grouped


def _compare_data(
    old: tuple[DataObject, ...], new: tuple[DataObject, ...], names: dict[str, str]
) -> Iterable[DataChange]:
    after = {item.name: item for item in new}
    seen = set()
    for item in old:
        other = after.get(names.get(item.name, item.name)) or after.get(item.name)
        if other is None:
            yield DataChange("deleted", item, None)
            continue
        seen.add(other.name)
        if (item.content, item.size) != (other.content, other.size) and not _points_alike(item, other, names):
            yield DataChange("changed", item, other)
    for item in new:
        if item.name not in seen:
            yield DataChange("new", None, item)


def _points_alike(before: DataObject, after: DataObject, names: dict[str, str]) -> bool:
    """Whether all that differs is what that is called which pointers lead to, and which was renamed."""
    if before.content_without_names is None or before.content_without_names != after.content_without_names:
        return False
    return _rename(before.refers_to, names) == after.refers_to


def _compare_builds(old: FunctionTable, new: FunctionTable) -> tuple[str, ...]:
    told = []
    for what, before, after in (
        ("compiler or its options", old.build.producers, new.build.producers),
        ("shared library", old.build.libraries, new.build.libraries),
    ):
        told += [f"{what} no longer there: {item}" for item in before if item not in after]
        told += [f"{what} new: {item}" for item in after if item not in before]
    return tuple(told)
