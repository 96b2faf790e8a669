from __future__ import annotations

import pytest
from made.selection.selection_records import make_function, make_table

from datamill.experiment.errors import InputError
from datamill.selection.changes.table_changes import compare_tables
from datamill.selection.tables.function_table import (
    Build,
    DataObject,
    FunctionTable,
    decode_table,
    encode_table,
)


def list_fates(old, new):
    return {change.name: change.fate for change in compare_tables(old, new).functions}


def test_only_what_differs_is_listed():
    old = make_table(make_function("main"), make_function("gone"), make_function("work", "a"))
    new = make_table(make_function("main"), make_function("come"), make_function("work", "b"))
    assert list_fates(old, new) == {"work": "changed", "gone": "deleted", "come": "new"}


def test_a_function_that_differs_in_line_numbers_alone_has_not_changed():
    old = make_table(make_function("check", "a", code_without_lines="x"))
    new = make_table(make_function("check", "b", code_without_lines="x"))
    assert list_fates(old, new) == {"check": "lines"}


def test_the_caller_of_a_renamed_function_has_not_changed():
    old = make_table(
        make_function("main", "calls sum", code_without_names="calls", calls=("hear", "sum")),
        make_function("sum", "s"),
        make_function("hear"),
    )
    new = make_table(
        make_function("main", "calls total", code_without_names="calls", calls=("hear", "total")),
        make_function("total", "s"),
        make_function("hear"),
    )
    assert list_fates(old, new) == {"sum": "renamed"}


def test_a_caller_that_now_calls_two_functions_in_the_other_order_has_changed():
    old = make_table(make_function("main", "ab", code_without_names="calls", calls=("a", "b")))
    new = make_table(make_function("main", "ba", code_without_names="calls", calls=("b", "a")))
    assert list_fates(old, new) == {"main": "changed"}


def test_changed_new_and_deleted_data_are_listed_and_renamed_ones_are_not():
    old = make_table(data=(DataObject("t", "1", 8), DataObject("gone", "2", 4), DataObject("was", "3", 4)))
    new = make_table(data=(DataObject("t", "9", 8), DataObject("is", "3", 4), DataObject("come", "5", 4)))
    found = {change.name: change.fate for change in compare_tables(old, new).data}
    assert found == {"t": "changed", "gone": "deleted", "come": "new"}


def test_another_option_of_the_compiler_is_told():
    old = make_table(make_function("main"))
    new = FunctionTable(1, "x86-64", "symbols", old.content, old.functions, build=Build(("GNU C17 -O3",)))
    changes = compare_tables(old, new)
    assert changes.build == ("compiler or its options new: GNU C17 -O3",)
    assert not changes.is_identical


def test_programs_of_two_architectures_are_not_compared():
    old = make_table(make_function("main"))
    new = FunctionTable(1, "aarch64", "symbols", "", ())
    with pytest.raises(InputError, match="is for aarch64"):
        compare_tables(old, new)


def test_a_table_survives_json():
    table = make_table(
        make_function("main", calls=("puts",), constants=(1, -2)), data=(DataObject("t", "1", 8),)
    )
    assert decode_table(encode_table(table), "table.json") == table
    with pytest.raises(InputError, match=r"table\.json: cannot be read as a table"):
        decode_table(b"{}", "table.json")


def test_data_that_point_to_what_was_renamed_have_not_changed():
    def read(name: str, to: str, rest: str = "rest") -> FunctionTable:
        data = DataObject("way", f"{to} {rest}", 8, refers_to=(to,), content_without_names=rest)
        return make_table(make_function(name, "code"), make_function("by"), data=(data,))

    assert compare_tables(read("go", "go"), read("walk", "walk")).data == ()
    # Another function of the same place, and other words beside it, are changes.
    assert [item.name for item in compare_tables(read("go", "go"), read("go", "by")).data] == ["way"]
    assert compare_tables(read("go", "go"), read("walk", "walk", "other")).data
