"""An experiment with a text wherever its file, its packages and its factor can have one."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.models import User
from integration.hostile.texts.marked_texts import Marks
from integration.service.api_users import SCRIPT, describe_file, pack, store


def write_submission(marks: Marks, user: User) -> tuple[dict[str, Any], str]:
    """Store the files of an experiment; return what submits it, and the digest of its factor."""
    files = [_store_package(marks, user, name) for name in ("p1", "p2")]
    summary = _quote(marks.write("factor: its summary"))
    about = f'name = "weather"\nsummary = {summary}\nscope = "environment"\n'
    verbs = dict.fromkeys(("levels", "set", "verify"), SCRIPT)
    content = pack({"factor.toml": about.encode(), **verbs})
    digest = store(content, user, "weather", "factor")
    files.append(describe_file("weather", digest, len(content), kind="factor"))
    return {"text": _write_file(marks), "packages": files, "options": {}}, digest


def _write_file(marks: Marks) -> str:
    level, formula = _quote(write_line(marks, "file: a level")), _quote("=cmd|'/C calc'!A0")
    question = _quote(marks.write("file: the question"))
    return (
        f'# {write_line(marks, "file: a comment")}\n[experiment]\nname = "full"\nquestion = {question}\n'
        'replicates = 2\nseed = 5\n[[package]]\nname = "p1"\npath = "p1"\n[[package]]\nname = "p2"\n'
        f'path = {_quote(write_line(marks, "file: a path"))}\n[[factor]]\npath = "weather"\n'
        f"[factors]\nweather = [{level}, {formula}]\n"
        '[coverage]\nmachine = "100%"\n[fleet]\nreboot = "never"\ndebug = "first"\n'
    )


def _store_package(marks: Marks, user: User, name: str) -> dict[str, Any]:
    script = SCRIPT + marks.write(f"package {name}: a script").encode()
    member = write_line(marks, f"package {name}: the name of a file")
    content = pack({"run.sh": script, "collect.sh": SCRIPT, member: b"x"})
    digest = store(content, user, marks.write(f"package {name}: its name in the store"))
    return describe_file(name, digest, len(content))


def write_line(marks: Marks, field: str) -> str:
    """Return a text that may be on a line, in a name or a level: without what a terminal obeys."""
    text = "".join(letter for letter in marks.write(field) if letter.isprintable())
    return text.replace("/", "∕").replace("\\", "∖")[:180]


def _quote(text: str) -> str:
    """Return a text as TOML has it; pairs of surrogates, which JSON writes, are none to it."""
    return json.dumps(text, ensure_ascii=False)
