"""Texts that a TOML parser should not be given are refused with their line; what people write is not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from datamill.cli.main import main
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.file.source import Source
from datamill.experiment.file.toml_budget import (
    DEEPEST,
    LONGEST_WORD,
    MOST_BYTES,
    MOST_PARTS,
    MOST_PARTS_IN_ALL,
    check_toml_budget,
)

HEAD = '[experiment]\nname = "x"\n'
PACKAGE = '[[package]]\nname = "a"\npath = "a"\n'


def dots(parts: int) -> str:
    return ".".join("a" * parts)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (f"x = 1\n{dots(100_000)} = 1", 2, "a key has more than 16 parts"),
        (f"x = 1\n[{dots(17)}]", 2, "a key has more than 16 parts"),
        ('"a" . ' * 17 + "b = 1", 1, "a key has more than 16 parts"),
        (f"x = {{ {dots(17)} = 1 }}", 1, "a key has more than 16 parts"),
        ("x = " + "[" * 5000 + "]" * 5000, 1, "more than 32 deep"),
        ("x = " + "[\n" * 33 + "]" * 33, 33, "more than 32 deep"),
        ("x = " + "{a=" * 33 + "1" + "}" * 33, 1, "more than 32 deep"),
        ('s = """\n\n"""\nx = ' + "9" * 5000, 4, "a number has more than 64 characters"),
        ("x = -" + "9" * 64, 1, "a number has more than 64 characters"),
        ("x = 0x" + "f" * 64, 1, "a number has more than 64 characters"),
        ("x = 0." + "1" * 65, 1, "a number has more than 64 characters"),
        ("k" * 257 + " = 1", 1, "a key has more than 256 characters"),
        ("".join(f"[t{number}]\n" for number in range(20_001)), 20_001, "more than 20\u202f000 keys"),
        ("".join(f"{dots(16)}{number} = 1\n" for number in range(1251)), 1251, "more than 20\u202f000 keys"),
    ],
)
def test_what_is_work_without_end_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        Source("e.toml", text).parse()
    assert refused.value.where == f"e.toml:{line}"
    assert refused.value.remedy


def test_a_text_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="larger than 1"):
        check_toml_budget("#" * (MOST_BYTES + 1), name="e.toml")
    with pytest.raises(InputError, match="larger than 1"):
        check_toml_budget("#" + "\U0001f600" * (MOST_BYTES // 4), name="e.toml")
    check_toml_budget("#" * MOST_BYTES, name="e.toml")


@pytest.mark.parametrize(
    "text",
    [
        f"{dots(MOST_PARTS)} = 1",
        "x = " + "[" * DEEPEST + "]" * DEEPEST,
        "x = " + "9" * 19,
        "x = 0x" + "f" * 16,
        "k" * LONGEST_WORD + " = 1",
        "".join(f"t{number} = 1\n" for number in range(MOST_PARTS_IN_ALL)),
        # What stands in texts and comments is neither key nor number nor list.
        f'x = "{dots(20)}[[[[{"9" * 100}"',
        f"x = '{dots(20)}{'[' * 100}'",
        f'x = """\n{dots(20)}\n{"[" * 100}\\"""""',
        f"x = '''\n{dots(20)} it''s\n{'{' * 100}'''",
        f"# {dots(20)} {'[' * 100} {'9' * 100}\nx = 1",
        'x = """ends in quotes"""""\ny = 1',
        r'x = "a \" quote # no comment"' + "\ny = 1",
        "x = [ # a list ]\n 1, # one ]\n]\n" * 1,
        "x = 1979-05-27T07:32:00.999999-07:00",
    ],
)
def test_what_people_write_is_read(text: str) -> None:
    assert Source("e.toml", text).parse()


def test_deep_brackets_side_by_side_do_not_add_up() -> None:
    text = "x = [" + "[1], " * 1000 + "]\n" + "[[a]]\n" * 1000
    check_toml_budget(text, name="e.toml")
    assert len(tomllib.loads(text)["a"]) == 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + PACKAGE + "[constraints]\nmin_memory = inf", "a size is"),
        (HEAD + PACKAGE + f"[constraints]\nmin_memory = {'9' * 60}", "a size is"),
        (HEAD + PACKAGE + '[constraints]\nmin_clock = "99999999999999999999 GHz"', "a clock is"),
        (HEAD + PACKAGE + "[constraints]\nmin_memory = nan", "is not a size"),
        (HEAD + PACKAGE + "[limits]\nrun_timeout = inf", "thirty years"),
        (HEAD + PACKAGE + f'[limits]\nrun_timeout = "1{" " * 50_000}!"', "is not a duration"),
        (HEAD + PACKAGE + f"[limits]\nworld = {'9' * 30}", "a size is"),
        (HEAD + f"confidence = {'9' * 64}\n" + PACKAGE, "confidence must lie between"),
        (
            HEAD + PACKAGE + f'[replication]\nbuilds = 2\nuntil = {{ half_width = "{"1" * 50_000}x" }}',
            "nothing bounds",
        ),
        (
            HEAD + PACKAGE + f'[replication]\nmax_trials = 9\nuntil = {{ half_width = "{"1" * 50_000}x" }}',
            "is not a share",
        ),
        (HEAD + PACKAGE + f'[coverage]\nmachine = "{"9" * 1_000_000}%"', "is not a coverage"),
        (HEAD + PACKAGE + f'[nuisance]\nenv_padding = {{ randomise = "0..{"9" * 5000}" }}', "is not a range"),
        (HEAD + PACKAGE + f'[constraints]\ncpu_model = "{"*a" * 50_000}"', "200 characters at most"),
        (
            HEAD + PACKAGE + f'[responses.r]\nunit = "s"\ndirection = "lower"\nformula = "{"9" * 900}"',
            "not a formula",
        ),
        (
            HEAD
            + PACKAGE
            + f'[responses.r]\nunit = "s"\ndirection = "lower"\nformula = "{"(" * 490}1{")" * 490}"',
            "not a formula",
        ),
        (HEAD + PACKAGE + f'[responses.r]\nunit = "{"s" * 500_000}"\ndirection = "lower"', "unknown unit"),
    ],
)
def test_values_beyond_all_measure_are_refused_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        parse_experiment(text, name="e.toml")
    assert refused.value.where.startswith("e.toml:")


def test_the_command_line_refuses_them_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(f"{dots(100_000)} = 1")
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["check", str(path)])
    assert "experiment.toml:1: a key has more than 16 parts" in capsys.readouterr().err
