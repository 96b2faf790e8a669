"""The page of this coordinator from which a browser comes."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit


def find_referring_page(referer: str, host: str) -> str:
    """Return path and query of the page whose form or link a browser followed; empty where it is not ours.

    Args:
        referer: the header of that name, empty where there is none.
        host: the header `Host`: how the browser calls this coordinator.
    """
    try:
        came = urlsplit(referer)
    except ValueError:
        return ""
    # What a browser would take for another site's address is none of ours.
    if not host or came.netloc != host or not came.path.startswith("/") or came.path.startswith("//"):
        return ""
    return urlunsplit(("", "", came.path, came.query, ""))
