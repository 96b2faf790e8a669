"""Why there are no guests here."""

from __future__ import annotations


class GuestUnavailableError(Exception):
    """Says why guests cannot be made here, in words for a user or whoever reads a skipped test."""
