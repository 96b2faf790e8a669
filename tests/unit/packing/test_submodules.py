"""Submodules of a tree come from their clones in the user's files, and are named where they are missing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from datamill.packing.git.git_trees import GitTrees

SETTINGS = ("user.name=test", "user.email=test@example.org", "protocol.file.allow=always")


def git(folder: Path, *arguments: str) -> None:
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    subprocess.run(["git", "-C", str(folder), *settings, *arguments], check=True, capture_output=True)


def make(folder: Path, text: str, *submodules: Path) -> Path:
    """A repository with a file, and submodules that bear the names of their repositories."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "file").write_text(text)
    for submodule in submodules:
        git(folder, "submodule", "--quiet", "add", str(submodule), submodule.name)
        git(folder / submodule.name, "submodule", "--quiet", "update", "--init")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", text)
    return folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    inner = make(tmp_path / "inner", "inner 1")
    part = make(tmp_path / "part", "part 1", inner)
    top = make(tmp_path / "top", "top 1", part)
    (top / "part" / "file").write_text("part 2")
    git(top / "part", "commit", "--quiet", "--all", "--message", "part 2")
    git(top, "commit", "--quiet", "--all", "--message", "top 2")
    return top


def test_each_commit_has_the_submodules_that_it_had(top: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    trees = GitTrees(top, tmp_path / "scratch")
    for number, revision in ((1, "HEAD~1"), (2, "HEAD")):
        tree = trees.find(revision)
        place = tmp_path / f"out-{number}"
        trees.export(tree, place)
        assert (place / "part" / "file").read_text() == f"part {number}"
        assert (place / "part" / "inner" / "file").read_text() == "inner 1"
        assert trees.list_submodules(tree) == []


def test_submodules_that_the_clone_lacks_are_named(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(top), "clone")
    (tmp_path / "scratch").mkdir()
    trees = GitTrees(tmp_path / "clone", tmp_path / "scratch")
    trees.export(trees.find("HEAD"), tmp_path / "out")
    assert trees.list_submodules(trees.find("HEAD")) == ["part"]
    git(top / "part", "submodule", "--quiet", "deinit", "--force", "inner")
    (tmp_path / "other").mkdir()
    own = GitTrees(top, tmp_path / "other")
    assert own.list_submodules(own.find("HEAD")) == ["part/inner"]


def test_a_submodule_that_was_moved_since_is_found_where_it_is_now(top: Path, tmp_path: Path) -> None:
    git(top, "mv", "part", "moved")
    git(top, "commit", "--quiet", "--all", "--message", "moved")
    (tmp_path / "scratch").mkdir()
    trees = GitTrees(top, tmp_path / "scratch")
    before = trees.find("HEAD~1")
    trees.export(before, tmp_path / "out")
    assert (tmp_path / "out" / "part" / "file").read_text() == "part 2"
    assert trees.list_submodules(before) == []
