"""Small function tables, profiles and cases for tests of the selection."""

from __future__ import annotations

from datamill.selection.predictors.case import Case
from datamill.selection.profiles.profile import FunctionCounts, Profile
from datamill.selection.tables.function_table import DataObject, Function, FunctionTable


def make_function(name: str, code: str | None = None, instructions: int = 10, **fields: object) -> Function:
    """A function whose digest is its name, unless said otherwise."""
    return Function(
        name=name,
        code=code or f"code of {name}",
        size=4 * instructions,
        instructions=instructions,
        symbol=name,
        **fields,  # type: ignore[arg-type]
    )


def make_table(
    *functions: Function, data: tuple[DataObject, ...] = (), content: str = "", form: int = 1
) -> FunctionTable:
    """A program of these functions."""
    told = content or "|".join(function.code for function in functions) + str(data)
    return FunctionTable(form, "x86-64", "symbols", told, functions, data)


def make_profile(**calls_and_instructions: tuple[int, int]) -> Profile:
    """A profile with calls and instructions by function."""
    return Profile(
        "bench",
        "counted",
        {name: FunctionCounts(calls, count) for name, (calls, count) in calls_and_instructions.items()},
    )


def make_case(
    new_order: int, changed: bool | None, old_order: int | None = None, /, **readings: float
) -> Case:
    """A case of the benchmark `bench` against the version before it, whose features are its readings."""
    before = new_order - 1 if old_order is None else old_order
    return Case("bench", f"v{before}", f"v{new_order}", before, new_order, readings, readings, changed)
