"""Nothing is built into a store whose tables cannot be compared with those that are read now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from made.selection.selection_records import make_function, make_table

from datamill.conduct.selection.collecting import collect
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.deciding import predict_revision
from datamill.conduct.selection.fleet.collect_on_fleet import collect_on_fleet
from datamill.conduct.selection.read_program import read_form, read_program
from datamill.conduct.selection.store.fleet_origin import ORIGIN_FILE, FleetOrigin
from datamill.conduct.selection.store.kept_forms import check_form
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.records import Program, Version
from datamill.selection.history.settings import parse_settings

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def make_project(folder, form):
    """A repository of one commit, and a store that knows another one."""
    top = folder / "top"
    top.mkdir()
    (top / "file").write_text("")
    for words in (("init", "--quiet"), ("add", "--all"), (*WHO, "commit", "--quiet", "--message", "first")):
        subprocess.run(["git", "-C", str(top), *words], check=True)
    store = SelectionStore(folder / "store")
    store.prepare()
    table = store.keep_table(make_table(make_function("work"), form=form))
    store.write_versions([Version("c" * 40, 0, "built", program="one")], [Program("one", {"tool": table})])
    settings = parse_settings('binaries = ["tool"]\n[[build]]\ncommand = "make"\n')
    return Project(GitHistory(top), settings, top / "selection.toml", store)


def test_the_version_of_digests_is_that_of_programs_that_are_read():
    assert read_form() == read_program(Path(sys.executable).resolve()).form


def ask_here(project):
    question = collect.CollectionQuestion()
    collect.collect_history(question, project.settings, project.history, project.store, project.here, print)


def ask_fleet(project):
    project.store.write_json(ORIGIN_FILE, FleetOrigin("bench-1", "w1"))
    collect_on_fleet(collect.CollectionQuestion(), project, project.history, None, None)


def predict(project):
    commit = project.history.resolve("HEAD")
    predict_revision._find_new(project, project.history, commit, {}, None, is_kept=True)


@pytest.mark.parametrize("ask", [ask_here, ask_fleet, predict])
def test_a_store_of_another_version_of_digests_is_refused_before_anything_is_built(
    tmp_path, monkeypatch, ask
):
    project = make_project(tmp_path, read_form() - 1)
    built = []
    monkeypatch.setattr(collect, "build_version", lambda *_: built.append("here"))
    monkeypatch.setattr(predict_revision, "_build", lambda *_: built.append("predicted"))
    with pytest.raises(InputError) as refused:
        ask(project)
    assert f"digests of version {read_form() - 1}, and this datamill makes" in refused.value.message
    assert refused.value.where == str(project.store.folder)
    assert "Name another store: " in refused.value.remedy
    assert built == []


def test_a_store_of_the_same_version_or_without_programs_is_gone_on_with(tmp_path):
    check_form(make_project(tmp_path, read_form()).store)
    check_form(SelectionStore(tmp_path / "nothing"))
