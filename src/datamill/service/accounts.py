"""Who may do what: users, their keys for the API, and what each of them sees."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Collection
from enum import StrEnum

from django.contrib.auth.models import AbstractUser, AnonymousUser, User
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from datamill.experiment.errors import InputError
from datamill.protocol.api.accounts import SCOPES, Scope
from datamill.service.kept_secrets import hash_secret
from datamill.service.models import ApiKey, Event, FleetExperiment, FleetWorker

#: What a key begins with, so that one that leaked into a text can be found.
KEY_PREFIX = "dmk_"
#: Keys of one user that are not revoked.
MOST_KEYS = 100
#: User names stand in workers' policies and in the audit log.
_USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class AccountEventKind(StrEnum):
    """What happened to accounts and by their owners, beside what the coordinator decides."""

    USER_MADE = "user made"
    ACCOUNT_OPENED = "account opened"
    ACCOUNT_CLOSED = "account closed"
    LOGINS_REFUSED = "logins refused"
    PASSWORD_CHANGED = "password changed"
    KEY_MADE = "api key made"
    KEY_REVOKED = "api key revoked"
    TOKEN_MADE = "token made"
    PACKAGE_UPLOADED = "package uploaded"
    QUOTA_SET = "quota set"
    RETENTION_SET = "retention set"
    BACKUP_MADE = "backup made"


class NotFoundError(InputError):
    """There is no such thing, or this user may not know of it."""


class DeniedError(InputError):
    """This user may see it and may not do that to it."""


def make_user(name: str, password: str, *, admin: bool = False, now_s: float | None = None) -> User:
    """Make an account.

    Raises:
        InputError: when the name cannot be one or is taken.
    """
    if not _USER_NAME.fullmatch(name):
        raise InputError(
            f'"{name}" cannot be the name of a user',
            remedy="Use up to 64 letters, digits, dots, underscores and dashes, a letter or digit first.",
        )
    if User.objects.filter(username=name).exists():
        raise InputError(f'there is a user "{name}" already', remedy="Choose another name.")
    user = User.objects.create_user(name, password=password, is_staff=admin, is_superuser=admin)
    record_account_event(
        AccountEventKind.USER_MADE, user, "an administrator" if admin else "a user", now_s=now_s
    )
    return user


def open_account(account: User, admin: User, *, is_open: bool) -> None:
    """Open an account, or close it: from then on it can neither log in nor use a key.

    Raises:
        InputError: it is the administrator's own.
    """
    if account == admin:
        raise InputError("you cannot close your own account", remedy="Have another administrator do it.")
    account.is_active = is_open
    account.save(update_fields=["is_active"])
    done = AccountEventKind.ACCOUNT_OPENED if is_open else AccountEventKind.ACCOUNT_CLOSED
    record_account_event(done, admin, account.username)


def make_api_key(user: User, name: str, now_s: float | None = None, scopes: Collection[str] = SCOPES) -> str:
    """Make a key for the API and return it: the only time that it is seen.

    Raises:
        InputError: when the user has too many, or the key is for nothing.
    """
    given = [scope for scope in SCOPES if scope in scopes]
    if not given:
        raise InputError("the key is for nothing", remedy=f"Choose from {', '.join(SCOPES)}.")
    made_s = time.time() if now_s is None else now_s
    # Those of the last day as well: one may be revoked at once.
    is_held = Q(revoked_unix_s=None) | Q(made_unix_s__gt=made_s - 86_400.0)
    if ApiKey.objects.filter(is_held, user=user).count() >= MOST_KEYS:
        raise InputError(
            f"you have {MOST_KEYS} keys",
            remedy="Revoke those that you do not use; of the last day those count as well that are revoked.",
        )
    key = KEY_PREFIX + secrets.token_urlsafe(32)
    ApiKey.objects.create(
        sha256=hash_secret(key), user=user, name=name[:64], made_unix_s=made_s, scopes=" ".join(given)
    )
    told = f'key "{name[:64]}"' + ("" if len(given) == len(SCOPES) else f" for {', '.join(given)}")
    record_account_event(AccountEventKind.KEY_MADE, user, told, now_s=made_s)
    return key


def revoke_api_key(user: User, name: str, now_s: float | None = None) -> int:
    """Void a user's keys of this name; return how many there were."""
    ended_s = time.time() if now_s is None else now_s
    count = ApiKey.objects.filter(user=user, name=name, revoked_unix_s=None).update(revoked_unix_s=ended_s)
    if count:
        record_account_event(AccountEventKind.KEY_REVOKED, user, f'key "{name}"', now_s=ended_s)
    return count


