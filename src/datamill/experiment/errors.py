"""The one error that a user's input can cause."""

from __future__ import annotations


class InputError(Exception):
    """Something the user gave cannot be used; says what, where and what to do.

    Shown as `WHERE: MESSAGE` and, on the next line, the remedy; the command ends with status 2.

    Args:
        message: one sentence that says what is wrong.
        where: file, `file:line`, or `file: field` that it is about; empty when there is none.
        remedy: one sentence that says what to do; empty when the message says it.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n{self.remedy}" if self.remedy else head


class QuestionError(InputError):
    """The question cannot be answered as it is asked: measuring on would not help."""
