"""`datamill selection`: which benchmarks must run for this commit?"""

from __future__ import annotations

import click

from datamill.cli.verbs import VerbGroup

#: The verbs in the order of use, each with its line in the help.
_VERBS = {
    "init": "Begin the settings of a project.",
    "collect": "Build, profile and measure versions of a project.",
    "train": "Learn from what was collected.",
    "predict": "Which benchmarks must run for a commit?",
    "explain": "Why a commit is predicted to change a benchmark.",
    "evaluate": "How well predictors do on what was collected.",
    "bisect": "Which earlier commit most likely introduced a change?",
    "pack": "Write a store into few small files.",
    "functions": "List the functions of a program, or what changed.",
    "profile": "Count what a command executes of a program.",
}
_OF_HISTORY = tuple(name for name in _VERBS if name not in ("functions", "profile"))


@click.group(
    cls=VerbGroup,
    verbs=_VERBS,
    package="datamill.cli.selection",
    rooms=dict.fromkeys(_OF_HISTORY, "history"),
)
def selection() -> None:
    """Tell from two versions of a program which benchmarks must run.

    \b
      datamill selection init REPO      begin selection.toml; write the benchmarks into it
      datamill selection collect        build, profile and measure versions
      datamill selection train          learn which changes mattered
      datamill selection predict HEAD   which benchmarks must run for this commit
    """  # noqa: D301 - click needs the backspace itself
