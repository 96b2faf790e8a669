"""Commands that README and `docs/` show exist, with the options that they are shown with."""

from __future__ import annotations

import re
from itertools import takewhile

import click
import pytest
from faces.documents import Shown, list_commands

from datamill.cli.main import datamill
from datamill.service.serving.options import make_parameters

COMMANDS = list_commands()
#: What stands for several commands or options: `run | report`, `analyze VERB`, `[--json]`, `…`.
_PLACEHOLDER = re.compile(r"^[A-Z]{3,}|…|\||^\[")


def find_verb(words: list[str]) -> tuple[click.Command, click.Context, list[str]]:
    """The command that words begin with, and the words after it."""
    command: click.Command = datamill
    # As when it is typed: a command keeps what its first context says of --help.
    context = click.Context(datamill, info_name="datamill", **datamill.context_settings)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        if _PLACEHOLDER.search(words[0]):
            break
        found = command.get_command(context, words[0])
        assert found is not None, f"there is no {context.command_path} {words[0]}"
        command, context = found, click.Context(found, info_name=words[0], parent=context)
        words = words[1:]
    return command, context, words


def test_the_pages_show_commands() -> None:
    assert len(COMMANDS) > 60
    assert {"run", "report", "compare", "analyze", "serve", "submit"} <= {item.words[0] for item in COMMANDS}


@pytest.mark.parametrize("shown", COMMANDS, ids=str)
def test_a_command_that_a_page_shows_exists_with_its_options(shown: Shown) -> None:
    command, context, rest = find_verb(shown.words)
    # The coordinator, a process of its own, reads what `serve` is given.
    options = make_parameters() if command.name == "serve" else command.get_params(context)
    known = {name for item in options for name in (*item.opts, *item.secondary_opts)}
    for word in takewhile(lambda word: word != "--", rest):
        option = word.strip("[]().,;").partition("=")[0]
        if option.startswith("-") and re.match(r"--?[a-z]", option):
            assert option in known, f"{context.command_path} has no {option}"
