from __future__ import annotations

from datamill.selection.history.ancestry import Ancestor, find_closest

#: A merge `m` of two lines, the second of which is shorter: m - c - b - a, and m - x - a.
PARENTS = {"m": ("c", "x"), "c": ("b",), "b": ("a",), "x": ("a",), "a": ()}


def find(commit, known):
    return find_closest(commit, known, lambda name: PARENTS.get(name, ()))


def test_the_fewest_steps_count_over_both_parents_of_a_merge():
    assert find("m", {"a"}) == Ancestor("a", 2)
    assert find("m", {"a", "b"}) == Ancestor("b", 2)
    assert find("m", {"x", "c"}) == Ancestor("c", 1)


def test_a_commit_is_not_its_own_ancestor():
    assert find("c", {"c", "a"}) == Ancestor("a", 2)


def test_where_a_shallow_clone_ends_there_is_none():
    assert find_closest("m", {"a"}, lambda name: {"m": ("c",)}.get(name, ())) is None
