"""What a command loads before it does anything: people wait for it, each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: What people type most, by the module that their command loads.
COMMANDS = {
    "report": "datamill.conduct.report_bundle",
    "compare": "datamill.verbs.compare",
    "tests": "datamill.verbs.tests",
}
#: Libraries that take longer to load than most answers take to find.
SLOW = ("scipy.stats", "scipy.optimize", "pandas", "statsmodels", "matplotlib")
#: What draws and writes pages: of use to those who ask for either.
DRAWING = ("altair", "jinja2", "vl_convert")
TABLES = ("polars", "pyarrow", "numpy", "scipy")
SERVICE = ("django", "nats", "uvicorn")
#: What draws terminals, speaks to coordinators and signs.
TALKING = ("rich", "click", "httpx", "cryptography")
#: What the list of verbs does without: records, processes, guesses at what was meant.
UNNEEDED_FOR_HELP = ("msgspec", "subprocess", "difflib", "hashlib", "rich", "httpx")
#: All that stands between a command and its first execution, with what each may not load.
BEFORE_THE_FIRST_EXECUTION = dict.fromkeys(
    (
        "datamill.protocol.api.submissions",
        "datamill.protocol.fleet",
        "datamill.protocol.noise",
        "datamill.protocol.offers",
        "datamill.protocol.trial",
        "datamill.experiment.file.parse",
        "datamill.experiment.messages.arguments",
        "datamill.design.trials",
        "datamill.execution.worker",
        "datamill.execution.here",
    ),
    (*TABLES, *DRAWING, *SERVICE, *TALKING),
) | {
    "datamill": ("msgspec", "click", *TABLES, *DRAWING, *SERVICE),
    "datamill.execution.errors": ("msgspec", "subprocess", "click", *TABLES),
}
#: Types a command and then says which of the named libraries it has loaded.
TYPE = """
import sys
from datamill.cli.main import main
try:
    main({command})
except SystemExit as ended:
    assert not ended.code, ended.code
print([name for name in {libraries} if name in sys.modules], file=sys.stderr)
"""


def list_loaded(*command: str, libraries: tuple[str, ...], folder: Path, before: str = "") -> list[str]:
    code = before + TYPE.format(command=list(command), libraries=libraries)
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return list(eval(ran.stderr.splitlines()[-1]))


#: Types a command whose first execution never comes, and says what is loaded by then.
TYPE_UNTIL_THE_FIRST_EXECUTION = """
from datamill.execution.command_session import CommandSession
def stop(session, request):
    raise SystemExit
CommandSession.measure = stop
"""


@pytest.mark.parametrize("module", BEFORE_THE_FIRST_EXECUTION)
def test_what_stands_before_the_first_execution_loads_nothing_dear(module: str) -> None:
    libraries = BEFORE_THE_FIRST_EXECUTION[module]
    code = f"import sys, {module}; print([name for name in {libraries} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_list_of_verbs_loads_no_records_and_starts_no_process(tmp_path: Path) -> None:
    assert list_loaded("--help", libraries=UNNEEDED_FOR_HELP, folder=tmp_path) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_no_slow_library(command: str) -> None:
    libraries = (*SLOW, "altair", "vl_convert")
    code = f"import sys, {COMMANDS[command]}; print([name for name in {libraries} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize("verb", [(), ("check",), ("run",), ("new",), ("factors",), ("worker",), ("report",)])
def test_the_help_of_a_verb_that_runs_loads_no_tables_no_statistics_and_no_service(
    verb: tuple[str, ...], tmp_path: Path
) -> None:
    libraries = (*TABLES, *DRAWING, *SERVICE, *(("rich",) if not verb else ()))
    assert list_loaded(*verb, "--help", libraries=libraries, folder=tmp_path) == []


def test_the_first_execution_of_a_timed_command_waits_for_no_statistics(tmp_path: Path) -> None:
    unneeded = ("rich", "datamill.experiment.experiment", "datamill.results.bundles.bundle")
    libraries = (*TABLES, *DRAWING, *SERVICE, *unneeded)
    first = TYPE_UNTIL_THE_FIRST_EXECUTION
    assert list_loaded("time", "true", libraries=libraries, folder=tmp_path, before=first) == []


def test_timing_a_command_loads_neither_tables_nor_what_draws(tmp_path: Path) -> None:
    libraries = ("polars", "pyarrow", *DRAWING, *SLOW, *SERVICE)
    assert list_loaded("time", "--runs", "2", "true", libraries=libraries, folder=tmp_path) == []


def test_an_experiment_is_made_checked_and_its_order_printed_without_tables(tmp_path: Path) -> None:
    libraries = (*TABLES, *DRAWING, *SERVICE)
    assert list_loaded("new", "sorting", libraries=libraries, folder=tmp_path) == []
    assert list_loaded("check", "sorting", libraries=libraries, folder=tmp_path) == []
    assert list_loaded("run", "sorting", "--dry-run", libraries=libraries, folder=tmp_path) == []


@pytest.mark.parametrize(
    "command",
    [
        ("analyze", "anova", "t.csv", "--response", "y", "--factors", "g"),
        ("analyze", "tests", "t.csv", "--response", "y", "--factors", "g"),
        ("analyze", "summary", "t.csv", "--response", "y"),
        ("analyze", "variability", "t.csv", "--response", "y", "--factors", "g"),
    ],
    ids=lambda command: command[1],
)
def test_an_answer_in_words_loads_nothing_that_draws(command: tuple[str, ...], tmp_path: Path) -> None:
    rows = [f"{'ab'[row % 2]},{row * 7 % 11}" for row in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["g,y", *rows]) + "\n")
    assert list_loaded(*command, libraries=(*DRAWING, *SLOW, *SERVICE), folder=tmp_path) == []
