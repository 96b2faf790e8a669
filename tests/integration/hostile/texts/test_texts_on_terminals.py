"""What others wrote is printed by every verb without a character that a terminal obeys."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner
from integration.hostile.texts.told.walked_records import make_plain

from datamill.cli.console import clean_for_terminal
from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.cli.main import datamill
from datamill.protocol.api.events import NEWS
from datamill.protocol.api.experiments import ComparisonHead

#: Paints, changes the title, clears; begins with one character of eight bits; turns the direction round.
TEXT = "dmq\x1b[31m\x1b]0;dmq\x07\x1b[2J\x9b31m\r\u202e\u2066[bold]dmq[/bold]"
#: Verb that asks a coordinator -> its arguments; None where it prints numbers and what it made itself, or
#: needs files that no played coordinator has.
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


def answer(_client: CoordinatorClient, _path: str, kind: Any, *_: Any, **__: Any) -> Any:
    """Answer with a record of that kind that is full of texts."""
    # What is read by its verb later is the one record that it reads.
    made = make_plain(ComparisonHead if kind is msgspec.Raw else kind, lambda _: TEXT)
    if isinstance(made, dict) and "next" in made:
        # Of a list there is one page.
        made["next"] = None
    return msgspec.json.decode(msgspec.json.encode(made), type=kind)


@contextlib.contextmanager
def stream(_client: CoordinatorClient, _path: str, *_: Any, **__: Any) -> Iterator[Any]:
    """Answer with an event of each kind."""
    lines: list[str] = []
    for number, (name, kind) in enumerate(NEWS.items()):
        data = json.dumps(make_plain(kind, lambda _: TEXT))
        lines += [f"id: {number}", f"event: {name}", f"data: {data}", ""]

    class Answer:
        def iter_lines(self) -> Iterator[str]:
            yield from lines

        def iter_bytes(self, _size: int = 0) -> Iterator[bytes]:
            yield TEXT.encode()

    yield Answer()


@pytest.fixture(autouse=True)
def coordinator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A coordinator that answers everything with texts."""
    for name in ("get", "post", "post_once"):
        monkeypatch.setattr(CoordinatorClient, name, answer)
    for name in ("stream", "stream_made"):
        monkeypatch.setattr(CoordinatorClient, name, stream)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_every_verb_that_asks_a_coordinator_has_a_line() -> None:
    assert {name for name, _ in list_verbs()} == set(VERBS)


@pytest.mark.parametrize("verb", [name for name, arguments in VERBS.items() if arguments is not None])
def test_a_verb_prints_nothing_that_a_terminal_obeys(verb: str) -> None:
    arguments = VERBS[verb]
    assert arguments is not None
    where = ["--url", "http://127.0.0.1:9", "--key", "dmk_x"]
    done = CliRunner().invoke(datamill, [*verb.split(), *arguments, *where])
    told = done.output
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, Exception)
        told += clean_for_terminal(str(done.exception))
    assert clean_for_terminal(told) == told, (verb, told)
    assert "dmq" in told, (verb, told, done.exception)


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
