"""The one error that a user's input can cause."""

from __future__ import annotations

from datamill.experiment.messages.arguments import Face, speak_python, spell, tell


class InputError(Exception):
    """Something the user gave cannot be used; says what, where and what to do.

    Shown as `WHERE: MESSAGE` and, on the next line, the remedy; the command ends with status 2. Arguments
    that it names (`arguments.argument`) are spelled when it is read, as the face of this process does.

    Args:
        message: one sentence that says what is wrong.
        where: file, `file:line`, `file: field`, or the argument that it is about; empty: no place.
        remedy: one sentence that says what to do; empty when the message says it.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(spell(message, speak_python))
        self._message, self._where, self._remedy = message, where, remedy

    @property
    def message(self) -> str:
        """What is wrong."""
        return tell(self._message)

    @property
    def where(self) -> str:
        """What it is about; an argument of Python's without its sign."""
        return tell(self._where).removesuffix("=")

    @property
    def remedy(self) -> str:
        """What to do."""
        return tell(self._remedy)

    def told(self, face: Face) -> InputError:
        """The same in the words of a face, once and for all."""
        message, where, remedy = (spell(text, face) for text in (self._message, self._where, self._remedy))
        return InputError(message, where=where.removesuffix("="), remedy=remedy)

    def moved(self, where: str, *, also: str = "") -> InputError:
        """The same about another place, with the same arguments; `also` stands behind its message."""
        return InputError(f"{self._message}{also}", where=where, remedy=self._remedy)

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n{self.remedy}" if self.remedy else head


class QuestionError(InputError):
    """The question cannot be answered as it is asked: measuring on would not help."""
