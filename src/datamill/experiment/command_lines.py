"""Commands that are timed together, as people type them: words, names, and parameters in their places."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from math import prod

from datamill.experiment.command_words import split_text
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument

SHELL = "/bin/sh"
_NAME = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST_NAME = 40
#: Most commands that can be timed together, and most values of a scan.
_MOST_COMMANDS = 100


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command to be timed: what people call it, as it was typed, and the words that are executed.

    `name` is unique among those timed together and made of letters, digits, dots, underscores and dashes;
    `label` is what people read. `parameters` are the values of a scan that it has. `directory` is where it
    runs; empty for where the user is. `place` is that of the typed command of which it is one, from 0.
    """

    name: str
    label: str
    text: str
    words: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    place: int = 0

    @property
    def in_shell(self) -> bool:
        """Whether a shell reads it."""
        return self.words[:2] == (SHELL, "-c")


def list_words(text: str, *, shell: bool | None) -> tuple[str, ...]:
    """Return the words that are executed; `shell` None leaves it to the command whether it has one around it.

    Raises:
        InputError: when the command is empty, or its quotes do not match.
    """
    remedy = "Type what you would type in a terminal, and put it in quotes."
    if not text.strip() or "\0" in text or (not text.isprintable() and _is_no_text(text)):
        raise InputError("a command is empty, or has characters that are not text", remedy=remedy)
    try:
        words = split_text(text, shell=shell)
    except ValueError:
        raise InputError(f"the quotes of the command do not match: {text}", remedy=remedy) from None
    return (SHELL, "-c", text) if words is None else words


