"""What the API says of itself: with the refusals that any operation may answer, besides its own answers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

#: Status -> what it means.
_ANY = {
    "400": "The request cannot be done as it is: the body says what is wrong, where, and what to do.",
    "429": "Too many requests of this kind: try again after the time in `Retry-After`.",
    "503": "The coordinator has no room for it now: try again after the time in `Retry-After`.",
}
_OF_MEMBERS = {"401": "No key, or one that is void."}
_OF_PARAMETERS = {"422": "A field or a parameter is missing or of the wrong form: `where` names it."}
_OF_BODIES = {
    "408": "The body did not come in time.",
    "413": "The body is larger than the coordinator takes.",
}


class DocumentedApi(NinjaAPI):
    """An API whose description holds every answer that its operations give.

    It is made once: making it takes a tenth of a second, and everybody may ask for it.
    """

    _described: OpenAPISchema | None = None

    def get_openapi_schema(self, *args: Any, **kwargs: Any) -> OpenAPISchema:
        """Return the description of all operations, OpenAPI 3.1."""
        if self._described is None:
            self._described = self._describe(*args, **kwargs)
        return copy.deepcopy(self._described)

    def _describe(self, *args: Any, **kwargs: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(*args, **kwargs)
        problem = {"$ref": "#/components/schemas/Problem"}
        for methods in schema["paths"].values():
            for operation in methods.values():
                answers = operation["responses"]
                for status, meaning in _list_refusals(operation).items():
                    if status not in {str(known) for known in answers}:
                        answers[status] = {
                            "description": meaning,
                            "content": {"application/json": {"schema": problem}},
                        }
        return schema


def _list_refusals(operation: Mapping[str, object]) -> dict[str, str]:
    refusals = dict(_ANY)
    if operation.get("security"):
        refusals |= _OF_MEMBERS
    if operation.get("parameters") or operation.get("requestBody"):
        refusals |= _OF_PARAMETERS
    if operation.get("requestBody"):
        refusals |= _OF_BODIES
    return refusals
