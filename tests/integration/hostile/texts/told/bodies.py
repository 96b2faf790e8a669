"""The record that each address of the API takes, found by what its function declares."""

from __future__ import annotations

import re
from typing import Annotated, get_origin, get_type_hints

from datamill.protocol.fleet import CredentialRequest, EnrolmentRequest
from datamill.service.api.api import api
from datamill.service.api.schemas import RequestBody

#: Records that machines send without the key of a user.
_OF_MACHINES = {"api/workers/enrol": EnrolmentRequest, "api/workers/credential": CredentialRequest}


def find_bodies() -> dict[str, type]:
    """Return the record that each address of the API takes as a body."""
    found: dict[str, type] = dict(_OF_MACHINES)
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                hints = get_type_hints(operation.view_func, include_extras=True).values()
                for hint in hints:
                    if get_origin(hint) is Annotated and any(
                        isinstance(note, RequestBody) for note in hint.__metadata__
                    ):
                        route = re.sub("/+", "/", f"api/{prefix}/{path}").rstrip("/")
                        found[route.replace("{", "<").replace("}", ">")] = hint.__origin__
    return found
