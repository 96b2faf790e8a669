"""Which scope a key needs for what it asks: one to look, another for each kind of change."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from datamill.protocol.api.accounts import Scope

#: What only administrators may look at, and what shows where a user is reached.
READS: Mapping[str, Scope] = MappingProxyType(
    {
        "api/events": "admin",
        "api/users": "admin",
        "api/storage": "admin",
        "api/retention": "admin",
        "api/backups": "admin",
        "api/notices": "account",
        "api/keys": "account",
    }
)
#: Every change that the API takes, as its address is written down.
CHANGES: Mapping[str, Scope] = MappingProxyType(
    {
        "api/experiments": "submit",
        "api/experiments/plan": "submit",
        "api/experiments/<number>/cancel": "submit",
        "api/experiments/<number>/release": "submit",
        "api/experiments/<number>/priority": "submit",
        "api/experiments/<number>/rerun": "publish",
        "api/experiments/<number>/publish": "publish",
        "api/publications/<key>/withdraw": "publish",
        "api/factors": "submit",
        "api/tokens": "machines",
        "api/workers/<name>/drain": "machines",
        "api/workers/<name>/resume": "machines",
        "api/workers/<name>/remove": "machines",
        "api/keys": "account",
        "api/keys/revoke": "account",
        "api/notices": "account",
        "api/notices/<number>/confirm": "account",
        "api/notices/<number>/try": "account",
        "api/notices/<number>/resume": "account",
        "api/notices/<number>/remove": "account",
        "api/factors/<name>/forbid": "admin",
        "api/factors/<name>/allow": "admin",
        "api/quarantine/<sha256>/lift": "admin",
        "api/users": "admin",
        "api/users/<name>/open": "admin",
        "api/users/<name>/close": "admin",
        "api/users/<name>/share": "admin",
        "api/users/<name>/quota": "admin",
        "api/retention": "admin",
        "api/backups": "admin",
    }
)


def find_scope(method: str, route: str) -> Scope:
    """Return the scope that a key needs; a change that has no line here asks for the most."""
    if method in ("GET", "HEAD", "OPTIONS"):
        return READS.get(route, "read")
    return CHANGES.get(route, "admin")
