"""Settings that were changed while an experiment of a fleet was under way, or since versions were built."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest
from made.selection.selection_records import make_function, make_table

from datamill.conduct.selection.collecting.build_version import BuiltVersion, choose_build, spell_builds
from datamill.conduct.selection.collecting.collect import CollectionQuestion
from datamill.conduct.selection.collecting.collected_versions import keep_builds
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.fleet import experiments
from datamill.conduct.selection.fleet.collect_on_fleet import collect_on_fleet
from datamill.conduct.selection.fleet.fetched import kept_experiment
from datamill.conduct.selection.read_program import read_form
from datamill.conduct.selection.store.fleet_origin import ORIGIN_FILE, FleetOrigin, PendingSubmission
from datamill.conduct.selection.store.kept_commands import COMMANDS_FILE, keep_commands, spell_build
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.records import COUNTED_WAY, Program, Version, WorkCount
from datamill.selection.history.settings import parse_settings

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")
BENCHMARK = 'binaries = ["tool"]\n[[benchmark]]\nname = "bench"\ncommand = "{}"\n'
BUILD = 'binaries = ["tool"]\n[[build]]\ncommand = "{}"\n'


def git(folder, *words):
    subprocess.run(["git", "-C", str(folder), *WHO, *words], check=True, capture_output=True)


def commit(folder, *names):
    for name in names:
        (folder / name).write_text(name)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", name)
        git(folder, "tag", name)


@pytest.fixture
def history(tmp_path):
    """A repository with a branch that was merged."""
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "--quiet", "--initial-branch", "main")
    commit(top, "one")
    git(top, "checkout", "--quiet", "-b", "beside")
    commit(top, "beside-one", "beside-two")
    git(top, "checkout", "--quiet", "main")
    commit(top, "two", "three")
    git(top, "merge", "--quiet", "--no-edit", "beside")
    commit(top, "four")
    return GitHistory(top)


def open_store(history, version):
    """A store that a machine of a fleet collects."""
    store = SelectionStore(history.top.parent / "store")
    store.prepare()
    table = store.keep_table(make_table(make_function("work"), form=read_form()))
    store.write_versions([version], [Program("one", {"tool": table})])
    store.write_json(ORIGIN_FILE, FleetOrigin("bench-1", "w1"))
    return store


def collect(history, text, store, fleet=None):
    project = Project(history, parse_settings(text), history.top / "selection.toml", store)
    question = CollectionQuestion(stride=1 << 30, profile=False, measure=False)
    return collect_on_fleet(question, project, history, fleet, None)


def test_counts_that_come_home_never_get_the_name_of_another_command(history, monkeypatch):
    store = open_store(history, Version(history.resolve("HEAD"), 0, "built", program="one"))
    keep_commands(parse_settings(BENCHMARK.format("./tool a")), store)

    def bring_counts(_):
        store.write_counts([WorkCount("one", "bench", 1000, machine="bench-1", way=COUNTED_WAY)])

    monkeypatch.setattr(experiments.Experiments, "take_left", bring_counts)
    with pytest.raises(InputError) as refused:
        collect(history, BENCHMARK.format("./tool b"), store)
    assert "bench was measured by another command: ./tool a" in refused.value.message
    assert store.read_json(COMMANDS_FILE, dict[str, str]) == {"bench": "./tool a"}


def test_numbers_without_a_command_are_told_of_once(history):
    store = open_store(history, Version(history.resolve("HEAD"), 0, "built", program="one"))
    store.write_counts([WorkCount("one", "bench", 1000, machine="bench-1", way=COUNTED_WAY)])
    for count in (1, 0):
        told = collect(history, BENCHMARK.format("./tool"), store).warnings
        assert sum(line.startswith("the store does not say by which command bench") for line in told) == count


class Fleet:
    """A coordinator that takes one experiment."""

    url = "https://fleet.example"

    def submit(self, _):
        return 7

    def follow(self, number):
        assert number == 7

    def take(self, *_):
        return None


def test_a_fleet_builds_a_version_again_once_its_build_is_corrected(history, monkeypatch):
    head = history.resolve("HEAD")
    wrong, right = BUILD.format("mkae"), BUILD.format("make")
    before, now = (spell_build(item, item.build[0]) for item in map(parse_settings, (wrong, right)))
    store = open_store(history, Version(head, 0, "failed", reason="no mkae", build=before))
    submitted = []

    def keep(_, submission, project, history):
        submitted.append(submission)
        keep_builds({head: BuiltVersion("failed", reason="no cc")}, submission.builds, history, project.store)
        return kept_experiment.KeptExperiment(1)

    monkeypatch.setattr(experiments, "keep_experiment", keep)
    untried = collect(history, wrong, store, Fleet())
    assert untried.finished
    assert any(line.startswith("1 version that failed before was not") for line in untried.warnings)
    assert submitted == []
    assert collect(history, right, store, Fleet()).finished
    (submission,) = submitted
    assert submission.builds == {head: now}
    collect(history, right, store, Fleet())
    assert len(submitted) == 1
    (version,) = store.versions
    assert (version.reason, version.build) == ("no cc", now)


def test_a_version_that_comes_home_is_of_the_build_that_was_submitted(history, monkeypatch):
    head = history.resolve("HEAD")
    store = open_store(history, Version(head, 0, "failed"))
    project = Project(history, parse_settings(BUILD.format("make")), history.top / "selection.toml", store)
    monkeypatch.setattr(kept_experiment, "_read", lambda *_: SimpleNamespace(debug_planned=0, workers=()))
    monkeypatch.setattr(kept_experiment, "read_debug_trials", lambda _: [])
    monkeypatch.setattr(
        kept_experiment, "read_builds", lambda *_: {head: BuiltVersion("failed", reason="no cc")}
    )
    taken = SimpleNamespace(bundle=SimpleNamespace(folder=store.folder))
    submission = PendingSubmission("build", "x", "https://fleet.example", 7, {head: "of the old settings"})
    kept_experiment.keep_experiment(taken, submission, project, history)
    assert [(item.reason, item.build) for item in store.versions] == [("no cc", "of the old settings")]


@pytest.mark.parametrize(("since", "until"), [("two", ""), ("beside-one", "three"), ("", "beside-two")])
def test_builds_of_many_commits_are_those_of_each(history, since, until):
    text = 'binaries = ["tool"]\n[[build]]\ncommand = "a"\nuntil = "four"\n[[build]]\ncommand = "b"\n'
    text += "".join(f'{key} = "{name}"\n' for key, name in (("since", since), ("until", until)) if name)
    settings = parse_settings(text)
    commits = [item.commit for item in history.walk("HEAD", first_parent=False)]
    each = {item: spell_build(settings, choose_build(settings, history, item)) for item in commits}
    assert spell_builds(settings, history, commits) == each
    assert len(set(each.values())) > 1
