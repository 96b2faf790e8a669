"""The words of a command line, and whether it takes a shell to run it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # All records of the question, which a single command line need not wait for.
    from datamill.experiment.experiment import CommandSource

#: Parts of a command line as a shell sees them: quoted without expansions, quoted with them, bare.
_PARTS = re.compile(r"'[^']*'|\"(?P<open>(?:[^\"\\]|\\.)*)\"|\\(?P<escaped>.)|(?P<bare>[^'\"\\])", re.DOTALL)
#: What means something to a shell outside quotes, and inside double ones.
_MEANS_BARE = frozenset("|&;<>()$`*?[]#~!\n\r")
_MEANS_OPEN = frozenset("$`\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
#: First words that only a shell knows, as far as anybody measures them.
_OF_SHELLS = re.compile(
    r"[.:{]|\[\[|alias|bg|break|case|cd|command|continue|eval|exec|exit|export|fg|for|function|getopts|hash|if|jobs"
    r"|local|read|readonly|return|set|shift|source|times|trap|type|ulimit|umask|unalias|unset|until|wait|while"
)


def split_command(command: CommandSource) -> tuple[str, ...] | None:
    """Return the words of a command that is executed without a shell around it; None for one that has one.

    Raises:
        ValueError: when it is to have none, and its quotes do not match; the text says why.
    """
    return split_text(command.text, shell=command.shell)


def split_text(text: str, *, shell: bool | None) -> tuple[str, ...] | None:
    """Return what `split_command` returns, of the text of a command; `shell` None leaves that to the text.

    Raises:
        ValueError: when it is to have none, and its quotes do not match; the text says why.
    """
    if shell or (shell is None and _speaks_to_shell(text)):
        return None
    return tuple(shlex.split(text))


def _speaks_to_shell(text: str) -> bool:
    for part in _PARTS.finditer(text):
        if part["bare"] is not None and part["bare"] in _MEANS_BARE:
            return True
        if part["open"] is not None and not _MEANS_OPEN.isdisjoint(part["open"]):
            return True
        if part["escaped"] == "\n":
            return True
    first = next(iter(shlex.split(text)), "")
    return bool(_OF_SHELLS.fullmatch(first) or _ASSIGNMENT.match(first))
