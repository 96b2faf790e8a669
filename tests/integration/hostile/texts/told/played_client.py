"""A coordinator that tells the verbs nothing but texts that terminals obey."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from integration.hostile.texts.told.walked_records import make_plain

from datamill.cli.console import clean_for_terminal
from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.cli.main import datamill
from datamill.experiment.errors import InputError
from datamill.protocol.api.events import NEWS
from datamill.protocol.api.experiments import ComparisonHead

#: Paints, changes the title, clears; begins with one character of eight bits; turns the direction round.
TEXT = "dmq\x1b[31m\x1b]0;dmq\x07\x1b[2J\x9b31m\r\u202e\u2066[bold]dmq[/bold]"


def answer(_client: CoordinatorClient, _path: str, kind: Any, *_: Any, **__: Any) -> Any:
    """Answer with a record of that kind that is full of texts."""
    # What is read by its verb later is the one record that it reads.
    made = make_plain(ComparisonHead if kind is msgspec.Raw else kind, lambda _: TEXT)
    if isinstance(made, dict):
        # Of a list there is one page, and no file is asked for.
        made |= {name: value for name, value in (("next", None), ("missing_files", [])) if name in made}
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


@pytest.fixture
def played_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A coordinator that answers everything with texts, and an empty folder to work in."""
    for name in ("get", "post", "post_once"):
        monkeypatch.setattr(CoordinatorClient, name, answer)
    for name in ("stream", "stream_made"):
        monkeypatch.setattr(CoordinatorClient, name, stream)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def type_verb(*typed: str, url: str = "http://127.0.0.1:9") -> str:
    """Type a verb; return all that it prints, with what its refusal says, once that holds nothing obeyed."""
    done = CliRunner().invoke(datamill, [*typed, "--url", url, "--key", "dmk_x"])
    told = done.output
    if isinstance(done.exception, InputError):
        # As `main` does.
        told += clean_for_terminal(str(done.exception))
    elif done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert clean_for_terminal(told) == told, (typed, told)
    assert "dmq" in told, (typed, told, done.exception)
    return told
