"""A build that compiles what lies beside the settings, such as a driver that executes a library."""

from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace

import pytest

from datamill.conduct.selection.collecting.build_version import build_version
from datamill.conduct.selection.collecting.commands import HERE_VARIABLE, spell_here
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.selection.history.settings import parse_settings

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")


class Shell:
    """A worker that executes what it is asked for."""

    def measure(self, request):
        done = subprocess.run(
            request.command,
            cwd=request.directory,
            env={"PATH": os.defpath, **request.variables},
            capture_output=True,
            text=True,
            check=False,
        )
        run = SimpleNamespace(wall_time_ns=1, exit_code=done.returncode, signal=None, timed_out=False)
        return SimpleNamespace(run=run, failure=None, stderr_tail=done.stderr)


def test_a_build_is_told_the_folder_of_the_settings(tmp_path):
    top, here = tmp_path / "top", tmp_path / "my drivers"
    top.mkdir()
    here.mkdir()
    (top / "file").write_text("library\n")
    subprocess.run(["git", "init", "--quiet", str(top)], check=True)
    subprocess.run(["git", "-C", str(top), "add", "--all"], check=True)
    subprocess.run(["git", "-C", str(top), *WHO, "commit", "--quiet", "-m", "first"], check=True)
    (here / "driver").write_text("driver\n")
    text = 'binaries = ["tool"]\n[[build]]\ncommand = "cat {here}/driver file >tool; cat {here}/gone >&2"\n'
    history = GitHistory(top)
    made = build_version(
        history.resolve("HEAD"),
        parse_settings(text),
        history,
        SelectionStore(tmp_path / "store"),
        Shell(),
        here,
    )
    # What failed names no folder of this machine.
    assert "{here}/gone" in made.reason
    assert str(tmp_path) not in made.reason
    made = build_version(
        history.resolve("HEAD"),
        parse_settings(text.replace("; cat {here}/gone >&2", "")),
        history,
        SelectionStore(tmp_path / "store"),
        Shell(),
        here,
    )
    assert made.outcome == "unreadable"
    # What it made is a text, not a program.
    assert made.reason.startswith("tool: cannot be read as an ELF file")


@pytest.mark.parametrize(
    "word",
    [
        "{here}/driver",
        '"{here}/driver"',
        "'{here}/driver'",
        "'{here}'/driver",
        "\\'{here}/driver\\'",
    ],
)
def test_the_folder_of_the_settings_is_one_word_in_whatever_quotes(word):
    folder = "/it\"s $HOME  '{here}'"
    told = subprocess.run(
        ["/bin/sh", "-c", f"# it's {{here}}\nprintf '<%s>' {spell_here(word)}"],
        env={"PATH": os.defpath, HERE_VARIABLE: folder},
        capture_output=True,
        text=True,
        check=True,
    )
    pasted = word.replace("{here}", "/folder")
    plain = subprocess.run(
        ["/bin/sh", "-c", f"printf '<%s>' {pasted}"], capture_output=True, text=True, check=True
    )
    assert told.stdout == plain.stdout.replace("/folder", folder)


def test_quotes_in_a_comment_are_none():
    command = "# it's for {here}\ncc {here}/driver.c # don't\ncp {here}/a#'b' '{here}'"
    value = f'"${{{HERE_VARIABLE}}}"'
    assert spell_here(command) == (
        f"# it's for {{here}}\ncc {value}/driver.c # don't\ncp {value}/a#'b' ''{value}''"
    )
