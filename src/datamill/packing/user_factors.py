"""Factors that an experiment brings along: a folder with `factor.toml` and an executable for each verb."""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from datamill.experiment.errors import InputError
from datamill.experiment.file.source import Source
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.quantities import format_size
from datamill.packing.members import MemberChecks, check_script, list_members

FACTOR_FILE = "factor.toml"
_SCOPES = ("host", "environment")
#: Executables in a factor's root, and whether one of scope `environment` needs them too.
_VERBS = {"levels": True, "set": True, "verify": True, "restore": False}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_KEYS = ("name", "summary", "scope", "timeout_s")
_MOST_BYTES = 64 << 20
_MOST_FILES = 1000
_MOST_TEXT_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class UserFactor:
    """What a factor's folder says of it: name, one line of summary, and whether it acts on the host."""

    name: str
    path: Path
    summary: str
    scope: str


def read_user_factor(path: Path) -> UserFactor:
    """Check the folder or `.tar.gz` of a factor as far as that is possible without running it.

    Raises:
        InputError: when it is missing, too large or unsafe, lacks an executable, or its `factor.toml`
            says something else than name, summary, scope and timeout_s.
    """
    if not path.is_dir() and not path.is_file():
        raise InputError(
            "the factor is not there",
            where=str(path),
            remedy="Correct the path; it is relative to the experiment file.",
        )
    found = set()
    size = 0
    checks = MemberChecks(path)
    for files, member in enumerate(list_members(path, _VERBS), start=1):
        checks.check(member)
        size += member.size_bytes
        if size > _MOST_BYTES or files > _MOST_FILES:
            raise InputError(
                f"the factor is larger than allowed ({format_size(_MOST_BYTES)}, {_MOST_FILES} files)",
                where=str(path),
            )
        if member.name in _VERBS and not member.is_folder:
            found.add(member.name)
            check_script(member, path)
    factor = _parse_factor_file(_read_factor_file(path), path)
    for verb, always in _VERBS.items():
        if verb not in found and (always or factor.scope == "host"):
            raise InputError(
                f'the factor "{factor.name}" has no {verb}',
                where=str(path),
                remedy=f"Put an executable {verb} in the root of the factor's folder.",
            )
    return factor


def _read_factor_file(path: Path) -> bytes:
    try:
        if path.is_dir():
            with (path / FACTOR_FILE).open("rb") as file:
                return file.read(_MOST_TEXT_BYTES + 1)
        with tarfile.open(path, mode="r:gz") as tar:
            for member in tar:
                if member.name.removeprefix("./") == FACTOR_FILE and member.isreg():
                    content = tar.extractfile(member)
                    return content.read(_MOST_TEXT_BYTES + 1) if content is not None else b""
    except FileNotFoundError:
        pass
    raise InputError(
        f"the factor has no {FACTOR_FILE}",
        where=str(path),
        remedy="Write one with name, summary and scope.",
    )


def _parse_factor_file(content: bytes, path: Path) -> UserFactor:
    where = str(path / FACTOR_FILE)
    if len(content) > _MOST_TEXT_BYTES:
        raise InputError(f"{FACTOR_FILE} is larger than {format_size(_MOST_TEXT_BYTES)}", where=where)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"not valid TOML: {error}", where=where) from None
    table = Source(where, text).parse()
    for key in table:
        if key not in _KEYS:
            raise InputError(f'unknown key "{key}"', where=where, remedy=suggest_name(key, _KEYS))
    name, summary, scope = (table.get(key) for key in ("name", "summary", "scope"))
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            "a factor needs a name of small letters, digits and underscores, a letter first",
            where=where,
            remedy='Write name = "...".',
        )
    if not isinstance(summary, str) or not summary:
        raise InputError(
            f'the factor "{name}" needs a summary',
            where=where,
            remedy='Write summary = "..." that says in a line what it sets.',
        )
    if scope not in _SCOPES:
        raise InputError(
            f'the factor "{name}" needs a scope',
            where=where,
            remedy='Write scope = "host" if it changes the machine, or "environment" if it only gives '
            "variables to run.sh.",
        )
    timeout_s = table.get("timeout_s", 10)
    if not isinstance(timeout_s, int) or isinstance(timeout_s, bool) or not 1 <= timeout_s <= 600:
        raise InputError("timeout_s must be a whole number of seconds from 1 to 600", where=where)
    return UserFactor(name, path, summary, scope)
