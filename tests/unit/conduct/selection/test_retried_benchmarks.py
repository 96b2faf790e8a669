"""Benchmarks that failed are tried again; what is known of the others stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from made.selection.selection_records import make_function, make_profile, make_table

from datamill.conduct.selection.collecting import collect, profile_program
from datamill.conduct.selection.collecting.collected_versions import list_unprofiled
from datamill.conduct.selection.profile_command import CountedWork
from datamill.conduct.selection.store.selection_store import (
    MeasuringSession,
    PlannedExecution,
    SelectionStore,
)
from datamill.experiment.errors import InputError
from datamill.selection.history.records import COUNTED_WAY, Observation, Program, Version, WorkCount
from datamill.selection.history.settings import parse_settings
from datamill.selection.profiles.callgrind import SymbolCounts

SETTINGS = parse_settings(
    'binaries = ["tool"]\n'
    '[[benchmark]]\nname = "bench"\ncommand = "./tool"\n'
    '[[benchmark]]\nname = "helped"\ncommand = "./helper"\n'
)
GOOD = WorkCount("one", "bench", 1000, again=1003, way=COUNTED_WAY)
FAILED = WorkCount("one", "helped", None, "no helper", way=COUNTED_WAY)


@pytest.fixture
def store(tmp_path):
    """A store with two programs, of one and of two binaries, one of which was counted."""
    store = SelectionStore(tmp_path / "store")
    store.prepare()
    table = store.keep_table(make_table(make_function("work")))
    programs = [Program("one", {"tool": table}), Program("two", {"tool": table, "libwork.so": table})]
    store.write_versions([Version("c1", 0, "built", program="one")], programs)
    store.place_programs("one").mkdir(parents=True)
    store.write_counts([GOOD, FAILED])
    store.write_profiles("one", [make_profile(work=(1, 9))])
    return store


def retry(store, monkeypatch, count):
    monkeypatch.setattr(profile_program, "count_command", count)
    question = collect.CollectionQuestion(retry_failed=True)
    assert collect._profile(question, ["one"], SETTINGS, store, Path("/nowhere"), print, None)


def test_what_was_counted_stays_when_another_benchmark_fails_again(store, monkeypatch):
    asked = []

    def fail(command, *_, **__):
        asked.append(command)
        raise InputError("ends with status 3", where="helper")

    retry(store, monkeypatch, fail)
    assert len(asked) == 1
    assert store.read_counts()[0] == GOOD
    assert store.read_counts()[1].failure == "helper: ends with status 3"
    assert set(store.read_profiles("one")["bench"].functions) == {"tool: work"}


def test_a_benchmark_that_succeeds_now_joins_the_profiles_that_are_kept(store, monkeypatch):
    def count(_, programs, **__):
        return CountedWork({programs[0]: {"work": SymbolCounts(2, 20)}}, 200)

    retry(store, monkeypatch, count)
    assert store.read_counts() == (GOOD, WorkCount("one", "helped", 200, again=200, way=COUNTED_WAY))
    profiles = store.read_profiles("one")
    # Each once: what is read with labels is not written back with them.
    assert {name: set(item.functions) for name, item in profiles.items()} == {
        "bench": {"tool: work"},
        "helped": {"tool: work"},
    }
    assert profiles["bench"].functions["tool: work"].calls == 1
    assert profiles["helped"].functions["tool: work"].calls == 2


@pytest.mark.parametrize(("retry_failed", "sessions"), [(False, 1), (True, 2)])
def test_a_session_that_is_under_way_is_ended_before_what_failed_is_measured_again(
    store, monkeypatch, retry_failed, sessions
):
    settings = parse_settings('binaries = ["tool"]\n[[benchmark]]\nname = "bench"\ncommand = "./tool"\n')
    under_way = MeasuringSession("under way", (PlannedExecution("one", "bench", 0),))
    store.write_json("session.json", under_way)
    store.append_observation(Observation("one", "bench", "under way", 0, 1, failure="no helper"))
    measured = []
    monkeypatch.setattr(collect, "measure_session", lambda session, *_: measured.append(session) or True)
    question = collect.CollectionQuestion(retry_failed=retry_failed)
    assert collect._measure(question, settings, store, Path("/nowhere"), None, print, None)
    assert measured[0] == under_way
    assert len(measured) == sessions
    assert {(item.program, item.benchmark) for item in measured[-1].executions} == {("one", "bench")}
    assert store.read_session() is None


def test_a_program_whose_profiles_were_removed_is_counted_again(store):
    assert list_unprofiled(SETTINGS, store) == {}
    (store.folder / "profiles" / "one.json.gz").unlink()
    assert list_unprofiled(SETTINGS, store) == {"one": ["bench", "helped"]}