def find_user_of_key(key: str) -> User | None:
    """Return whose key this is, None when it is nobody's, revoked, or of an account that is closed."""
    found = find_key(key)
    return found.user if found is not None else None


def find_key(key: str) -> ApiKey | None:
    """Return a key with its user, None when it is nobody's, revoked, or of an account that is closed."""
    keys = ApiKey.objects.select_related("user")
    return keys.filter(sha256=hash_secret(key), revoked_unix_s=None, user__is_active=True).first()


def check_scope(key: ApiKey, scope: Scope) -> None:
    """Refuse what a key may not be used for.

    Raises:
        DeniedError: it lacks the scope.
    """
    if scope not in key.scopes.split():
        raise DeniedError(
            f'the key "{key.name}" may not be used for that: it lacks the scope {scope}',
            where="Authorization",
            remedy="Use another key, or make one with this scope on the page of your account.",
        )


def find_user(request: HttpRequest) -> User:
    """Return who asks: of a page for members, and of the API, someone is logged in or has a key."""
    user: User = request.user  # type: ignore[assignment]
    return user


def is_admin(user: AbstractUser | AnonymousUser) -> bool:
    """Tell whether a user may see and do everything."""
    return bool(user.is_authenticated and user.is_superuser)


def list_visible_experiments(user: AbstractUser | AnonymousUser) -> QuerySet[FleetExperiment]:
    """Return the experiments that a user may see: own and public ones; all for an administrator."""
    if is_admin(user):
        return FleetExperiment.objects.all()
    if not user.is_authenticated:
        return FleetExperiment.objects.none()
    return FleetExperiment.objects.filter(Q(owner_id=user.pk) | Q(public=True))


def find_experiment(user: AbstractUser | AnonymousUser, experiment_id: int) -> FleetExperiment:
    """Return an experiment that a user may see.

    Raises:
        NotFoundError: when there is none of that number, or it is another's and not public.
    """
    found = list_visible_experiments(user).select_related("owner").filter(pk=experiment_id).first()
    if found is None:
        raise NotFoundError(
            f"there is no experiment {experiment_id} that you may see",
            where=f"experiment {experiment_id}",
            remedy="datamill watch without a number lists those that you may see.",
        )
    return found


def find_own_experiment(user: AbstractUser | AnonymousUser, experiment_id: int) -> FleetExperiment:
    """Return an experiment that a user may change.

    Raises:
        NotFoundError: when the user may not even see it.
        DeniedError: when it is another's.
    """
    found = find_experiment(user, experiment_id)
    if found.owner_id != user.pk and not is_admin(user):
        raise DeniedError(
            f"experiment {experiment_id} is {found.owner.username}'s",
            where=f"experiment {experiment_id}",
            remedy="Ask its owner or an administrator.",
        )
    return found


def find_worker_by_name(name: str) -> FleetWorker:
    """Return the worker of a name.

    Raises:
        NotFoundError: when there is none.
    """
    found = FleetWorker.objects.select_related("owner").filter(name=name).first()
    if found is None:
        raise NotFoundError(
            f'there is no worker "{name}"', where="worker", remedy="datamill workers lists them."
        )
    return found


def find_own_worker(user: AbstractUser | AnonymousUser, name: str) -> FleetWorker:
    """Return a worker that a user may drain, resume and remove.

    Raises:
        NotFoundError: when there is none of that name.
        DeniedError: when it is another's.
    """
    found = find_worker_by_name(name)
    if found.owner_id != user.pk and not is_admin(user):
        raise DeniedError(
            f'worker "{name}" is {found.owner.username}\'s',
            where=f'worker "{name}"',
            remedy="Ask its owner or an administrator.",
        )
    return found


def check_admin(user: AbstractUser | AnonymousUser) -> None:
    """Refuse whoever is no administrator.

    Raises:
        DeniedError: unless the user is one.
    """
    if not is_admin(user):
        raise DeniedError("only administrators may do that", remedy="Ask an administrator.")


def record_account_event(
    kind: AccountEventKind,
    user: User,
    detail: str = "",
    *,
    package_sha256: str = "",
    now_s: float | None = None,
) -> None:
    """Append to the account of events what a user did with credentials, accounts and packages."""
    Event.objects.create(
        unix_s=time.time() if now_s is None else now_s,
        kind=kind,
        user=user.username,
        package_sha256=package_sha256,
        detail=detail,
    )
