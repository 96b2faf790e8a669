"""All mistakes of an experiment file, told at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import Face

#: Mistakes that one refusal names.
_MOST_SHOWN = 20
_LINE = re.compile(r":(\d+): ")

_T = TypeVar("_T")


class SeveralMistakesError(InputError):
    """Several things that cannot be used.

    Shown whole as where, message and remedy of one error: the first's, whose remedy has the others behind it.
    """

    each: tuple[InputError, ...] = ()

    def told(self, face: Face) -> InputError:
        """The same in the words of a face, each of them."""
        return combine_mistakes([mistake.told(face) for mistake in self.each])


class Mistakes:
    """Gathers what is wrong in parts of a file that do not depend on each other."""

    def __init__(self) -> None:
        self._found: dict[str, InputError] = {}

    def __bool__(self) -> bool:
        """Tell whether anything was wrong so far."""
        return bool(self._found)

    def attempt(self, read: Callable[[], _T], fallback: _T) -> _T:
        """Return what `read` returns; where it refuses, keep the refusal and return `fallback`."""
        try:
            return read()
        except SeveralMistakesError as several:
            self._found |= {str(mistake): mistake for mistake in several.each}
        except InputError as mistake:
            self._found[str(mistake)] = mistake
        return fallback

    def refuse(self) -> None:
        """Refuse what was gathered, in the order of its lines.

        Raises:
            InputError: the mistake, or `SeveralMistakesError`.
        """
        each = tuple(sorted(self._found.values(), key=_find_line))
        if len(each) == 1:
            raise each[0]
        if each:
            raise combine_mistakes(each)


def combine_mistakes(each: Sequence[InputError]) -> SeveralMistakesError:
    """Several mistakes as one error, in their order."""
    first, *others = each
    shown = [str(mistake) for mistake in others[: _MOST_SHOWN - 1]]
    if len(each) > _MOST_SHOWN:
        shown.append(f"… and {len(each) - _MOST_SHOWN} more mistakes.")
    remedy = "\n".join([*([first.remedy] if first.remedy else []), *shown])
    several = SeveralMistakesError(first.message, where=first.where, remedy=remedy)
    several.each = tuple(each)
    return several


def _find_line(mistake: InputError) -> int:
    """Where a mistake stands; those of no line come last."""
    match = _LINE.search(mistake.where)
    return int(match[1]) if match else 1 << 31
