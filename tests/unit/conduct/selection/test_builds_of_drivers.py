"""A build that compiles what lies beside the settings, such as a driver that executes a library."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

from datamill.conduct.selection.collecting.build_version import build_version
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.selection.history.settings import parse_settings

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")


class Shell:
    """A worker that executes what it is asked for."""

    def measure(self, request):
        done = subprocess.run(
            request.command, cwd=request.directory, capture_output=True, text=True, check=False
        )
        run = SimpleNamespace(wall_time_ns=1, exit_code=done.returncode, signal=None, timed_out=False)
        return SimpleNamespace(run=run, failure=None, stderr_tail=done.stderr)


def test_a_build_is_told_the_folder_of_the_settings(tmp_path):
    top, here = tmp_path / "top", tmp_path / "here"
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
