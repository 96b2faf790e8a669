from __future__ import annotations

import pytest
from made.selection.selection_records import make_function, make_profile, make_table
from msgspec.structs import replace

from datamill.selection.changes.table_changes import compare_tables
from datamill.selection.features.vector import read_features
from datamill.selection.indicators.evidence import Evidence, measure_length_change
from datamill.selection.indicators.registry import INDICATORS, read_indicators
from datamill.selection.profiles.profile import FunctionCounts, Profile
from datamill.selection.tables.function_table import DataObject, FunctionTable


def test_ranks_go_up_to_100_and_equal_functions_share_theirs():
    ranking = make_profile(a=(1, 5), b=(1, 20), c=(1, 20), d=(1, 900)).rank("instructions")
    assert ranking is not None
    assert [ranking.of(name) for name in "abcd"] == [25.0, 62.5, 62.5, 100.0]
    assert ranking.of("never reached") == 0.0
    assert ranking.hottest(3) == ("d", "b", "c")


def test_a_count_that_the_profile_lacks_has_no_ranks():
    assert make_profile(a=(1, 5)).rank("cycles") is None


@pytest.fixture
def evidence():
    old = make_table(
        make_function("hot", "h", 100, loops=1, calls=("cold",)),
        make_function("cold", "c", 50),
        make_function("unreached", "u", 10),
        make_function("gone", "g", 7, refers_to=("table",)),
        make_function("caller", "k", 20, calls=("hot",)),
        data=(DataObject("table", "1", 8),),
    )
    new = make_table(
        make_function("hot", "h2", 105, loops=2, calls=("cold",)),
        make_function("cold", "c2", 40),
        make_function("unreached", "u2", 30),
        make_function("fresh", "f", 5),
        make_function("caller", "k", 20, calls=("hot",)),
        data=(DataObject("table", "2", 8),),
    )
    profile = make_profile(hot=(10, 900), cold=(50, 60), gone=(1, 20), caller=(1, 20))
    return Evidence(compare_tables(old, new), profile)


def test_the_nine_indicators_read_what_the_table_says(evidence):
    readings = read_indicators(evidence)
    assert {name: reading.value for name, reading in readings.items()} == {
        "new_functions": 1.0,
        "functions_deleted": 1.0,
        "reached_deleted": 1.0,
        "top_by_instructions": 100.0,
        "top_by_calls": 100.0,
        "top_edited_by_calls": 100.0,
        "top_length_change": 200.0,
        "top_reached_length_change": 20.0,
    }
    assert readings["top_by_instructions"].functions == ("hot", "cold")
    assert readings["top_by_calls"].functions == ("cold", "hot")
    # hot changed by 5%.
    assert readings["top_edited_by_calls"].functions == ("cold",)
    assert len(INDICATORS) == 9


def test_a_counter_is_read_where_the_profile_has_one(evidence):
    counted = Profile(
        "bench",
        "perf",
        {"hot": FunctionCounts(events={"cycles": 5}), "cold": FunctionCounts(events={"cycles": 9})},
    )
    readings = read_indicators(Evidence(evidence.changes, counted))
    assert readings["top_by_counter"].value == 100.0
    assert readings["top_by_counter"].functions[0] == "cold"
    assert "top_by_calls" not in readings


def test_lengths_change_without_a_sign_and_from_nothing_by_all():
    assert (
        measure_length_change(make_function("f", instructions=50), make_function("f", instructions=40))
        == 20.0
    )
    assert (
        measure_length_change(make_function("f", instructions=0), make_function("f", instructions=3)) == 100.0
    )


def test_published_features_sum_ranks_and_count_the_hottest(evidence):
    features = read_features(evidence)
    assert features["published.relevance_by_instr"] == 100.0 + 75.0
    assert features["published.instruction_difference"] == 5 + 10 + 20
    assert features["published.changed_count_by_call"] == 2.0
    assert features["published.deleted_count_by_instr"] == 1.0
    assert "published.relevance_by_cycles" not in features


def test_own_features_weigh_changes_by_what_was_executed(evidence):
    features = read_features(evidence)
    assert features["own.changed_share_executed"] == pytest.approx(960 / 1000)
    assert features["own.edit_weight"] == pytest.approx((900 * 0.05 + 60 * 0.2) / 1000)
    assert features["own.loops_changed"] == 1.0
    assert features["own.callers_hot"] == pytest.approx(900 / 1000)
    assert features["own.data_reached"] == 1.0
    assert features["own.is_identical"] == 0.0


def test_data_that_are_reached_through_data_are_reached():
    def read(last: int) -> FunctionTable:
        data = (
            DataObject("weights", f"ends with {last}", 8),
            DataObject("way", "points to weights", 8, refers_to=("weights",)),
            # Points to what it is pointed to by.
            DataObject("first", "points to way", 8, refers_to=("way", "first")),
        )
        return make_table(make_function("sum", refers_to=("first",)), make_function("far"), data=data)

    changes = compare_tables(read(9), read(8))
    features = read_features(Evidence(changes, make_profile(sum=(1, 10))))
    assert (features["own.data_changed"], features["own.data_reached"]) == (1.0, 1.0)
    features = read_features(Evidence(changes, make_profile(far=(1, 10))))
    assert (features["own.data_changed"], features["own.data_reached"]) == (1.0, 0.0)


def test_a_function_that_uses_changed_data_counts_as_edited_as_far_as_can_be():
    def read(last: int) -> FunctionTable:
        data = (DataObject("weights", f"ends with {last}", 8),)
        return make_table(
            make_function("sum", refers_to=("weights",)),
            make_function("far", f"code {last}", 9 + last),
            data=data,
        )

    changes = compare_tables(read(1), read(2))
    features = read_features(Evidence(changes, make_profile(sum=(1, 30), far=(1, 70))))
    assert features["own.changed_share_executed"] == 1.0
    assert features["own.edit_weight"] == pytest.approx((30 + 70 * 0.1) / 100)
    # Which way, nothing tells.
    assert features["own.signed_edit"] == pytest.approx(0.7 / 11)
    features = read_features(Evidence(changes, make_profile(far=(1, 70))))
    assert features["own.edit_weight"] == pytest.approx(0.1)


def test_what_symbols_that_are_missing_hide_may_reach_anything():
    old, new = (
        replace(make_table(make_function("work"), content=content), lost=("no symbol table",))
        for content in ("one", "other")
    )
    features = read_features(Evidence(compare_tables(old, new), make_profile(work=(1, 9))))
    assert (features["own.data_reached"], features["own.edit_weight"]) == (1.0, 1.0)
    features = read_features(Evidence(compare_tables(old, old), make_profile(work=(1, 9))))
    assert (features["own.data_reached"], features["own.edit_weight"]) == (0.0, 0.0)
