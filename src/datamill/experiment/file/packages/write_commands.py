"""An experiment file that measures command lines."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from datamill.experiment.messages.phrases import list_first

_LONGEST_NAME = 40
_MOST_IN_QUESTION = 4


def derive_names(commands: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each command's package: its words, as far as names may have them, none twice."""
    names: list[str] = []
    for command in commands:
        words = re.sub(r"[^A-Za-z0-9._+]+", "-", command)[:_LONGEST_NAME]
        name = wanted = words.strip("._+-") or "command"
        number = 1
        while name in names:
            number += 1
            name = f"{wanted}-{number}"
        names.append(name)
    return tuple(names)


def write_command_file(name: str, commands: Sequence[str], directory: str) -> str:
    """Return the text of an experiment that goes on until its answer is known, or a few minutes.

    Args:
        name: of the experiment.
        commands: command lines, one or more.
        directory: where they run, relative to the file; empty where they need no files.
    """
    names = derive_names(commands)
    question = f"How long does {names[0]} take?"
    if len(names) > 1:
        question = f"Which is fastest: {list_first(names, _MOST_IN_QUESTION)}?"
    if len(names) == 2:
        question = f"Which is faster, {names[0]} or {names[1]}?"
    enough, meaning = '{ half_width = "2%" }', "each mean is known to 2%"
    if len(names) == 2:
        enough, meaning = (
            '{ detect = "5%" }',
            "it is known which is faster, or that they differ by less than 5%",
        )
    parts = [
        "# What is asked, of what, and how. Every key: docs/reference/experiment-file.md of datamill.\n\n"
        f"[experiment]\nname = {_quote(name)}\nquestion = {_quote(question)}\nseed = 1\n",
        f"[replication]\nuntil = {enough}      # enough: {meaning}\n"
        'max_time = "3 min"                 # and else so long\n',
    ]
    parts.extend(
        f"[[package]]\nname = {_quote(package)}\ncommand = {_quote(command)}\n"
        f"directory = {_quote(directory)}\n"
        for package, command in zip(names, commands, strict=True)
    )
    parts.append(
        "[nuisance]\n"
        'policy = "randomise"               # what moves results unnoticed is drawn anew for each trial\n'
    )
    parts.append('[responses.wall_time]\nunit = "s"\nformula = "wall_time_s"\ndirection = "lower"\n')
    return "\n".join(parts)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
