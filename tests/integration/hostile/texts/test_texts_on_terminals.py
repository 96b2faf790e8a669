"""What others wrote is printed by every verb without a character that a terminal obeys."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from integration.hostile.texts.told.played_client import TEXT, played_client, type_verb

from datamill.cli.console import clean_for_terminal
from datamill.cli.main import datamill

__all__ = ["played_client"]
pytestmark = pytest.mark.usefixtures("played_client")
#: Verb that asks a coordinator -> its arguments; None where it prints numbers and what it made itself, or
#: is tried in `test_texts_of_verbs_with_files.py`.
VERBS: dict[str, tuple[str, ...] | None] = {
    "watch": ("1",),
    "trials": ("1",),
    "cancel": ("1",),
    "release": ("1",),
    "queue": (),
    "queue share": ("ada", "2"),
    "queue priority": None,
    "workers": (),
    "workers drain": ("one",),
    "workers resume": ("one",),
    "workers remove": ("one", "--yes"),
    "worker token": None,
    "factors": ("--fleet",),
    "compare": ("--experiment", "1", "--experiment", "2"),
    "publications": (),
    "publish": ("1", "--author", "Doe", "--title", "T", "--yes"),
    "withdraw": ("k", "--reason", "R", "--yes"),
    "rerun": ("1", "--verdicts"),
    "fork": None,
    "users": (),
    "users add": ("bob",),
    "users close": ("bob",),
    "users open": ("bob",),
    "storage": (),
    "notices": (),
    "notices webhook": ("https://example.org/",),
    "notices mail": ("a@example.org",),
    "notices feed": (),
    "notices confirm": ("1", "c"),
    "notices try": ("1",),
    "notices resume": ("1",),
    "notices remove": None,
    "backup": (),
    "quotas": (),
    "quotas set": None,
    "retention": None,
    "keys": (),
    "keys make": ("ci",),
    "keys revoke": None,
    "platforms scores": ("scores.csv",),
    "submit": None,
    "fetch": None,
    "worker lab": None,
    "selection collect": None,
}


def list_verbs(group: click.Group = datamill, before: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield each verb that asks a coordinator, with its groups before it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from list_verbs(command, f"{before}{name} ")
        callback = command.callback
        source = inspect.getsource(inspect.getmodule(callback)) if callback is not None else ""
        if "coordinator_options" in source and (command.callback is not None):
            names = {option.name for option in command.params}
            if {"url", "key"} <= names:
                yield f"{before}{name}", command


def test_every_verb_that_asks_a_coordinator_has_a_line() -> None:
    assert {name for name, _ in list_verbs()} == set(VERBS)


@pytest.mark.parametrize("verb", [name for name, arguments in VERBS.items() if arguments is not None])
def test_a_verb_prints_nothing_that_a_terminal_obeys(verb: str) -> None:
    arguments = VERBS[verb]
    assert arguments is not None
    type_verb(*verb.split(), *arguments)


def test_json_of_a_comparison_is_the_same_without_what_a_terminal_obeys() -> None:
    asked = ["compare", "--experiment", "1", "--experiment", "2", "--json", "--url", "http://127.0.0.1:9"]
    done = CliRunner().invoke(datamill, [*asked, "--key", "dmk_x"], catch_exceptions=False)
    assert clean_for_terminal(done.stdout) == done.stdout
    assert json.loads(done.stdout)["text"] == TEXT


@pytest.mark.parametrize("verb", ["summary", "tests", "anova"])
def test_an_analysis_prints_nothing_of_a_table_that_a_terminal_obeys(verb: str, tmp_path: Path) -> None:
    # As somebody handed it on: a level, which is a name in all that is said.
    level = TEXT.replace("\r", "")
    rows = [f'"{name}",{seconds}' for name in (level, "plain") for seconds in (1.0, 1.1, 1.3, 1.2)]
    (tmp_path / "table.csv").write_text("\n".join(["level,seconds", *rows]) + "\n", encoding="utf-8")
    asked = ["analyze", verb, "table.csv", "--response", "seconds", "--factors", "level"]
    done = CliRunner().invoke(datamill, asked, catch_exceptions=False)
    assert clean_for_terminal(done.output) == done.output
    assert "dmq" in done.output, done.output
