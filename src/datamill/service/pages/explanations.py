"""What the words on the pages mean."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from datamill.report.words.glossary import read_words
from datamill.service.pages.access import show_page


@require_GET
def show_words(request: HttpRequest) -> HttpResponse:
    """All words with their meaning; strangers may read them, too."""
    words = [word for word in read_words() if word.offered]
    return show_page(request, "words.html", {"words": words})
