"""The page of one's own account: keys for the API, and the password."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from datamill.experiment.errors import InputError
from datamill.experiment.quantities import format_duration
from datamill.protocol.api.accounts import Scope
from datamill.service.accounts import (
    AccountEventKind,
    find_user,
    make_api_key,
    record_account_event,
    revoke_api_key,
)
from datamill.service.front_door.visitors.guesses import HASHING, PASSWORDS
from datamill.service.models import ApiKey
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.accounts.login import read_address

_MOST_NAME = 64
#: What a key may be used for, as the page says it.
_SCOPE_WORDS: Mapping[Scope, str] = {
    "read": "look at everything that I may see",
    "submit": "plan, submit and steer experiments",
    "publish": "publish results, and run them again",
    "machines": "let machines join, and steer mine",
    "account": "make and revoke keys, and say where notices go",
    "admin": "administer this coordinator",
}


@require_GET
@member_page
def show_account(request: HttpRequest) -> HttpResponse:
    """Keys and password."""
    return _show(request)


@require_POST
@member_page
def make_key(request: HttpRequest) -> HttpResponse:
    """Make a key and show it: once, since only a digest is kept."""
    name = request.POST.get("name", "").strip()[:_MOST_NAME] or "my computer"
    try:
        key = make_api_key(find_user(request), name, time.time(), request.POST.getlist("scope"))
    except InputError as problem:
        return _show(request, status=400, problem=problem)
    response = _show(request, key=key, address=request.build_absolute_uri("/").rstrip("/"))
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@member_page
def revoke_key(request: HttpRequest) -> HttpResponse:
    """Void the keys of one name."""
    name = request.POST.get("name", "")
    if revoke_api_key(find_user(request), name, time.time()):
        messages.success(request, f'The key "{name}" is void.', extra_tags="good")
    return redirect("account")


@require_POST
@member_page
def change_password(request: HttpRequest) -> HttpResponse:
    """Change the password of whoever knows the old one."""
    user = find_user(request)
    # A person at somebody else's open browser may guess the old one no faster than at the sign-in.
    wait_s = PASSWORDS.begin(read_address(request), user.username)
    if wait_s > 0:
        text = f"Too many wrong passwords came from your address. Try again in {format_duration(wait_s)}."
        return _show(request, status=429, password_errors=[text])
    form = PasswordChangeForm(user, request.POST)
    with HASHING.turn() as is_ours:
        if not is_ours:
            PASSWORDS.take_back(read_address(request), user.username)
            text = "Too many passwords are looked at just now. Try again in a few seconds."
            return _show(request, status=503, password_errors=[text])
        is_valid = form.is_valid()
    if not form.has_error("old_password"):
        PASSWORDS.forget(read_address(request), user.username)
    if not is_valid:
        return _show(request, password_errors=[str(text) for texts in form.errors.values() for text in texts])
    form.save()
    update_session_auth_hash(request, user)
    record_account_event(AccountEventKind.PASSWORD_CHANGED, user)
    messages.success(request, "The password is changed.", extra_tags="good")
    return redirect("account")


def _show(request: HttpRequest, status: int = 200, **extra: object) -> HttpResponse:
    user = find_user(request)
    keys = ApiKey.objects.filter(user=user).order_by("-made_unix_s")[:100]
    scopes = {name: words for name, words in _SCOPE_WORDS.items() if name != "admin" or user.is_superuser}
    context = {"keys": [(key, _say_scopes(key, scopes)) for key in keys], "scopes": scopes, **extra}
    return show_page(request, "accounts/account.html", context, section="account", status=status)


def _say_scopes(key: ApiKey, offered: Collection[str]) -> str:
    scopes = key.scopes.split()
    return "all that you may do" if set(scopes) >= set(offered) else ", ".join(scopes)
