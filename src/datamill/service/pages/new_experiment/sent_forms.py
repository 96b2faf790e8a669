"""Forms that were sent once: a second click, or the way back and another, sends no second experiment."""

from __future__ import annotations

import secrets

from django.contrib.auth.models import User

from datamill.service.answers.kept import Kept

#: Characters of a form's name that are looked at.
_MOST_CHARACTERS = 64
#: Forms of all users that are remembered, the latest ones.
_sent: Kept[tuple[int, str], int] = Kept(4096)


def name_form() -> str:
    """Return the name of a form that is about to be shown."""
    return secrets.token_urlsafe(16)


def find_sent(user: User, form: str) -> int:
    """Return the experiment that a form has become, 0 where it was not sent yet."""
    return _sent.recall((user.pk, form[:_MOST_CHARACTERS])) or 0 if form else 0


def keep_sent(user: User, form: str, experiment: int) -> None:
    """Remember what a form has become."""
    if form:
        _sent.keep((user.pk, form[:_MOST_CHARACTERS]), experiment)
