"""Repositories with a small program in several files, made for a test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from acceptance.conftest import Command

#: With its own rule: tests that make starts may have its built-in ones switched off.
_MAKEFILE = """\
prog: main.o one.o two.o three.o
\t$(CC) -o $@ main.o one.o two.o three.o
%.o: %.c
\t$(CC) -c -o $@ $<
"""
_MAIN = """\
#include <stdio.h>
unsigned one(unsigned), two(unsigned), three(unsigned);
int main(void) {{
    unsigned x = 1;
    for (int i = 0; i < {loops}; i++) x = three(two(one(x)));
    FILE *nowhere = fopen("/dev/null", "w");
    fprintf(nowhere, "%u", x);
    return {status};
}}
"""
_PART = "unsigned {name}(unsigned x) {{ return x * 1664525u + 1013904223u; }}\n"


def make_repository(folder: Path) -> Path:
    """A repository whose only commit has a program that takes a few milliseconds."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "Makefile").write_text(_MAKEFILE)
    for name in ("one", "two", "three"):
        (folder / f"{name}.c").write_text(_PART.format(name=name))
    (folder / ".gitignore").write_text("*.o\nprog\n")
    write_main(folder)
    commit(folder, "base")
    return folder


def write_main(folder: Path, *, loops: int = 2_000_000, status: int = 0) -> None:
    """Have the program loop so often, which decides its time."""
    (folder / "main.c").write_text(_MAIN.format(loops=loops, status=status))


def commit(folder: Path, message: str) -> None:
    """Commit all that is there."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


def git(folder: Path, *arguments: str) -> str:
    """Run git, and return what it printed."""
    settings = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *settings, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def type_datamill(folder: Path, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run datamill in a repository, with the state folder that the test has set."""
    # Beside the repository, in which nothing of its own may lie.
    datamill = Command(folder.parent)
    datamill.folder = folder
    datamill.environment["DATAMILL_STATE_DIR"] = os.environ["DATAMILL_STATE_DIR"]
    done = datamill(*arguments, timeout_s=300)
    assert done.returncode == status, done.stderr + done.stdout
    return done
