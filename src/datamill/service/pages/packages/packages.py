"""Pages of the packages: all that one may see, by name, and one with its contents and its uses."""

from __future__ import annotations

from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from datamill.experiment.errors import InputError
from datamill.service.accounts import find_user
from datamill.service.answers.compared.comparing import MOST_COMPARED
from datamill.service.bounded_work.places import taking_turn
from datamill.service.bounded_work.turns import BusyError, GoneError
from datamill.service.experiment_search import MOST_CHARACTERS, split_search
from datamill.service.files.sending import send_file
from datamill.service.files.store import AwayError
from datamill.service.packages.contents import read_contents
from datamill.service.packages.listing import (
    choose_compared,
    describe_names,
    describe_packages,
    find_package,
    list_own_packages,
    list_uses,
    list_visible_packages,
    order_names,
    search_packages,
)
from datamill.service.pages.access import member_page, show_page

_NAMES_A_PAGE = 25


@require_GET
@member_page
def list_packages(request: HttpRequest) -> HttpResponse:
    """Packages by name, with their versions and who used them: own ones, or all that one may see."""
    user = find_user(request)
    whose = "all" if request.GET.get("whose") == "all" else "mine"
    search = request.GET.get("search", "")[:MOST_CHARACTERS].strip()
    chosen = list_visible_packages(user) if whose == "all" else list_own_packages(user)
    found = search_packages(user, chosen, split_search(search))
    page = Paginator(order_names(found), _NAMES_A_PAGE).get_page(request.GET.get("page"))
    asked = {"whose": whose, "search": search}
    context = {
        "rows": describe_names(user, found, [name for name, _ in page]),
        "page": page,
        "base": reverse("packages"),
        "query": urlencode({name: value for name, value in asked.items() if value}) + "&",
        **asked,
    }
    return show_page(request, "packages/packages.html", context, section="packages")


@require_GET
@member_page
def show_package(request: HttpRequest, sha256: str) -> HttpResponse:
    """One package: its scripts and files, its other versions, and the experiments that used it."""
    user = find_user(request)
    file = find_package(user, sha256)
    (package,) = describe_packages(user, [file])
    same = list_visible_packages(user).filter(name=file.name).select_related("owner")
    versions = describe_packages(user, list(same.order_by("-stored_unix_s")[:20]))
    digests = [version.sha256 for version in versions]
    context: dict[str, object] = {
        "package": package,
        "versions": versions,
        "compared": choose_compared(user, file.name, digests, MOST_COMPARED),
        "uses": list_uses(user, sha256),
    }
    try:
        with taking_turn(user):
            context["contents"] = read_contents(sha256)
    except (AwayError, BusyError, GoneError):
        raise
    except InputError as problem:
        context["problem"] = problem
    return show_page(request, "packages/package.html", context, section="packages")


@require_GET
@member_page
def download_package(request: HttpRequest, sha256: str) -> StreamingHttpResponse:
    """The archive, byte for byte as it was brought."""
    return send_file(sha256, f"{find_package(find_user(request), sha256).name or 'package'}.tar.gz")
