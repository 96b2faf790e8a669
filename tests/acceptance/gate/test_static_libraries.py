"""`datamill gate` on programs that are linked from static libraries."""

import itertools
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
#: As `-lz` does, it links without the library that is not made again: with what stands in for it.
_REPLACED = _NOTED.replace(
    "-o $@ main.o libparts.a", "-o $@ main.o $$(ls libparts.a || echo one.o two.o three.o)"
)
#: A configuration compiles more than there is in the library, each time.
_CONFIGURED = "all: tried prog\n.PHONY: tried\ntried:\n" + "\t$(CC) -c -o tried.o one.c\n" * 9 + _LIBRARY
#: What is measured goes through make, which would link what is older than the library.
_RUN = """
run:
\techo begin >> {log}; $(MAKE) --silent prog && ./prog; echo end >> {log}
"""
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


def test_a_program_linked_without_the_library_that_was_there_is_linked_again(repository: Path) -> None:
    assert judge(repository, _REPLACED)["builds_vary"] is False


def test_what_a_configuration_compiles_each_time_does_not_keep_libraries(repository: Path) -> None:
    assert judge(repository, _CONFIGURED)["builds_vary"] is True


def test_a_command_that_goes_through_make_links_nothing_while_it_is_measured(
    repository: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    linking = _LIBRARY.replace("\t$(CC) -o", f"\techo link >> {log}; $(CC) -o")
    (repository / "Makefile").write_text(linking + _RUN.format(log=log))
    (repository / ".gitignore").write_text("*.o\n*.a\nprog\n")
    commit(repository, "a library")
    (repository / "words").write_text("")
    commit(repository, "words")
    run(repository, "time", "--git", "HEAD~1..HEAD", "--build", "make", "--runs", "4", "make --silent run")
    events = log.read_text().split()
    assert events.count("begin") >= 8
    assert events.count("link") > 2
    for before, after in itertools.pairwise(events):
        assert (before, after) != ("begin", "link")


def test_a_library_for_which_all_is_compiled_again_stays(repository: Path) -> None:
    assert judge(repository, _WITHOUT_OBJECTS)["builds_vary"] is False
