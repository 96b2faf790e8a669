"""Django's settings of the coordinator.

Three environment variables say where its state is, set by `datamill serve` before Django is loaded:
`DATAMILL_SERVICE_DATA`, the folder for what is not in the database, `DATAMILL_SERVICE_DATABASE`, a URL:
`sqlite:///FILE`, `sqlite://` (in memory, for tests and simulations), or
`postgres://USER:PASSWORD@HOST:PORT/NAME`, and `DATAMILL_SERVICE_FILES`, the URL of a bucket for files
(`files/bucket.py`), empty where the folder has them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from datamill.experiment.errors import InputError

DATA_VARIABLE = "DATAMILL_SERVICE_DATA"
DATABASE_VARIABLE = "DATAMILL_SERVICE_DATABASE"
FILES_VARIABLE = "DATAMILL_SERVICE_FILES"


#: To open one takes longer than what most requests ask of it.
_KEEP_CONNECTION_S = 600


def parse_database_url(url: str) -> dict[str, Any]:
    """Return Django's description of a database.

    Raises:
        InputError: when the URL names none that the coordinator can use.
    """
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path[1:]) if parts.path.strip("/") else ":memory:",
            "CONN_MAX_AGE": _KEEP_CONNECTION_S,
            "OPTIONS": {
                # Writers wait for each other instead of failing half-way.
                "transaction_mode": "IMMEDIATE",
                "timeout": 30,
                # A log that grew while somebody read for long is cut back to 64 MiB.
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
                    "PRAGMA journal_size_limit=67108864;"
                ),
            },
        }
    if parts.scheme in ("postgres", "postgresql") and parts.path.strip("/"):
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path[1:]),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": unquote(parts.hostname or ""),
            "PORT": str(parts.port or ""),
            # Each statement here takes milliseconds; to compile one takes forty.
            "OPTIONS": {"options": "-c jit=off"} | dict(parse_qsl(parts.query)),
            "CONN_HEALTH_CHECKS": True,
            "CONN_MAX_AGE": _KEEP_CONNECTION_S,
        }
    raise InputError(
        f"the coordinator cannot use this database: {parts.scheme or url}",
        where="--database",
        remedy="Name postgres://USER:PASSWORD@HOST:PORT/NAME, or leave it out for SQLite in the data folder.",
    )


DATA_FOLDER = Path(os.environ.get(DATA_VARIABLE, "."))
FILES_URL = os.environ.get(FILES_VARIABLE, "")
DATABASES = {"default": parse_database_url(os.environ.get(DATABASE_VARIABLE, "sqlite://"))}
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "datamill.service",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "datamill.service.pages.content_policy.add_content_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["datamill.service.pages.tags"],
        },
    }
]


def _read_secret() -> str:
    """The key of sessions: made by `datamill serve`, kept in the data folder."""
    file = DATA_FOLDER / "session-key"
    return file.read_text(encoding="ascii") if file.is_file() else os.urandom(32).hex()


SECRET_KEY = _read_secret()
ROOT_URLCONF = "datamill.service.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login"
STATIC_URL = "/static/"
USE_TZ = True
TIME_ZONE = "UTC"
# Workers and browsers name the coordinator as they reach it: by address, by name, through a tunnel.
ALLOWED_HOSTS = ["*"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESSION_ENGINE = "datamill.service.pages.accounts.sessions"
SESSION_COOKIE_SAMESITE = "Lax"
# Forms carry the proof against forged requests: no script needs the cookie.
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "datamill.service.pages.accounts.forged.refuse_forged"
# Whether a browser came over TLS is seen with each request, also behind a proxy: pages/content_policy marks
# cookies then, and sends HSTS. The port speaks TLS or it does not: there is nothing to redirect from.
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008", "security.W012", "security.W016"]
X_FRAME_OPTIONS = "DENY"
# Of a package, load, factor or artifact.
LARGEST_FILE_BYTES = 4 << 30
# Of all that a user brought, and of what a worker brought that belongs to no accepted report.
MOST_USER_BYTES = 256 << 30
MOST_WORKER_BYTES = 8 << 30
# The same in numbers, for a file of one byte takes room as well; and uploads of one that are not whole.
MOST_USER_FILES = 100_000
MOST_WORKER_FILES = 20_000
MOST_PARTS = 256
# An upload that has not moved for so long is thrown away: it counts as its user's as long as it is there.
ABANDONED_UPLOAD_S = 86400.0
# Of the disk that files are on, never given to uploads; of a small disk a twentieth.
RESERVED_BYTES = 1 << 30
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 << 20
FILE_UPLOAD_MAX_MEMORY_SIZE = 4 << 20
# What is larger lies beside the files while it comes: folders for temporary files are in memory on many
# systems. `datamill serve` makes this one.
FILE_UPLOAD_TEMP_DIR = str(DATA_FOLDER / "files") if DATA_VARIABLE in os.environ else None
# Live views at a time, in all and of one user: each holds a connection and a thread that sleeps.
MOST_VIEWERS = 1000
MOST_VIEWERS_A_USER = 100
# Bundles that are made or sent at a time: each is work for minutes, with its logs in memory or on the disk.
MOST_BUNDLES = 8
MOST_BUNDLES_A_USER = 3
