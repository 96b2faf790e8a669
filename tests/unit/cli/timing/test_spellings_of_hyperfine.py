"""What people type for hyperfine, read as it is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from datamill.cli.timing.per_command import check_count, choose_redirections, refuse_shared_setups, spread
from datamill.cli.timing.tell_timing import Exports
from datamill.cli.timing.time import time
from datamill.cli.timing.time_options import choose_rounds, parse_scans
from datamill.conduct.timing.question import Redirection
from datamill.experiment.command_lines import read_commands
from datamill.experiment.errors import InputError

#: Every option of hyperfine 1.20, with a value where it takes one; its hidden ones are told apart below.
HYPERFINE = """
-w 1|--warmup 1|-m 2|--min-runs 2|-M 9|--max-runs 9|-r 5|--runs 5|-s true|--setup true|--reference true
--reference-name x|-p true|--prepare true|-C true|--conclude true|-c true|--cleanup true|-P n 1 3
--parameter-scan n 1 3|-D 2|--parameter-step-size 2|-L n 1,2|--parameter-list n 1,2|-S bash|--shell bash|-N
-i|--ignore-failure|-i=1,2|--ignore-failure=1,2|--ignore-failure=all-non-zero|--style basic|--sort auto
--sort command|--sort mean-time|-u second|--time-unit millisecond|--export-asciidoc f|--export-csv f
--export-json -|--export-markdown f|--export-orgmode f|--show-output|--output pipe|--output null|--input null
-n x|--command-name x
""".strip().replace("\n", "|")


def read(*typed: str) -> dict[str, Any]:
    return time.make_context("time", list(typed)).params


@pytest.mark.parametrize("typed", HYPERFINE.split("|"))
def test_every_option_of_hyperfine_is_read(typed: str) -> None:
    assert read(*typed.split(), "true")["commands"] == ("true",)


def test_the_word_behind_ignore_failure_is_a_command_and_its_value_stands_behind_an_equals_sign() -> None:
    assert (read("-i", "a")["ignore_failure"], read("-i", "a")["commands"]) == (True, ("a",))
    assert read("--ignore-failure=all-non-zero", "a")["ignore_failure"] is True
    found = read("-i=3,4", "a", "--", "-i=5")
    assert (found["ignore_failure"], found["allow_status"]) == (False, "0,3,4")
    assert found["commands"] == ("a", "-i=5")


@pytest.mark.parametrize(
    ("typed", "words"),
    [("--min-benchmarking-time=3", "--within"), ("--debug-mode", "--runs 2"), ("-V", "datamill --version")],
)
def test_an_option_that_has_another_name_here_names_it(typed: str, words: str) -> None:
    with pytest.raises(click.UsageError, match=words):
        read(typed, "a")


def test_output_goes_where_it_is_sent_for_all_or_for_each_command(tmp_path: Path) -> None:
    lines = read_commands(["a {x}", "b"], parameters={"x": ["1", "2"]})
    assert choose_redirections((), lines) == (Redirection(),)
    assert choose_redirections(("pipe",), lines) == (Redirection(),)
    file = tmp_path / "f"
    found = choose_redirections((str(file), "null"), lines)
    assert found == (Redirection("file", file), Redirection("file", file), Redirection("null"))
    assert choose_redirections((), lines, shown=True) == (Redirection("inherit"),)
    with pytest.raises(InputError, match="cannot be shown and go elsewhere"):
        choose_redirections(("null",), lines, shown=True)
    with pytest.raises(InputError, match="there is no folder"):
        choose_redirections((str(tmp_path / "no" / "f"),), lines)


def test_what_stands_once_for_each_typed_command_goes_to_all_values_of_its_parameters() -> None:
    lines = read_commands(["a {x}", "b {x}"], parameters={"x": ["1", "2"]})
    assert spread(("for a", "for b"), lines) == ("for a", "for a", "for b", "for b")
    assert spread(("for all",), lines) == ("for all",)
    with pytest.raises(InputError, match="there are 3 of them for 2 commands"):
        check_count(("1", "2", "3"), ("a", "b"), "prepare")


def test_commands_that_only_their_setup_tells_apart_are_refused_since_they_take_turns() -> None:
    lines = read_commands(["./prog"], parameters={"cc": ["gcc", "clang"]}, beside=(("make CC={cc}",),))
    with pytest.raises(InputError, match=r"./prog \(cc = gcc\) and ./prog \(cc = clang\) execute the same"):
        refuse_shared_setups(lines, ("make CC={cc}",), ())
    refuse_shared_setups(lines, ("make",), ())
    refuse_shared_setups(lines, ("make CC={cc}",), ("cp prog-{cc} prog",))
    own = read_commands(["./prog-{cc}"], parameters={"cc": ["gcc", "clang"]})
    refuse_shared_setups(own, ("make CC={cc} OUT=prog-{cc}",), ())


@pytest.mark.parametrize("bounds", [(1, None, None), (None, None, 1), (1001, None, None)])
def test_rounds_that_leave_no_interval_or_are_too_many_are_refused(bounds: tuple[Any, Any, Any]) -> None:
    with pytest.raises(InputError):
        choose_rounds(*bounds)


def test_a_step_without_a_scan_is_refused() -> None:
    with pytest.raises(InputError, match="nothing is scanned"):
        parse_scans((), "2", ())


def test_json_and_an_export_do_not_share_standard_output() -> None:
    with pytest.raises(InputError, match="standard output"):
        Exports(csv=Path("-")).check_places(as_json=True)
    Exports(csv=Path("-")).check_places(as_json=False)
