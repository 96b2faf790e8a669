"""Submodules of a version that the user's clone lacks."""

from __future__ import annotations

import subprocess

import pytest

from datamill.conduct.selection.collecting.build_version import check_out
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.experiment.errors import InputError

SETTINGS = ("user.name=test", "user.email=test@example.org", "protocol.file.allow=always")


def git(folder, *arguments):
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def history(tmp_path):
    """A clone whose submodule was never fetched."""
    for name in ("part", "top"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "--quiet")
        (tmp_path / name / "file").write_text(name)
    git(tmp_path / "part", "add", "--all")
    git(tmp_path / "part", "commit", "--quiet", "--message", "part")
    git(tmp_path / "top", "submodule", "--quiet", "add", str(tmp_path / "part"), "part")
    git(tmp_path / "top", "add", "--all")
    git(tmp_path / "top", "commit", "--quiet", "--message", "top")
    git(tmp_path, "clone", "--quiet", str(tmp_path / "top"), "clone")
    (tmp_path / "scratch").mkdir()
    return GitHistory(tmp_path / "clone")


def test_a_submodule_that_is_missing_is_named_with_two_ways_out(history, tmp_path):
    with pytest.raises(InputError) as refused:
        check_out(history, history.resolve("HEAD"), tmp_path / "out", tmp_path / "scratch")
    assert refused.value.message == "the submodule part is not here"
    assert "git submodule update --init" in refused.value.remedy
    assert 'without = ["part"]' in refused.value.remedy


def test_a_submodule_that_builds_do_not_need_may_be_missing(history, tmp_path):
    check_out(history, history.resolve("HEAD"), tmp_path / "out", tmp_path / "scratch", ("part",))
    assert (tmp_path / "out" / "file").read_text() == "top"
    assert not (tmp_path / "out" / "part" / "file").exists()


def test_a_submodule_that_lacks_the_wanted_commit_is_not_called_missing(history, tmp_path):
    git(history.top, "submodule", "--quiet", "update", "--init")
    (tmp_path / "part" / "file").write_text("newer")
    git(tmp_path / "part", "commit", "--quiet", "--all", "--message", "newer")
    git(tmp_path / "top" / "part", "pull", "--quiet")
    git(tmp_path / "top", "commit", "--quiet", "--all", "--message", "newer")
    git(history.top, "pull", "--quiet", "--no-recurse-submodules")
    with pytest.raises(InputError) as refused:
        check_out(history, history.resolve("HEAD"), tmp_path / "out", tmp_path / "scratch")
    assert refused.value.message == "the submodule part lacks the commit that is wanted"
    assert refused.value.remedy == "Get its history: git -C part fetch."


def test_a_submodule_that_was_moved_and_lacks_the_commit_is_fetched_where_it_is_now(history, tmp_path):
    (tmp_path / "top" / "part" / "file").write_text("nowhere else")
    git(tmp_path / "top" / "part", "commit", "--quiet", "--all", "--message", "not pushed")
    git(tmp_path / "top", "commit", "--quiet", "--all", "--message", "not pushed")
    git(tmp_path / "top" / "part", "reset", "--quiet", "--hard", "HEAD~1")
    git(tmp_path / "top", "mv", "part", "moved")
    git(tmp_path / "top", "commit", "--quiet", "--all", "--message", "moved")
    git(history.top, "pull", "--quiet", "--no-recurse-submodules")
    git(history.top, "submodule", "--quiet", "update", "--init")
    with pytest.raises(InputError) as refused:
        check_out(history, history.resolve("HEAD~1"), tmp_path / "out", tmp_path / "scratch")
    assert refused.value.message.startswith("the submodule that was at part is not there any more")
    assert "git -C moved fetch" in refused.value.remedy
    assert 'without = ["part"]' in refused.value.remedy


def test_the_only_submodule_that_was_removed_is_got_as_its_remedy_says(history, tmp_path):
    git(tmp_path / "top", "rm", "--quiet", "part")
    git(tmp_path / "top", "commit", "--quiet", "--message", "removed")
    git(history.top, "pull", "--quiet", "--no-recurse-submodules")
    commit = history.resolve("HEAD~1")
    with pytest.raises(InputError) as refused:
        check_out(history, commit, tmp_path / "out", tmp_path / "scratch")
    told = f"Get it: git checkout {commit[:9]} && git submodule update --init --recursive, then return"
    assert refused.value.remedy.startswith(told)
    git(history.top, "checkout", "--quiet", commit)
    git(history.top, "submodule", "--quiet", "update", "--init", "--recursive")
    git(history.top, "checkout", "--quiet", "-")
    check_out(history, commit, tmp_path / "again", tmp_path / "scratch")
    assert (tmp_path / "again" / "part" / "file").read_text() == "part"
