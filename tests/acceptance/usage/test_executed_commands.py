"""Commands that README and `docs/` show are executed, page by page and from top to bottom."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.conftest import BIN, Command
from acceptance.usage.shown_files import compile_programs, make_measured_bundle, make_shown_files
from acceptance.usage.unexecuted import find_why_not, list_unused_beginnings, tell_unexecuted
from faces.documents import Shown, list_commands

COMMANDS = list_commands()
EXECUTED = [shown for shown in COMMANDS if not find_why_not(shown)]
PAGES = list(dict.fromkeys(shown.page for shown in EXECUTED))
#: Pages whose bundle has three levels of repetition; that of the others is of trials that ran here.
NESTED = ("README.md", "docs/reference/analyses.md")
#: What stands for words that a page leaves to its reader.
STANDS_FOR = {
    "analyze VERB DATA": "analyze summary measured",
    "check FILE": "check measured.toml",
    "explain WORD": "explain trial",
    "export DATA --to FORMAT": "export sizes.csv --to markdown",
    "new NAME": "new named",
    "plan DATA": "plan pilot.csv",
    "plan PILOT": "plan my-bundle --half-width 1%",
    "platforms suite FOLDER": "platforms suite suite",
    "predict DATA": "predict sizes.csv --response seconds --factors size,package",
    "report DIR": "report measured",
    "report BUNDLE": "report measured",
    "reproduce ORIGINAL RERUN": "reproduce measured rerun",
    "run --resume DIR": "run --resume measured",
    "run BUNDLE --out ELSEWHERE": "run measured --out elsewhere",
    "run BUNDLE": "run measured",
    "selection profile PROGRAM -- COMMAND": "selection profile new/program -- new/program",
    "new NAME --from PACKAGE": "new other --from fft",
    "allocators trace -- PROGRAM": "allocators trace -- ./program",
}
#: Commands that go through a whole history or suite, again and again, or run a whole experiment: `make check`
#: executes them.
LONG = ("selection evaluate", "platforms evaluate", "run compare-sort")
#: What makes that experiment.
BEFORE_LONG = ("new compare-sort",)
#: Programs that a command needs besides datamill.
NEEDS = {"selection functions": "gcc", "selection profile": "valgrind", "allocators trace": "gcc"}


@pytest.fixture(scope="module")
def shown_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the pages name, of which each page gets a copy."""
    folder = tmp_path_factory.mktemp("shown")
    make_shown_files(folder)
    datamill = make_command(folder, tmp_path_factory.mktemp("state"))
    for name in ("measured", "rerun"):
        make_measured_bundle(folder / name, datamill)
    if shutil.which("gcc"):
        compile_programs(folder)
    return folder


def make_command(folder: Path, state: Path) -> Command:
    """A command that leaves nothing in the folder but what it was asked for."""
    datamill = Command(folder)
    # Commands are executed in this folder, which must not hold what no trial may see.
    datamill.environment["DATAMILL_STATE_DIR"] = str(state)
    datamill.environment["PATH"] = f"{BIN}:{datamill.environment['PATH']}"
    return datamill


def begins(shown: Shown, beginnings: tuple[str, ...]) -> bool:
    return shown.text.removeprefix("datamill ").startswith(beginnings)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_answer(
    page: str, shown_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What `go test` pipes into `datamill import -`.
    monkeypatch.setattr(sys, "stdin", (shown_files / "old.txt").open(encoding="utf-8"))
    execute([shown for shown in list_whole(page) if not begins(shown, LONG)], page, shown_files, tmp_path)


@pytest.mark.parametrize("page", list(dict.fromkeys(shown.page for shown in EXECUTED if begins(shown, LONG))))
def test_the_long_commands_of_a_page_answer(page: str, shown_files: Path, tmp_path: Path) -> None:
    wanted = (*LONG, *BEFORE_LONG)
    execute([shown for shown in list_whole(page) if begins(shown, wanted)], page, shown_files, tmp_path)


def execute(commands: list[Shown], page: str, shown_files: Path, tmp_path: Path) -> None:
    """Type commands of a page one after the other where all is that they name."""
    if not commands:
        missing = sorted({needed for needed in NEEDS.values() if not shutil.which(needed)})
        assert missing, page
        pytest.skip(f"not here: {', '.join(missing)}")
    folder = tmp_path / "here"
    shutil.copytree(shown_files, folder, symlinks=True)
    bundle = "pilot-bundle" if page in NESTED else "measured"
    if page in NESTED:
        shutil.copy(folder / "pilot.csv", folder / "table.csv")
    for name in ("my-bundle", "BUNDLE", "A", "B"):
        shutil.copytree(folder / bundle, folder / name)
    datamill = make_command(folder, tmp_path / "state")
    for shown in commands:
        answered = datamill(*shown.words, timeout_s=120)
        # Of `--check` 1 is an answer, too.
        good = (0, 1) if "--check" in shown.words else (0,)
        assert answered.returncode in good, f"{shown}\n{answered.stderr}"
        assert (answered.stdout + answered.stderr).strip(), shown


def list_whole(page: str) -> Iterator[Shown]:
    """What is executed of a page, each command once, with something for the words that are left open."""
    seen = set()
    for shown in EXECUTED:
        if shown.page != page or shown.text in seen:
            continue
        seen.add(shown.text)
        text = shown.text.removeprefix("datamill ")
        for open_words, whole in sorted(STANDS_FOR.items(), key=lambda item: -len(item[0])):
            if text.startswith(open_words):
                text = whole + text.removeprefix(open_words)
                break
        whole_command = Shown(shown.place, f"datamill {text}")
        needed = next((need for verb, need in NEEDS.items() if text.startswith(verb)), "sh")
        if shutil.which(needed):
            yield whole_command


def test_each_command_is_executed_or_has_its_reason() -> None:
    left = sum(int(line.split()[0]) for line in tell_unexecuted(COMMANDS))
    assert len(EXECUTED) + left == len(COMMANDS)
    assert list_unused_beginnings(COMMANDS) == []
    assert {"run", "report", "compare", "time", "platforms", "new"} <= {item.words[0] for item in EXECUTED}
