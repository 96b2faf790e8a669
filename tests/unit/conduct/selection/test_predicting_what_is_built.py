"""Commits predicted from binaries that are there, and while others collect."""

from __future__ import annotations

import shutil
import subprocess
from types import SimpleNamespace

import pytest
from made.selection.selection_records import make_function, make_table

from datamill.conduct.selection.collecting import build_version
from datamill.conduct.selection.collecting.build_version import BuiltVersion
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.deciding import predict_revision
from datamill.conduct.selection.store.kept_commands import spell_build
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.execution import command_session
from datamill.experiment.errors import InputError
from datamill.selection.history.records import COUNTED_WAY, Program, Version, WorkCount
from datamill.selection.history.settings import parse_settings
from datamill.selection.prediction.commit_prediction import CommitPrediction

SETTINGS = ("user.name=test", "user.email=test@example.org")


def git(folder, *arguments):
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def history(tmp_path):
    """A repository with three commits."""
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "--quiet")
    for text in ("first", "second", "third"):
        (top / "file").write_text(text)
        git(top, "add", "--all")
        git(top, "commit", "--quiet", "--message", text)
    return GitHistory(top)


def read_built(text, history, tmp_path):
    (tmp_path / "built").mkdir()
    shutil.copy2("/bin/true", tmp_path / "built" / "tool")
    project = SimpleNamespace(settings=parse_settings(text), store=SelectionStore(tmp_path / "store"))
    return predict_revision._read_built(project, history, history.resolve("HEAD"), tmp_path / "built")


def test_binaries_that_are_there_need_no_commits_that_a_shallow_clone_lacks(history, tmp_path):
    since = history.resolve("HEAD~2")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{history.top}", "shallow")
    text = f'binaries = ["tool"]\n[[build]]\ncommand = "make"\nsince = "{since}"\n'
    assert set(read_built(text, GitHistory(tmp_path / "shallow"), tmp_path).tables) == {"tool"}


def test_a_commit_that_no_build_is_for_is_refused_where_builds_alone_name_binaries(history, tmp_path):
    text = f'binaries = []\n[[build]]\ncommand = "make"\nuntil = "{history.resolve("HEAD")}"\n'
    with pytest.raises(InputError) as refused:
        read_built(f'{text}binaries = ["tool"]\n', history, tmp_path)
    assert refused.value.message == "no build of the settings is for this commit"
    assert 'Write binaries = ["PATH"]' in refused.value.remedy


def test_a_version_that_was_collected_meanwhile_is_not_replaced(history, tmp_path, monkeypatch):
    mine, other = SelectionStore(tmp_path / "store"), SelectionStore(tmp_path / "store")
    commit = history.resolve("HEAD")
    other.write_versions([Version("old", 0, "built", program="one")], [Program("one", {})])
    known = {item.commit: item for item in mine.versions}
    collected = Version(commit, 1, "built", program="two", ancestor="old", hops=3)
    other.write_versions([*other.versions, collected], [Program("one", {}), Program("two", {})])
    monkeypatch.setattr(predict_revision, "_build", lambda *_: (Program("two", {}), ""))
    project = SimpleNamespace(store=mine)
    found = predict_revision._find_new(project, history, commit, known, None, is_kept=True)
    assert found == collected
    assert SelectionStore(tmp_path / "store").versions[-1] == collected


class Worker:
    """A worker that need not be there."""

    def __init__(self, _):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_a_version_that_a_prediction_builds_says_by_what_it_was_built(history, tmp_path, monkeypatch):
    text = 'binaries = ["tool"]\n[[build]]\ncommand = "a"\n[[build]]\ncommand = "b"\nsince = "{}"\n'
    settings = parse_settings(text.format(history.resolve("HEAD~1")))
    store = SelectionStore(tmp_path / "store")
    store.write_versions([], [])
    monkeypatch.setattr(command_session, "CommandSession", Worker)
    monkeypatch.setattr(build_version, "build_version", lambda *_: BuiltVersion("built", Program("two", {})))
    project = SimpleNamespace(store=store, settings=settings, here=tmp_path)
    for name, build in (("HEAD", settings.build[1]), ("HEAD~2", settings.build[0])):
        predict_revision._find_new(project, history, history.resolve(name), {}, None, is_kept=True)
        assert store.versions[-1].build == spell_build(settings, build)


@pytest.mark.parametrize(
    ("program", "build", "is_told"),
    [("two", "other x", True), ("two", "old y", False), ("two", "", False), ("one", "other x", False)],
)
def test_a_prediction_says_that_two_versions_were_built_by_other_commands(
    history, tmp_path, monkeypatch, program, build, is_told
):
    store = SelectionStore(tmp_path / "store")
    store.prepare()
    tables = {"tool": store.keep_table(make_table(make_function("work")))}
    first, last = history.resolve("HEAD~1"), history.resolve("HEAD")
    versions = [
        Version(first, 0, "built", program="one", build="old x"),
        Version(last, 1, "built", program=program, build=build),
    ]
    store.write_versions(versions, [Program("one", tables), Program("two", tables)])
    store.write_counts([WorkCount("one", "bench", 1000, way=COUNTED_WAY)])
    asked = CommitPrediction(last, first, 1, (), ())
    monkeypatch.setattr(predict_revision, "read_model", lambda _: None)
    monkeypatch.setattr(predict_revision, "predict_commit", lambda *_: asked)
    settings = parse_settings('binaries = ["tool"]\n')
    project = Project(history, settings, tmp_path / "selection.toml", store)
    told = predict_revision.predict_revision(project, "HEAD").warnings
    assert any("was built by another command" in line for line in told) == is_told
