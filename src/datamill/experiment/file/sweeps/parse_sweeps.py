"""From a table `[factors.NAME]` to a factor that the experiment file describes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Package, Sweep
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.file.fields import IDENTIFIER, spell_value
from datamill.experiment.file.source import Source
from datamill.experiment.file.sweeps.parse_libraries import LIBRARY_PATH, parse_library
from datamill.experiment.messages.mistakes import Mistakes

_KEYS = ("env", "argument", "levels")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_ARGUMENT = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]{0,63}\}")
#: Variables that datamill sets itself; the bytes of `env_padding` are in those that begin with PAD.
_TAKEN = re.compile(r"DATAMILL_.*|PAD[a-z]+")
#: As many characters as a level of a factor may have.
_LONGEST_LEVEL = 256
#: Variable of the level that stands for a part of commands.
_VARIABLE = "DATAMILL_ARGUMENT_{}"


def parse_sweep(name: str, table: Mapping[str, object], source: Source) -> Sweep:
    """Return the factor of a table with `env` or `argument`, and `levels`, or with `library`.

    Raises:
        InputError: for each of them that cannot be, with its line.
    """
    if "library" in table:
        return parse_library(name, table, source)
    section = f"factors.{name}"

    def refuse(key: str, message: str, remedy: str) -> InputError:
        written = source.find_line(section) is not None
        where = source.locate(section, key) if written else source.locate("factors", name)
        return InputError(message, where=where, remedy=remedy)

    def check_keys() -> None:
        if name in FACTORS:
            raise refuse(
                "",
                f'"{name}" is the name of a built-in factor',
                f"Write {name} = [...], or call yours otherwise.",
            )
        if not _NAME.fullmatch(name):
            raise refuse(
                "",
                f'"{name}" cannot name a factor',
                "Use small letters, digits and underscores, a letter first.",
            )
        source.check_keys(table, _KEYS, section)
        if ("env" in table) == ("argument" in table):
            raise refuse(
                "env" if "env" in table else "",
                f'factor "{name}" says both env and argument'
                if "env" in table
                else f'factor "{name}" does not say what it sets',
                f'Write env = "{name.upper()}" for a variable of run.sh, or argument = "{{{name}}}" for what '
                "its level replaces in commands.",
            )

    def read_variable() -> str:
        variable = table.get("env", name)
        if not isinstance(variable, str) or not IDENTIFIER.fullmatch(variable):
            raise refuse(
                "env", f"env must name a variable, not {spell_value(variable)}", 'Write env = "LEVEL".'
            )
        if _TAKEN.fullmatch(variable):
            raise refuse("env", f"the variable {variable} is datamill's own", "Choose another one.")
        return variable if "env" in table else _VARIABLE.format(name)

    def read_argument() -> str:
        argument = table.get("argument", "")
        if "argument" in table and not (isinstance(argument, str) and _ARGUMENT.fullmatch(argument)):
            raise refuse(
                "argument",
                f"argument must be a name in braces, not {spell_value(argument)}",
                f'Write argument = "{{{name}}}", and {{{name}}} in the commands.',
            )
        return str(argument)

    def read_levels() -> tuple[str, ...]:
        given = table.get("levels")
        if not isinstance(given, list) or not given:
            raise refuse("levels", f'factor "{name}" has no levels', "Write, say, levels = [1, 3, 9].")
        each = Mistakes()
        levels = tuple(each.attempt(partial(read_level, level), "") for level in given)
        each.refuse()
        repeated = next((level for level, count in Counter(levels).items() if count > 1), None)
        if repeated is not None:
            raise refuse("levels", f'level "{repeated}" of factor "{name}" is named twice', "Name it once.")
        return levels

    def read_level(level: object) -> str:
        if isinstance(level, bool) or not isinstance(level, (str, int, float)):
            raise refuse(
                "levels",
                f'a level of factor "{name}" must be a text or a number, not {spell_value(level)}',
                'Write texts in quotes: levels = ["true", "false"].',
            )
        text = str(level)
        if not text.isprintable() or text != text.strip() or not 0 < len(text) <= _LONGEST_LEVEL:
            raise refuse(
                "levels",
                f'factor "{name}" cannot have the level {spell_value(text)}',
                f"A level is a line of 1 to {_LONGEST_LEVEL} characters, without space around it.",
            )
        return text

    mistakes = Mistakes()
    mistakes.attempt(check_keys, None)
    sweep = Sweep(
        name,
        mistakes.attempt(read_variable, ""),
        mistakes.attempt(read_argument, ""),
        mistakes.attempt(read_levels, ()),
    )
    mistakes.refuse()
    return sweep


def place_arguments(
    packages: tuple[Package, ...], sweeps: tuple[Sweep, ...], source: Source
) -> tuple[Package, ...]:
    """Return the packages with what stands in their commands for levels.

    Raises:
        InputError: when a level stands for something that is in no command, or two for the same.
    """
    mistakes = Mistakes()
    owners: dict[str, Sweep] = {}
    variables: dict[str, str] = {}

    def check(sweep: Sweep) -> None:
        section = f"factors.{sweep.name}"
        key = "argument" if sweep.argument else "library" if sweep.libraries else "env"
        written = source.find_line(section) is not None
        where = source.locate(section, key) if written else source.locate("factors", sweep.name)
        commands = [item.command.text for item in packages if item.command is not None]
        taken = variables.setdefault(sweep.variable, sweep.name)
        if sweep.argument:
            taken = owners.setdefault(sweep.argument, sweep).name
        if taken != sweep.name:
            raise InputError(
                f'the factors "{taken}" and "{sweep.name}" set the same, {sweep.argument or sweep.variable}',
                where=where,
                remedy="Put the libraries of a level into one folder."
                if sweep.variable == LIBRARY_PATH
                else "Give each its own.",
            )
        if sweep.argument and not any(sweep.argument in text for text in commands):
            raise InputError(
                f'{sweep.argument} of factor "{sweep.name}" stands in no command of a [[package]]',
                where=where,
                remedy=f'Write, say, command = "gzip -{sweep.argument} file".',
            )

    for sweep in sweeps:
        mistakes.attempt(partial(check, sweep), None)
    mistakes.refuse()
    return tuple(_place(package, owners) for package in packages)


def _place(package: Package, owners: Mapping[str, Sweep]) -> Package:
    command = package.command
    if command is None:
        return package
    found = tuple((text, sweep.variable) for text, sweep in owners.items() if text in command.text)
    return replace(package, command=replace(command, arguments=found)) if found else package
