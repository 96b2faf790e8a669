"""What other sites show of a publication: a badge, its figure, a small page, and where oEmbed finds it."""

from __future__ import annotations

import hashlib
import json
import re
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import escape
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.service.accounts import NotFoundError
from datamill.service.models import Publication
from datamill.service.pages.access import open_page, show_page
from datamill.service.pages.publications.downloads import refuse_lost
from datamill.service.publishing.archives import is_intact
from datamill.service.publishing.badges import MOST_LETTERS, Look, draw_badge
from datamill.service.publishing.publishing import find_publication, read_description, read_statement
from datamill.service.publishing.reproductions import count_verdicts, tally_verdicts

#: What stands on other sites may be kept for so long before it is asked for again.
_KEPT_S = 300
#: A picture that is opened by itself runs no script.
_STILL = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
_FRAMED = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors *"
)
_WIDTH, _HEIGHT = 640, 480
_KEY = re.compile(r"/publications/([0-9a-f]{12})(?:/embed)?/?")


@require_GET
@open_page
def show_badge(request: HttpRequest, key: str) -> HttpResponse:
    """What a publication found, in a few words, and how often that was reproduced; or that it is void."""
    word, look = _describe(find_publication(key))
    return _send(request, draw_badge("datamill", word, look), "image/svg+xml")


def _describe(publication: Publication) -> tuple[str, Look]:
    if publication.withdrawn_unix_s is not None:
        return "withdrawn", "bad"
    if not is_intact(publication):
        return "damaged", "bad"
    tally = tally_verdicts(publication.experiment_id)
    found, reproduced = read_statement(publication).short, count_verdicts(tally)
    # Cut off, a number would stand without its interval, and a finding without its re-runs.
    texts = (f"{found}, {reproduced}", reproduced) if found and reproduced else (found or reproduced,)
    word = next((text for text in texts if 0 < len(text) <= MOST_LETTERS), "published")
    if tally["not reproduced"]:
        return word, "warn"
    return word, "good" if tally["reproduced"] else "plain"


@require_GET
@open_page
def show_figure(request: HttpRequest, key: str) -> HttpResponse:
    """The figure of a published result, with title and caption."""
    publication = find_publication(key)
    if (refused := refuse_lost(request, publication)) is not None:
        return refused
    statement = read_statement(publication)
    if not statement.picture_svg:
        raise NotFoundError("this result has no figure", where=f"publication {key}")
    return _send(request, statement.picture_svg, "image/svg+xml")


@require_GET
@xframe_options_exempt
@open_page
def show_embed(request: HttpRequest, key: str) -> HttpResponse:
    """The result in a page for a frame of another site: no scripts, no forms."""
    publication = find_publication(key)
    intact = publication.withdrawn_unix_s is None and is_intact(publication)
    context = {
        "publication": publication,
        "description": read_description(publication),
        "statement": read_statement(publication) if intact else None,
        "address": request.build_absolute_uri(reverse("publication", args=[key])),
    }
    page = show_page(request, "publications/embed.html", context, section="publications")
    response = _send(request, page.content.decode(), "text/html; charset=utf-8")
    response["Content-Security-Policy"] = _FRAMED
    return response


@require_GET
@open_page
def describe_embed(request: HttpRequest) -> HttpResponse:
    """What oEmbed (version 1.0) asks for: how the page of an address is shown in another."""
    if request.GET.get("format", "json") != "json":
        return HttpResponse("only json\n", status=501, content_type="text/plain; charset=utf-8")
    asked = urlsplit(request.GET.get("url", "")[:2000])
    match = _KEY.fullmatch(asked.path)
    if match is None:
        raise NotFoundError("this is not the address of a publication", where="url")
    publication = find_publication(match[1])
    description = read_description(publication)
    width, height = (
        _limit(request.GET.get(name, ""), most)
        for name, most in (("maxwidth", _WIDTH), ("maxheight", _HEIGHT))
    )
    address = request.build_absolute_uri(reverse("publication-embed", args=[publication.key]))
    told = {
        "version": "1.0",
        "type": "rich",
        "title": description.title,
        "author_name": ", ".join(author.name for author in description.authors),
        "provider_name": "datamill",
        "provider_url": request.build_absolute_uri(reverse("publications")),
        "cache_age": _KEPT_S,
        "width": width,
        "height": height,
        "html": f'<iframe src="{escape(address)}" width="{width}" height="{height}" '
        f'title="{escape(description.title)}" sandbox="allow-popups" loading="lazy"></iframe>',
    }
    return _send(request, json.dumps(told, ensure_ascii=False), "application/json; charset=utf-8")


def _limit(text: str, most: int) -> int:
    if not text:
        return most
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 6):
        raise InputError("the largest width or height is not a whole number", remedy="Give pixels: 640.")
    return max(120, min(most, int(text)))


def _send(request: HttpRequest, content: str, content_type: str) -> HttpResponse:
    """Send what other sites may show; who has it already is told so."""
    etag = f'"{hashlib.sha256(content.encode()).hexdigest()[:32]}"'
    # Proxies weaken what they compress.
    known = [item.strip().removeprefix("W/") for item in request.headers.get("If-None-Match", "").split(",")]
    response = HttpResponse(status=304) if etag in known else HttpResponse(content, content_type=content_type)
    response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={_KEPT_S}"
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    response["Content-Security-Policy"] = _STILL
    return response
