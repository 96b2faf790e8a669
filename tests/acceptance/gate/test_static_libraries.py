"""`datamill gate` on programs that are linked from static libraries."""

import json
from pathlib import Path
from typing import Any

from acceptance.gate.scratch_repositories import commit
from acceptance.gate.scratch_repositories import type_datamill as run

_LIBRARY = """\
prog: main.o libparts.a
\t$(CC) -o $@ main.o libparts.a
libparts.a: one.o two.o three.o
\t$(AR) rc $@ $?
%.o: %.c
\t$(CC) -c -o $@ $<
"""
#: As libtool does it: what make knows of the library is another file, which stays.
_NOTED = _LIBRARY.replace("main.o libparts.a\n\t", "main.o noted\n\t").replace(
    "libparts.a: one.o two.o three.o\n\t$(AR) rc $@ $?",
    "noted: one.o two.o three.o\n\t$(AR) rc libparts.a $? && touch noted",
)
#: Objects of the library are removed when they are in it.
_WITHOUT_OBJECTS = """\
prog: main.o libparts.a
\t$(CC) -o $@ main.o libparts.a
libparts.a: one.c two.c three.c
\tset -e; for part in one two three; do $(CC) -c $$part.c; done
\t$(AR) rc $@ one.o two.o three.o
\trm one.o two.o three.o
main.o: main.c
\t$(CC) -c main.c
"""


def judge(repository: Path, makefile: str) -> dict[str, Any]:
    (repository / "Makefile").write_text(makefile)
    (repository / ".gitignore").write_text("*.o\n*.a\nprog\nnoted\n")
    commit(repository, "a library")
    (repository / "words").write_text("")
    commit(repository, "words")
    # Nothing differs, and no chance is to decide here.
    asked = ("--base", "HEAD~1", "--build", "make", "--within", "2s", "--alpha", "0.1%")
    told: dict[str, Any] = json.loads(run(repository, "gate", *asked, "--json", "./prog").stdout)
    assert told["rounds"] >= 2
    return told


def test_the_order_in_a_static_library_is_varied_from_build_to_build(repository: Path) -> None:
    assert judge(repository, _LIBRARY)["builds_vary"] is True


def test_a_library_that_is_not_made_again_stays_and_that_is_told(repository: Path) -> None:
    told = judge(repository, _NOTED)
    assert told["builds_vary"] is False
    assert any("each build of a revision is the same" in warning for warning in told["warnings"])


def test_a_library_for_which_all_is_compiled_again_stays(repository: Path) -> None:
    assert judge(repository, _WITHOUT_OBJECTS)["builds_vary"] is False
