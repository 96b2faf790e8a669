"""Numbers of one benchmark are of one command; what only failed may be corrected."""

from __future__ import annotations

import pytest
from made.selection.selection_records import make_function, make_profile, make_table

from datamill.conduct.selection.collecting.collected_versions import list_left, list_unprofiled
from datamill.conduct.selection.collecting.measure_programs import plan_session
from datamill.conduct.selection.collecting.walked_history import WalkedCommit
from datamill.conduct.selection.store.kept_commands import (
    check_builds,
    keep_commands,
    spell_build,
    warn_of_other_builds,
    warn_of_untried,
)
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.records import COUNTED_WAY, Observation, Program, Version, WorkCount
from datamill.selection.history.settings import parse_settings

SETTINGS = 'binaries = ["tool"]\n[[benchmark]]\nname = "bench"\ncommand = "{}"\n'
OLD, NEW = parse_settings(SETTINGS.format("./tool a")), parse_settings(SETTINGS.format("./tool b"))
FAILED = WorkCount("one", "bench", None, "no input", way=COUNTED_WAY)
OTHER = WorkCount("one", "other", None, "no server", way=COUNTED_WAY)


@pytest.fixture
def store(tmp_path):
    """A store with a program of which nothing was counted."""
    store = SelectionStore(tmp_path / "store")
    store.prepare()
    table = store.keep_table(make_table(make_function("work")))
    store.write_versions([Version("c1", 0, "built", program="one")], [Program("one", {"tool": table})])
    store.place_programs("one").mkdir(parents=True)
    store.write_profiles("one", [make_profile(work=(1, 9))])
    return store


@pytest.mark.parametrize("what", ["counted", "timed", "being timed"])
def test_numbers_of_two_commands_never_get_one_name(store, what):
    keep_commands(OLD, store)
    if what == "counted":
        store.write_counts([WorkCount("one", "bench", 1000, way=COUNTED_WAY)])
    else:
        store.append_observation(Observation("one", "bench", "s", 0, 1, wall_ns=5))
    if what == "timed":
        store.close_session()
    with pytest.raises(InputError) as refused:
        keep_commands(NEW, store)
    assert refused.value.message == "the benchmark bench was measured by another command: ./tool a"
    assert "another name" in refused.value.remedy
    # The old one goes on, also after a refusal.
    keep_commands(OLD, store)


def test_a_command_that_only_failed_is_counted_again_once_it_is_another(store):
    keep_commands(OLD, store)
    store.write_counts([FAILED, OTHER])
    keep_commands(OLD, store)
    assert list_unprofiled(OLD, store) == {}
    keep_commands(NEW, store)
    # It still is, where the command was interrupted before it was counted.
    keep_commands(NEW, store)
    assert list_unprofiled(NEW, store) == {"one": ["bench"]}
    assert store.read_counts() == (OTHER,)


def fail(benchmark, place, session="under way"):
    return Observation("one", benchmark, session, place, 1 + place, failure="no input")


@pytest.mark.parametrize("others", [[], [Observation("one", "other", "under way", 1, 9, wall_ns=5)]])
@pytest.mark.parametrize("is_closed", [False, True])
def test_a_command_that_only_failed_is_timed_again_once_it_is_another(store, is_closed, others):
    keep_commands(OLD, store)
    for item in (fail("bench", 0), *others):
        store.append_observation(item)
    if is_closed:
        store.close_session()
    keep_commands(NEW, store)
    keep_commands(NEW, store)
    assert store.read_observations() == others
    session = plan_session(store.versions, NEW, store, store.read_observations(), 0)
    assert {item.benchmark for item in session.executions} == {"bench"}


def test_what_an_older_store_holds_is_taken_for_the_command_of_today_and_told(store):
    store.write_counts([WorkCount("one", "bench", 1000, way=COUNTED_WAY)])
    told = keep_commands(NEW, store)
    assert told.startswith(
        "the store does not say by which command bench was measured: it is taken for today's"
    )
    assert keep_commands(NEW, store) == ""
    with pytest.raises(InputError, match=r"command: \./tool b, or by one that the store did not keep"):
        keep_commands(OLD, store)


def test_a_command_of_which_nothing_is_known_yet_is_not_told_of(store):
    store.write_counts([FAILED])
    assert keep_commands(NEW, store) == ""


def test_a_version_that_failed_is_built_again_once_its_build_is_another():
    first = parse_settings('binaries = ["a"]\n[[build]]\ncommand = "mkae"\n')
    second = parse_settings('binaries = ["a"]\n[[build]]\ncommand = "make"\n')
    other = parse_settings('binaries = ["b"]\n[[build]]\ncommand = "mkae"\n')
    walked = [WalkedCommit(name, (), 0, "") for name in ("failed", "built", "old")]
    before = spell_build(first, first.build[0])
    versions = {
        "failed": Version("failed", 0, "failed", build=before),
        "built": Version("built", 1, "built", build=before),
        # By an older datamill, which did not say.
        "old": Version("old", 2, "failed"),
    }

    def left(settings, retry_failed=False):
        builds = {item.commit: spell_build(settings, settings.build[0]) for item in walked}
        return [item.commit for item in list_left(walked, versions, builds, retry_failed=retry_failed)]

    assert left(first) == []
    assert left(second) == left(other) == ["failed"]
    assert left(first, retry_failed=True) == ["failed", "old"]


def test_a_range_of_builds_that_names_no_commit_is_refused_at_once():
    class NoHistory:
        def resolve(self, revision):
            raise InputError(f'there is no commit "{revision}"', where="top", remedy="Name a commit.")

    settings = parse_settings('binaries = ["a"]\n[[build]]\ncommand = "make"\nsince = "v99"\n')
    with pytest.raises(InputError) as refused:
        check_builds(settings, NoHistory())
    assert refused.value.where == '[[build]] 1: since = "v99"'
    assert refused.value.message == 'there is no commit "v99"'
    check_builds(parse_settings('binaries = ["a"]\n[[build]]\ncommand = "make"\n'), NoHistory())


def test_versions_that_another_command_built_are_told_of():
    first = parse_settings('binaries = ["a"]\n[[build]]\ncommand = "make"\n')
    second = parse_settings('binaries = ["a"]\n[[build]]\ncommand = "make CFLAGS=-O3"\n')
    apart = parse_settings('binaries = ["a"]\nwithout = ["part"]\n[[build]]\ncommand = "make"\n')
    before, now, same = (spell_build(item, item.build[0]) for item in (first, second, apart))
    versions = {
        "one": Version("one", 0, "built", build=before),
        "two": Version("two", 1, "built", build=now),
        "gone": Version("gone", 2, "failed", build=before),
    }
    assert warn_of_other_builds(versions, dict.fromkeys(versions, before)).startswith("1 version was built")
    assert "--store FOLDER" in warn_of_other_builds(versions, dict.fromkeys(versions, now))
    assert warn_of_other_builds({"one": versions["one"]}, {"one": same}) == ""


def test_versions_that_are_not_tried_again_are_told_of():
    assert warn_of_untried(0) == ""
    told = warn_of_untried(2)
    assert told.startswith("2 versions that failed before were not tried again:")
    assert "--retry-failed" in told
