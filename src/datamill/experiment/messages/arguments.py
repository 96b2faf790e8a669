"""Arguments in messages: a message names them, the face that shows it spells them.

    InputError("no factor forms the groups", remedy=f"Name one with {argument('factors')}.")

says `factors=` where `datamill.tests` was called, `--factors` on the command line, and the label of the field
on a form. An error carries its arguments until it is shown (`InputError.told`); what is kept in a record is
spelled at once (`tell`), for the face that this process speaks with. Whole commands (`command`) are the same
everywhere, since a shell is where they are typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

#: Around what is to be spelled, and between its parts; of Unicode's private use, in nobody's texts.
_OPEN, _BETWEEN, _CLOSE = "\U000f0000", "\U000f0001", "\U000f0002"
_MARKED = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
#: What Python asks of a result, where the command line has an option.
METHODS = {
    "json": ".json()",
    "figure": ".figures()",
    "diagnostics": ".figures()",
    "extrapolate": "extrapolate=True",
    "log": "log=True",
    "series": "series=True",
    "stream": "stream=True",
}
#: Verbs of the command line that Python has, by their name there.
PYTHON_VERBS = {
    "analyze anova": "anova",
    "analyze hardware": "hardware",
    "analyze quantiles": "quantiles",
    "analyze summary": "summary",
    "analyze tests": "tests",
    "compare": "compare",
    "plan": "plan",
    "predict": "predict",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument by its name in Python; or, without a name, a verb.

    `value` is what is to be given. `verb` is the command whose option it is, where Python has no such
    argument.
    """

    name: str
    value: str = ""
    verb: str = ""


#: Spells an argument for those who read.
Face: TypeAlias = Callable[[Argument], str]


def argument(name: str, value: object = "", *, verb: str = "") -> str:
    """Name an argument inside a message, with what is to be given for it."""
    return f"{_OPEN}{name}{_BETWEEN}{value}{_BETWEEN}{verb}{_CLOSE}"


def verb(name: str) -> str:
    """Name a verb that the command line and Python have, such as `compare`."""
    return argument("", verb=name)


def command(name: str, *words: object, **options: object) -> str:
    """A whole command of ours, with options; True is one without a value."""
    given = [
        f"--{key.replace('_', '-')}{'' if value is True else f' {value}'}" for key, value in options.items()
    ]
    return " ".join(["datamill", name, *map(str, words), *given])


def speak_python(item: Argument) -> str:
    """`response=`, `assume="nothing"`; of a verb that Python lacks, the whole command."""
    if not item.name:
        called = PYTHON_VERBS.get(item.verb)
        return f"datamill.{called}" if called else f"datamill {item.verb}"
    if item.verb:
        return f"datamill {item.verb} {speak_command_line(item)}"
    if item.name in METHODS:
        return METHODS[item.name]
    if item.name in ("where", "at", "scale") and "=" in item.value:
        column, _, level = item.value.partition("=")
        return f'{item.name}={{"{column}": "{level}"}}'
    return f'{item.name}="{item.value}"' if item.value else f"{item.name}="


def speak_command_line(item: Argument) -> str:
    """`--response`, `--assume nothing`, `datamill compare`."""
    if not item.name:
        return f"datamill {item.verb}"
    return f"--{item.name.replace('_', '-')}{f' {item.value}' if item.value else ''}"


def spell(text: str, face: Face) -> str:
    """Return a message as a face shows it."""
    return _MARKED.sub(lambda match: face(_read(match[1])), text) if _OPEN in text else text


def _read(marked: str) -> Argument:
    # What others wrote may hold anything.
    name, value, asked = [*marked.split(_BETWEEN), "", ""][:3]
    return Argument(name, value, asked)


_face: Face = speak_python


def tell(text: str) -> str:
    """Return a message as the face of this process shows it."""
    return spell(text, _face)


@contextmanager
def speaking(face: Face) -> Iterator[None]:
    """Have this process, with all its threads, speak as a face does; Python's without."""
    global _face
    before, _face = _face, face
    try:
        yield
    finally:
        _face = before
