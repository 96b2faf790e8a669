"""What the shell is offered while a command is typed, and how much is loaded for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: Runs the command as the script of a shell does, and says what it loaded.
TYPE = """
import sys
from datamill.cli.main import main
try:
    main()
except SystemExit as ended:
    print([name for name in {libraries} if name in sys.modules], file=sys.stderr)
    raise
"""
DEAR = ("polars", "numpy", "scipy", "altair", "jinja2", "django", "httpx", "rich", "msgspec")


def complete(typed: str, *libraries: str) -> tuple[list[str], str]:
    """What is offered for a line that ends where the cursor is, and which libraries were loaded."""
    words = typed.split(" ")
    environment = {**os.environ, "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    ran = subprocess.run(
        [sys.executable, "-c", TYPE.format(libraries=libraries), *words[1:]],
        env={**environment, "_DATAMILL_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [line.partition(",")[2] for line in ran.stdout.split()], ran.stderr.strip()


def test_verbs_are_completed_without_loading_any() -> None:
    assert complete("datamill re", *DEAR) == (["report", "reproduce", "release", "rerun", "retention"], "[]")
    assert complete("datamill --ver")[0] == ["--version"]


def test_the_verbs_of_a_group_are_completed() -> None:
    assert complete("datamill analyze var", "scipy", "altair")[0] == ["variability", "variance"]


def test_options_are_completed_with_no_more_than_their_help_loads() -> None:
    offered, loaded = complete("datamill run --resu", "polars", "numpy", "scipy", "altair", "django")
    assert (offered, loaded) == (["--resume"], "[]")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_understands(shell: str, tmp_path: Path) -> None:
    code = "from datamill.cli.main import main; main()"
    script = tmp_path / "script"
    script.write_bytes(subprocess.check_output([sys.executable, "-c", code, "completion", shell]))
    assert "_DATAMILL_COMPLETE" in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here to read its script")
    subprocess.run([shell, "-n", script], check=True)
