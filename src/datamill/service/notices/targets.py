"""Addresses for notices: made, confirmed, tried again and removed by their users."""

from __future__ import annotations

import secrets

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from datamill.experiment.errors import InputError
from datamill.service.accounts import NotFoundError
from datamill.service.kept_secrets import hash_secret
from datamill.service.models import NoticeTarget
from datamill.service.notices.addresses import check_mail_address, parse_webhook, resolve_webhook
from datamill.service.notices.mail import send_mail
from datamill.service.notices.subjects import SUBJECTS
from datamill.service.notices.ways import find_notice_ways
from datamill.service.notices.webhooks import UndeliveredError, make_secret

#: Addresses of one user.
MOST_TARGETS = 10
FEED_PREFIX = "dmf_"


def add_webhook(user: User, url: str, subjects: tuple[str, ...], now_s: float) -> tuple[NoticeTarget, str]:
    """Enter a webhook; return it with its secret.

    Raises:
        InputError: when nothing may be sent there, or the user has it already, or too many.
    """
    resolve_webhook(parse_webhook(url, find_notice_ways().inner_hosts))
    secret = make_secret()
    return _add(user, "webhook", url, secret, subjects, now_s), secret


def add_mail(user: User, address: str, subjects: tuple[str, ...], now_s: float) -> NoticeTarget:
    """Enter a mail address, and send it the code that confirms that its reader wants this.

    Raises:
        InputError: when this is not an address, the coordinator sends no mail, or the mail server refused it.
    """
    ways = find_notice_ways()
    if ways.mail is None:
        raise InputError(
            "this coordinator sends no mail", remedy="Use a webhook or a feed, or ask the people who run it."
        )
    code = secrets.token_hex(5)
    target = _add(
        user, "mail", check_mail_address(address), hash_secret(code), subjects, now_s, confirmed=False
    )
    text = (
        f"{user.username} asks datamill at {ways.url} to send notices to this address.\n\n"
        f"If that is you, type this code on the page of notices: {code}\n\n"
        "If not, do nothing: nothing else will come.\n"
    )
    try:
        send_mail(ways.mail, target.address, "Confirm this address for notices", text)
    except UndeliveredError as problem:
        target.delete()
        raise InputError(f"the mail could not be handed over: {problem}") from None
    return target


def confirm_mail(user: User, number: int, code: str) -> None:
    """Confirm a mail address by the code that was sent there; a wrong one removes the address.

    Raises:
        InputError: when it is not the code.
    """
    target = find_target(user, number)
    if target.kind != "mail" or target.confirmed:
        raise NotFoundError("there is nothing to confirm")
    if not secrets.compare_digest(hash_secret(code.strip().lower()), target.secret):
        target.delete()
        raise InputError(
            "this is not the code that was sent", remedy="Enter the address again; another code comes."
        )
    NoticeTarget.objects.filter(pk=target.pk).update(confirmed=True, secret="")


def add_feed(user: User, subjects: tuple[str, ...], now_s: float) -> str:
    """Make the key of a feed, in the place of an earlier one; return it, the only time that it is seen."""
    key = FEED_PREFIX + secrets.token_urlsafe(24)
    with transaction.atomic():
        NoticeTarget.objects.filter(user=user, kind="feed").delete()
        _add(user, "feed", "", hash_secret(key), subjects, now_s)
    return key


def find_feed(key: str) -> NoticeTarget | None:
    """Return the feed of a key, None when it is nobody's, or of an account that is closed."""
    feeds = NoticeTarget.objects.select_related("user")
    return feeds.filter(kind="feed", secret=hash_secret(key), user__is_active=True).first()


def find_target(user: User, number: int) -> NoticeTarget:
    """Return an address of a user.

    Raises:
        NotFoundError: when it is none of the user's.
    """
    found = NoticeTarget.objects.filter(user=user, pk=number).first()
    if found is None:
        raise NotFoundError("there is no such address of yours")
    return found


def resume_target(user: User, number: int, now_s: float) -> None:
    """Send to an address again that was given up, and what waits for it at once."""
    target = find_target(user, number)
    with transaction.atomic():
        NoticeTarget.objects.filter(pk=target.pk).update(paused_unix_s=None, failures=0, trouble="")
        target.notice_set.update(next_unix_s=now_s, attempts=0)


def _add(
    user: User,
    kind: str,
    address: str,
    secret: str,
    subjects: tuple[str, ...],
    now_s: float,
    *,
    confirmed: bool = True,
) -> NoticeTarget:
    if NoticeTarget.objects.filter(user=user).count() >= MOST_TARGETS:
        raise InputError(f"you have {MOST_TARGETS} addresses", remedy="Remove one first.")
    try:
        with transaction.atomic():
            return NoticeTarget.objects.create(
                user=user,
                kind=kind,
                address=address,
                secret=secret,
                subjects=" ".join(subjects or SUBJECTS),
                made_unix_s=now_s,
                confirmed=confirmed,
            )
    except IntegrityError:
        raise InputError("you have this address already", remedy="Remove it first.") from None
