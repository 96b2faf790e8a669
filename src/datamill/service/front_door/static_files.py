"""Style sheets, scripts and pictures of the pages, for everybody."""

from __future__ import annotations

from typing import Any

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest


class StaticFiles(ASGIStaticFilesHandler):
    """Django's static files, where a path that leads nowhere is one that is not found."""

    def serve(self, request: HttpRequest) -> Any:
        """Return a file.

        Raises:
            Http404: when there is no such file, whatever the path tries.
        """
        try:
            found = super().serve(request)
        except (SuspiciousOperation, ValueError, OSError):
            # It leads out of the folder, holds a NUL, or is longer than paths are.
            raise Http404("no such file") from None
        found.headers["X-Content-Type-Options"] = "nosniff"
        found.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return found
