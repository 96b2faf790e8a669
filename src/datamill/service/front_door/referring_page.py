"""The page of this coordinator from which a browser comes."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def find_referring_page(referer: str, host: str) -> str:
    """Return path and query of the page whose form or link a browser followed; empty where it is not ours.

    Args:
        referer: the header of that name, empty if it was not sent.
        host: the header `Host`: how the browser calls this coordinator.
    """
    try:
        came = urlsplit(referer)
    except ValueError:
        return ""
    # A browser would take this for the address of another site.
    if not host or came.netloc != host or not came.path.startswith("/") or came.path.startswith("//"):
        return ""
    return urlunsplit(("", "", came.path, came.query, ""))
