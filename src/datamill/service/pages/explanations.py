"""What the words on the pages mean."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from datamill.service.pages.access import show_page
from datamill.service.pages.words import WORDS


@require_GET
def show_words(request: HttpRequest) -> HttpResponse:
    """All words with their meaning; whoever is not logged in may read them too."""
    return show_page(request, "words.html", {"words": WORDS})