def wrap_words(text: str, program: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command with a shell of the user's own around it.

    Raises:
        InputError: when the command is empty.
    """
    list_words(text, shell=True)
    return (*program, "-c", text)


def read_commands(
    texts: Sequence[str],
    *,
    labels: Sequence[str] = (),
    shell: bool | None = None,
    program: Sequence[str] = (),
    parameters: Mapping[str, Sequence[str]] | None = None,
    beside: Sequence[Sequence[str]] = (),
) -> tuple[CommandLine, ...]:
    """Return the commands that were typed, one for each combination of the values of its parameters.

    `{NAME}` in a command, and in a label, is replaced by a value of that parameter. Where one of the commands
    needs a shell all get one: what it costs is then in all of them. `program` is another shell than
    `/bin/sh`, with its options, that is put around all. `beside` are other texts in which parameters may
    stand, such as what prepares an execution: each one for all commands, or one for each. Fewer labels than
    commands name the first ones.

    Raises:
        InputError: when a command or the labels cannot be used, or no text has a parameter.
    """
    scanned = parameters or {}
    places = [_join_texts(texts, beside, index) for index in range(len(texts))]
    _check_parameters(places, scanned)
    expanded = [
        (text, index, values)
        for index, text in enumerate(texts)
        for values in _combine(places[index], scanned)
    ]
    if len(expanded) > _MOST_COMMANDS:
        raise InputError(
            f"these are {len(expanded)} commands, and {_MOST_COMMANDS} can be timed together",
            remedy="Scan fewer values.",
        )
    if len(labels) > len(texts) and len(labels) != len(expanded):
        raise InputError(
            f"there are {len(labels)} names for {len(texts)} commands",
            where=argument("name", verb="time"),
            remedy="Give one for each command at most, in their order.",
        )
    filled = [fill(text, values) for text, _, values in expanded]
    if program:
        words = [wrap_words(text, program) for text in filled]
        filled = [shlex.join(item) for item in words]
    else:
        words = [list_words(text, shell=shell) for text in filled]
        if shell is None and any(item[:2] == (SHELL, "-c") for item in words):
            words = [list_words(text, shell=True) for text in filled]
    commands: list[CommandLine] = []
    for number, (_, index, values) in enumerate(expanded):
        given = (*labels, *texts[len(labels) :])
        pattern = given[number if len(given) == len(expanded) else index]
        label = _number_label(
            fill(pattern, values) + _name_others(pattern, values), [command.label for command in commands]
        )
        name = _choose_name(label, [command.name for command in commands])
        commands.append(CommandLine(name, label, filled[number], words[number], values, place=index))
    return tuple(commands)


def _join_texts(texts: Sequence[str], beside: Sequence[Sequence[str]], index: int) -> str:
    """All texts of a command in which parameters may stand."""
    own = [group[0] if len(group) == 1 else group[index] for group in beside if len(group) in (1, len(texts))]
    return "\0".join((texts[index], *own))


def _name_others(pattern: str, values: Mapping[str, str]) -> str:
    """The values of parameters that do not stand in what names a command, so that one sees them."""
    others = [f"{name} = {value}" for name, value in values.items() if f"{{{name}}}" not in pattern]
    return f" ({', '.join(others)})" if others else ""


def _is_no_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the values of parameters in their places."""
    if not values:
        return text
    names = re.compile("|".join(re.escape(f"{{{name}}}") for name in values))
    return names.sub(lambda found: values[found[0][1:-1]], text)


def split_values(text: str) -> tuple[str, ...]:
    r"""Return the values between commas; `\,` is a comma and `\\` a backslash, as for hyperfine."""
    values, rest = [""], iter(text)
    for sign in rest:
        if sign == ",":
            values.append("")
            continue
        if sign == "\\":
            after = next(rest, "")
            sign = after if after in (",", "\\") else sign + after
        values[-1] += sign
    return tuple(values)


def list_steps(low: str, high: str, step: str | None) -> tuple[str, ...]:
    """Return the values of a scan from low to high, as they are typed into commands.

    The step is 1 where none is given.

    Raises:
        InputError: when a bound is not a number, the step does not lead from one to the other, or none is
            given for bounds that are not whole.
    """
    where = argument("parameter_scan", verb="time")
    if step is None and any("." in bound or "e" in bound.lower() for bound in (low, high)):
        raise InputError(
            f"from {low} to {high} it takes a step",
            where=where,
            remedy=f"Name it with {argument('parameter_step_size', verb='time')}.",
        )
    step = step or "1"
    try:
        first, last, width = Decimal(low), Decimal(high), Decimal(step)
    except ArithmeticError:
        raise InputError(f"{low}, {high} and {step} must be numbers", where=where) from None
    if not (first.is_finite() and last.is_finite() and width.is_finite()):
        raise InputError(f"{low}, {high} and {step} must be finite", where=where)
    if width == 0 or (last - first) / width < 0:
        raise InputError(f"a step of {step} does not lead from {low} to {high}", where=where)
    count = int((last - first) / width) + 1
    if count > _MOST_COMMANDS:
        raise InputError(
            f"{low} to {high} by {step} are {count} values", where=where, remedy="Take larger steps."
        )
    return tuple(format(first + index * width, "f") for index in range(count))


def _check_parameters(texts: Sequence[str], scanned: Mapping[str, Sequence[str]]) -> None:
    for name in scanned:
        if not any(f"{{{name}}}" in text for text in texts):
            raise InputError(
                f'no command has the parameter "{name}"',
                remedy=f"Write {{{name}}} where its values are to stand.",
            )
    if prod(len(values) for values in scanned.values()) > _MOST_COMMANDS:
        raise InputError(f"a scan has at most {_MOST_COMMANDS} combinations", remedy="Scan fewer values.")


def _combine(text: str, scanned: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    used = [name for name in scanned if f"{{{name}}}" in text]
    return [dict(zip(used, values, strict=True)) for values in product(*(scanned[name] for name in used))]


def _number_label(label: str, taken: Sequence[str]) -> str:
    """What people read: in one line, and other than that of the commands before it."""
    label = label.strip().replace("\n", "\\n")
    number, unique = 2, label
    while unique in taken:
        unique, number = f"{label} ({number})", number + 1
    return unique


def _choose_name(label: str, taken: Sequence[str]) -> str:
    name = _NAME.sub("-", label).strip("-.")[:_LONGEST_NAME].strip("-.") or "command"
    number, unique = 2, name
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique
