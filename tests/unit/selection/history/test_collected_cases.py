from __future__ import annotations

from dataclasses import replace

from made.selection.selection_records import make_function, make_profile, make_table

from datamill.selection.history.collection import (
    Collection,
    build_cases,
    list_closest_pairs,
    list_pairs_ahead,
)
from datamill.selection.history.joined_tables import join_tables, name_program
from datamill.selection.history.records import Version, WorkCount
from datamill.selection.history.settings import BenchmarkSetting, SelectionSettings, TruthSetting

TABLES = {
    "p0": make_table(make_function("hot"), make_function("cold")),
    "p1": make_table(make_function("hot", "other code", 20), make_function("cold")),
    "p2": make_table(make_function("hot", "other code", 20), make_function("cold", "edited")),
}
TRUTH = TruthSetting("instructions")


def collect(programs, profiled=("p0", "p1", "p2")):
    versions = tuple(
        Version(
            commit=f"c{order}",
            order=order,
            outcome="built",
            program=program,
            ancestor=f"c{order - 1}" if order else "",
            hops=2,
            lines=10,
            committed_unix_s=order * 86400,
        )
        for order, program in enumerate(programs)
    )
    counts = {"p0": 1000, "p1": 2000, "p2": 2000}
    return Collection(
        settings=SelectionSettings(("p",), (BenchmarkSetting("bench", "p"),)),
        versions=versions,
        read_table=TABLES.__getitem__,
        profiles={name: {"bench": make_profile(hot=(5, 500))} for name in profiled},
        counts=[WorkCount(name, "bench", value) for name, value in counts.items()],
    )


def test_each_version_is_a_case_against_its_ancestor_with_what_lies_between():
    collection = collect(["p0", "p1", "p2"])
    cases = build_cases(collection, list_closest_pairs(collection), TRUTH).cases
    assert [(case.old, case.new, case.changed) for case in cases] == [
        ("c0", "c1", True),
        ("c1", "c2", False),
    ]
    assert cases[0].readings["top_by_calls"] == 100.0
    assert cases[1].readings["top_by_calls"] == 0.0
    assert cases[0].features["commit.hops"] == 2
    assert cases[0].features["commit.days"] == 1
    assert cases[0].ratio == 2


def test_a_change_no_larger_than_between_two_counts_of_one_program_is_none_and_is_warned_of():
    collection = replace(
        collect(["p0", "p1", "p2"]), counts=[WorkCount("p0", "bench", 1000), WorkCount("p1", "bench", 1010)]
    )
    assert collection.judge("p0", "p1", "bench", TRUTH).changed
    assert collection.warn_of_spread(TRUTH) == []
    noisy = replace(collection, counts=[*collection.counts, WorkCount("p2", "bench", 1000, again=1020)])
    told = noisy.judge("p0", "p1", "bench", TRUTH)
    assert (told.changed, told.is_sure) == (False, False)
    assert noisy.warn_of_spread(TRUTH) == [
        "two counts of one program differed by 2.0% in bench: what differs by no more counts as unchanged"
    ]
    assert noisy.warn_of_spread(TruthSetting("relevant")) == []


def test_equal_programs_make_no_case_and_are_counted():
    collection = collect(["p0", "p0", "p1"])
    found = build_cases(collection, list_closest_pairs(collection), TRUTH)
    assert found.identical == 1
    assert len(found.cases) == 1
    kept = build_cases(collection, list_closest_pairs(collection), TRUTH, keep_identical=True)
    assert [case.changed for case in kept.cases] == [False, True]


def test_a_missing_profile_makes_no_case_and_is_counted():
    collection = collect(["p0", "p1", "p2"], profiled=("p1",))
    found = build_cases(collection, list_closest_pairs(collection), TRUTH)
    assert found.unprofiled == 1
    assert [case.old for case in found.cases] == ["c1"]


def test_pairs_ahead_hold_each_version_with_the_next_ones():
    collection = collect(["p0", "p1", "p2", "p0"])
    pairs = {(old.commit, new.commit) for old, new in list_pairs_ahead(collection, 2)}
    assert pairs == {("c0", "c1"), ("c0", "c2"), ("c1", "c2"), ("c1", "c3"), ("c2", "c3")}
    far = build_cases(collection, list_pairs_ahead(collection, 2), TRUTH).cases
    assert next(case for case in far if case.old == "c0" and case.new == "c2").features["commit.hops"] == 4


def test_functions_of_several_programs_keep_apart():
    caller = make_function("main", calls=("hot", "printf"))
    tables = {"a": make_table(caller, make_function("hot")), "b": make_table(make_function("hot"))}
    joined = join_tables(tables)
    assert [item.name for item in joined.functions] == ["a: main", "a: hot", "b: hot"]
    assert joined.functions[0].calls == ("a: hot", "printf")
    assert name_program(tables) != name_program({"a": tables["a"]})
    assert name_program(tables) == name_program(dict(reversed(tables.items())))


def test_functions_keep_their_names_where_a_build_makes_its_files_elsewhere_or_under_a_version():
    work = make_table(make_function("work"))
    before = join_tables({"out/tool": work, "out/libwork.so.1.2": work})
    after = join_tables({"build/bin/tool": work, "build/lib/libwork.so.1.3": work})
    assert [item.name for item in before.functions] == ["libwork.so: work", "tool: work"]
    assert {item.name for item in after.functions} == {item.name for item in before.functions}
    # Two files of one name keep their paths.
    twice = join_tables({"a/tool": work, "b/tool": work})
    assert [item.name for item in twice.functions] == ["a/tool: work", "b/tool: work"]
