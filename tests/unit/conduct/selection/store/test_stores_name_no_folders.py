"""What is kept of failures goes to others with the store: it names no folder of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from made.selection.selection_records import make_function, make_table

from datamill.conduct.selection.collecting import profile_program as profiling
from datamill.conduct.selection.collecting.commands import HERE, hide_folders
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.records import Program
from datamill.selection.history.settings import BenchmarkSetting, SelectionSettings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/lab/a/in/drive: fails", "{here}/in/drive: fails"),
        ("/lab/a/store/kept/p/tool: no /lab/a.", "tool: no {here}."),
        ("in /lab/a/store/kept/p", "in ."),
        ("/lab/ab/c and /lab/a-b", "/lab/ab/c and /lab/a-b"),
    ],
)
def test_folders_have_the_names_that_commands_have_for_them(text, told):
    assert hide_folders(text, {Path("/lab/a"): HERE, Path("/lab/a/store/kept/p"): ""}) == told


def test_a_count_that_fails_is_kept_without_folders(tmp_path, monkeypatch):
    store, here = SelectionStore(tmp_path / "store"), tmp_path / "settings"
    store.prepare()
    program = Program("p", {"tool": store.keep_table(make_table(make_function("work")))})

    def fail(command, programs, **_):
        raise InputError(f'fails; it said: "no {here}/data for {programs[0]}"', where=command[0])

    monkeypatch.setattr(profiling, "count_command", fail)
    settings = SelectionSettings(("tool",), (BenchmarkSetting("bench", "{here}/in/drive ./tool"),))
    (count,) = profiling.profile_program(program, settings, store, here, only=["bench"])
    assert count.failure == '{here}/in/drive: fails; it said: "no {here}/data for tool"'
