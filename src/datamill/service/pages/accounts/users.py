"""The page of accounts, for administrators: who may log in."""

from __future__ import annotations

import secrets
import time

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from datamill.experiment.errors import InputError
from datamill.service.accounts import (
    NotFoundError,
    check_admin,
    find_user,
    make_user,
    open_account,
)
from datamill.service.pages.access import member_page, show_page
from datamill.service.pages.labels import speak_form

_USERS_A_PAGE = 100


@member_page
def list_users(request: HttpRequest) -> HttpResponse:
    """All accounts; a new one gets a password that is shown once, since only a digest is kept."""
    check_admin(find_user(request))
    made = None
    if request.method == "POST":
        name, password = request.POST.get("name", "").strip(), secrets.token_urlsafe(12)
        try:
            made = make_user(name, password, admin="admin" in request.POST, now_s=time.time())
        except InputError as problem:
            told = problem.told(speak_form)
            messages.error(request, f"{told.message}. {told.remedy}", extra_tags="bad")
            return redirect("users")
    accounts = User.objects.annotate(experiments=Count("fleetexperiment")).order_by("username")
    page = Paginator(accounts, _USERS_A_PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "made": made, "password": password if made else "", "query": ""}
    response = show_page(request, "accounts/users.html", context, section="users")
    response["Cache-Control"] = "no-store"
    return response


@require_POST
@member_page
def change_user(request: HttpRequest) -> HttpResponse:
    """Close an account or open it again: who is closed out can neither log in nor use a key."""
    admin = find_user(request)
    check_admin(admin)
    account = User.objects.filter(username=request.POST.get("name", "")).first()
    if account is None:
        raise NotFoundError("there is no such user")
    open_account(account, admin, is_open=request.POST.get("active") == "yes")
    done = "opened" if account.is_active else "closed"
    messages.success(request, f"The account of {account.username} is {done}.", extra_tags="good")
    return redirect("users")
