from __future__ import annotations

from made.selection.selection_records import make_function
from msgspec.structs import replace

from datamill.selection.changes.match_functions import match_functions


def name_pairs(old, new):
    return [(before.name, after.name) for before, after in match_functions(old, new).pairs]


def test_a_renamed_function_is_matched_by_its_code():
    old = [make_function("main"), make_function("sum", "c1")]
    new = [make_function("main"), make_function("total", "c1")]
    assert name_pairs(old, new) == [("main", "main"), ("sum", "total")]


def test_code_that_two_functions_have_matches_none():
    old = [make_function("one", "c"), make_function("two", "c")]
    new = [make_function("three", "c")]
    matches = match_functions(old, new)
    assert matches.pairs == ()
    assert [function.name for function in matches.deleted] == ["one", "two"]
    assert [function.name for function in matches.new] == ["three"]


def test_clones_that_were_numbered_anew_are_matched_by_their_code():
    old = [make_function("walk.constprop.0", "a", clone_of="walk")]
    new = [
        make_function("walk.constprop.0", "b", clone_of="walk"),
        make_function("walk.constprop.1", "a", clone_of="walk"),
    ]
    matches = match_functions(old, new)
    assert [(one.name, other.name) for one, other in matches.pairs] == [
        ("walk.constprop.0", "walk.constprop.1")
    ]
    assert [function.name for function in matches.new] == ["walk.constprop.0"]


def test_a_clone_that_was_edited_and_numbered_anew_is_matched_by_its_name():
    old = [make_function("new.llvm.172", "a", clone_of="new"), make_function("counter.3", "x")]
    new = [make_function("new.llvm.99", "b", clone_of="new"), make_function("counter.4", "y")]
    matches = match_functions(old, new)
    assert [(one.name, other.name) for one, other in matches.pairs] == [("new.llvm.172", "new.llvm.99")]
    # Of two nothing tells which is which.
    two = [*new, make_function("new.llvm.98", "c", clone_of="new")]
    assert match_functions(old, two).pairs == ()


def test_a_name_that_became_ambiguous_is_still_matched():
    old = [make_function("swap", "a")]
    new = [
        make_function("swap (one.c)", "b"),
        make_function("swap (two.c)", "a"),
    ]
    assert name_pairs(old, new) == [("swap", "swap (two.c)")]


def test_functions_without_symbols_are_matched_by_their_place():
    def nameless(code):
        return replace(make_function(f"nameless-{code}", code), symbol="")

    old = [nameless("a"), nameless("b"), nameless("c"), make_function("last")]
    found = match_functions(old, [nameless("a"), nameless("b2"), nameless("c"), make_function("last")])
    assert [(one.code, other.code) for one, other in found.pairs if one.code != other.code] == [("b", "b2")]
    assert (found.deleted, found.new) == ((), ())
    # Where there are more than before, nothing tells which is which.
    found = match_functions(old, [nameless("a"), nameless("b2"), nameless("d"), nameless("c"), old[3]])
    assert ([one.code for one in found.deleted], [one.code for one in found.new]) == (["b"], ["b2", "d"])
