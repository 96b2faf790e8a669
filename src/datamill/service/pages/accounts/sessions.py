"""Sessions of browsers, in the database."""

from __future__ import annotations

import re

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions

_KEY = re.compile(r"[a-z0-9]{32}")


class SessionStore(DatabaseSessions):
    """Django's sessions, but no other key is looked up than one that we could have made.

    PostgreSQL cannot compare a NUL, which a quoted cookie may hold.
    """

    def _validate_session_key(self, key: str | None) -> bool:
        return key is not None and _KEY.fullmatch(key) is not None
