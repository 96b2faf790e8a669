"""Every address of the coordinator, one line each: who may read there, and who may change something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from django.urls import URLPattern, URLResolver, get_resolver

#: Who gets in: everybody; a worker; who is signed in; who may see the experiment; its owner; the owner of the
#: machine; whose it is and nobody else; administrators. These have all but the worker's right and what is
#: somebody's own.
Right = Literal["open", "worker", "member", "visible", "owner", "machine", "own", "admin"]

#: Address, as Django's resolver has it -> right to read (GET), right to change (POST); None where the method
#: is of no use there. Each right has a request in `samples.py`, with what it is answered.
ROUTES: dict[str, tuple[Right | None, Right | None]] = {
    # Leads to the list, which asks who it is.
    "": ("open", None),
    "login": ("open", "open"),
    "logout": (None, "open"),
    "words": ("open", None),
    "experiments": ("member", None),
    "experiments/new": ("member", None),
    "experiments/new/from": ("member", None),
    "experiments/new/upload": (None, "member"),
    "experiments/new/machines": ("member", None),
    "experiments/new/machines/preview": ("member", None),
    "experiments/new/space": ("member", None),
    "experiments/new/space/preview": ("member", None),
    "experiments/new/file": ("member", "member"),
    "experiments/<int:experiment_id>": ("visible", None),
    "experiments/<int:experiment_id>/progress": ("visible", None),
    "experiments/<int:experiment_id>/stream": ("visible", None),
    "experiments/<int:experiment_id>/trials": ("visible", None),
    "experiments/<int:experiment_id>/events": ("visible", None),
    "experiments/<int:experiment_id>/file": ("visible", None),
    "experiments/<int:experiment_id>/answer": ("visible", None),
    "experiments/<int:experiment_id>/answer/again": (None, "visible"),
    "experiments/<int:experiment_id>/elsewhere": ("visible", None),
    "experiments/<int:experiment_id>/verdict": ("visible", None),
    "experiments/<int:experiment_id>/analysis": ("visible", None),
    "experiments/<int:experiment_id>/report": ("visible", None),
    "experiments/<int:experiment_id>/figures/<int:number>.<figure:kind>": ("visible", None),
    "experiments/<int:experiment_id>/table.<table:kind>": ("visible", None),
    "experiments/<int:experiment_id>/bundle": ("visible", None),
    "experiments/<int:experiment_id>/crate": ("visible", None),
    "experiments/<int:experiment_id>/fork": ("visible", None),
    "experiments/<int:experiment_id>/cancel": (None, "owner"),
    "experiments/<int:experiment_id>/release": (None, "owner"),
    "experiments/<int:experiment_id>/trials/<str:trial_id>": ("visible", None),
    "experiments/<int:experiment_id>/trials/<str:trial_id>/<int:number>/record": ("visible", None),
    "experiments/<int:experiment_id>/trials/<str:trial_id>/<int:number>/files/<path:name>": ("visible", None),
    "packages": ("member", None),
    "packages/<str:sha256>": ("visible", None),
    "packages/<str:sha256>/archive": ("visible", None),
    "experiments/<int:experiment_id>/publish": ("owner", "owner"),
    "experiments/<int:experiment_id>/rerun": ("visible", "visible"),
    "experiments/<int:experiment_id>/reruns": ("visible", None),
    "compare": ("member", None),
    "compare/results": ("member", None),
    "compare/figures/<int:number>.<figure:kind>": ("visible", None),
    # What was published is for everybody.
    "publications": ("open", None),
    "publications/<str:key>": ("open", None),
    "publications/<str:key>/withdraw": (None, "owner"),
    "publications/<str:key>/archive.zip": ("open", None),
    "publications/<str:key>/citation.<citation:kind>": ("open", None),
    "publications/<str:key>/badge.svg": ("open", None),
    "publications/<str:key>/figure.svg": ("open", None),
    "publications/<str:key>/embed": ("open", None),
    "oembed": ("open", None),
    "workers": ("member", None),
    "tokens": (None, "member"),
    "workers/<str:name>": ("member", None),
    "workers/<str:name>/noise": ("member", None),
    "workers/<str:name>/<str:change>": (None, "machine"),
    "queue": ("member", None),
    "queue/share": (None, "admin"),
    "factors": ("member", None),
    "factors/<str:name>": ("member", None),
    "factors/<str:name>/<str:change>": (None, "admin"),
    "quarantine": ("member", None),
    "quarantine/<str:sha256>/lift": (None, "admin"),
    "audit": ("admin", None),
    "users": ("admin", "admin"),
    "users/change": (None, "admin"),
    "administration": ("admin", None),
    "administration/quota": (None, "admin"),
    "administration/retention": (None, "admin"),
    "administration/backup": (None, "admin"),
    "notices": ("member", None),
    "notices/add": (None, "member"),
    "notices/<int:number>/<str:change>": (None, "own"),
    # A feed's key lets in, not an account.
    "notices.atom": ("open", None),
    "account": ("member", None),
    "account/keys": (None, "member"),
    "account/keys/revoke": (None, "member"),
    "account/password": (None, "member"),
    # Nothing is there.
    "api/": (None, None),
    "api/openapi.json": ("open", "open"),
    "api/experiments/plan": (None, "member"),
    "api/experiments": ("member", "member"),
    "api/experiments/<number>": ("visible", None),
    "api/experiments/<number>/cancel": (None, "owner"),
    "api/experiments/<number>/release": (None, "owner"),
    "api/experiments/<number>/trials": ("visible", None),
    "api/experiments/<number>/events": ("visible", None),
    "api/experiments/<number>/answer": ("visible", None),
    "api/experiments/<number>/analysis": ("visible", None),
    "api/experiments/<experiment_id>/figures/<number>.<kind>": ("visible", None),
    "api/experiments/<number>/report": ("visible", None),
    "api/experiments/<number>/table.csv": ("visible", None),
    "api/compare": ("visible", None),
    "api/compare/figures/<number>.<kind>": ("visible", None),
    "api/packages": ("member", None),
    "api/packages/<sha256>": ("visible", None),
    "api/experiments/<number>/times": ("visible", None),
    "api/experiments/<number>/prediction": ("visible", None),
    "api/experiments/<number>/bundle": ("visible", None),
    "api/experiments/<number>/crate": ("visible", None),
    "api/experiments/<number>/rerun": (None, "visible"),
    "api/experiments/<number>/reruns": ("visible", None),
    "api/experiments/<number>/publish": (None, "owner"),
    "api/experiments/<number>/source": ("visible", None),
    "api/publications": ("member", None),
    "api/publications/<key>": ("member", None),
    "api/publications/<key>/answer": ("member", None),
    "api/publications/<key>/archive": ("member", None),
    "api/publications/<key>/withdraw": (None, "owner"),
    "api/experiments/<number>/stream": ("visible", None),
    # A token lets in, not an account.
    "api/workers/enrol": (None, "open"),
    # A worker's key for files, and a signature of the key with which it joined.
    "api/workers/credential": (None, "worker"),
    "api/workers": ("member", None),
    "api/workers/<name>": ("member", None),
    "api/workers/<name>/drain": (None, "machine"),
    "api/workers/<name>/resume": (None, "machine"),
    "api/workers/<name>/remove": (None, "machine"),
    "api/scores": ("member", None),
    "api/scores.csv": ("member", None),
    "api/queue": ("member", None),
    "api/factors": ("member", "member"),
    "api/factors/<name>": ("member", None),
    "api/factors/<name>/forbid": (None, "admin"),
    "api/factors/<name>/allow": (None, "admin"),
    "api/tables": ("member", None),
    "api/experiments/<number>/table": ("visible", None),
    "api/users/<name>/share": (None, "admin"),
    "api/experiments/<number>/priority": (None, "owner"),
    "api/me": ("member", None),
    "api/me/room": ("member", None),
    "api/keys": ("member", "member"),
    "api/keys/revoke": (None, "member"),
    "api/notices": ("member", "member"),
    "api/notices/<number>/confirm": (None, "own"),
    "api/notices/<number>/try": (None, "own"),
    "api/notices/<number>/resume": (None, "own"),
    "api/notices/<number>/remove": (None, "own"),
    "api/storage": ("admin", None),
    "api/retention": ("admin", "admin"),
    "api/backups": ("admin", "admin"),
    "api/users": ("admin", "admin"),
    "api/users/<name>/open": (None, "admin"),
    "api/users/<name>/close": (None, "admin"),
    "api/users/<name>/quota": (None, "admin"),
    "api/tokens": (None, "member"),
    "api/quarantine": ("member", None),
    "api/quarantine/<sha256>/lift": (None, "admin"),
    "api/events": ("admin", None),
}

#: Experiments that an address names behind its question mark -> right to read it.
NAMED_IN_QUERIES: dict[str, Right] = {
    "compare?id={ended}&id={another}": "visible",
    "compare/results?id={ended}&id={another}": "visible",
    "experiments/new/file?fork={ended}&form=a-form-of-this-test": "visible",
}

#: What the server answers before Django is asked, by what its source compares the path with.
BEFORE_DJANGO = {"/files/", "/ca.pem", "/api/health"}


def list_routes(resolver: Any = None, before: str = "") -> Iterator[str]:
    """Yield every address that the coordinator knows, as it is written down."""
    for item in (resolver or get_resolver()).url_patterns:
        path = before + str(item.pattern).replace("^", "").replace("$", "")
        if isinstance(item, URLResolver):
            yield from list_routes(item, path)
        elif isinstance(item, URLPattern):
            yield path
