"""What was typed into a form that was not taken: carried over the login, to be looked at and sent again."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, QueryDict

#: Forms whose content is worth keeping, by the names of their addresses.
_KEPT = frozenset({"new-file", "experiment-publish"})
_PREFIX = "typed-"
#: Of strangers the coordinator takes no larger body: see `serving/body_limits`.
_MOST_CHARACTERS = 64 << 10


@dataclass(frozen=True, slots=True)
class Typed:
    """The address that a form was sent to, and its fields."""

    path: str
    fields: tuple[tuple[str, str], ...]


def read_typed(request: HttpRequest) -> Typed | None:
    """Return what came with a request that nobody may make who is not logged in; None if it is not kept."""
    if request.method != "POST" or request.resolver_match is None:
        return None
    if request.resolver_match.url_name not in _KEPT:
        return None
    fields = _list_fields(request.POST)
    if not fields or sum(len(value) for _, value in fields) > _MOST_CHARACTERS:
        return None
    return Typed(request.path, fields)


def carry_typed(typed: Typed) -> list[tuple[str, str]]:
    """Return hidden fields that carry what was typed through the form of the login."""
    return [(f"{_PREFIX}{name}", value) for name, value in typed.fields]


def take_up(sent: QueryDict, path: str) -> Typed | None:
    """Return what the form of the login carried, None where it carried nothing."""
    fields = tuple(
        (name.removeprefix(_PREFIX), value)
        for name, values in sent.lists()
        for value in values
        if name.startswith(_PREFIX)
    )
    return Typed(path, fields) if fields else None


def _list_fields(sent: QueryDict) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value)
        for name, values in sent.lists()
        for value in values
        # The proof against forged requests is of the session that ended.
        if name != "csrfmiddlewaretoken" and len(name) < 200
    )
