from __future__ import annotations

import pytest

from datamill.experiment.errors import InputError
from datamill.selection.history.recognised_builds import recognise_builds, write_settings
from datamill.selection.history.settings import parse_settings


def test_a_file_that_was_begun_can_be_read():
    for names, system in (
        (["Makefile"], "make"),
        (["configure.ac", "Makefile"], "autotools"),
        (["CMakeLists.txt", "Makefile"], "cmake"),
        (["meson.build"], "meson"),
        (["Cargo.toml", "Makefile"], "cargo"),
    ):
        build = recognise_builds(names)[0]
        assert build.system == system
        settings = parse_settings(write_settings("jq", build, ["src/jq"]))
        assert settings.binaries == ("src/jq",)
        assert settings.build[0].command == build.command
        assert settings.benchmark[0].command == "./src/jq --version"
    assert recognise_builds(["README"]) == ()


def test_a_file_that_was_begun_without_a_build_says_what_is_to_be_written():
    begun = write_settings("jq", recognise_builds(["Makefile"])[0], [])
    with pytest.raises(InputError) as refused:
        parse_settings(begun)
    assert refused.value.message == 'still has "PROGRAM" among its binaries'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("binary = []", 'unknown key "binary"'),
        ("binaries = []", "names no binaries"),
        ('binaries = "jq"', "selection.toml:1: binaries: binaries is not a list of texts in quotes"),
        ("binaries = [1]", "binaries is not a list of texts in quotes"),
        ('name = "x"', "names no binaries"),
        ('name = "x"\nbinary = []', 'selection.toml:2: binary: unknown key "binary"'),
        ('binaries = ["a"]\ntimeout = 60', "timeout is not a text in quotes"),
        ('binaries = ["a"]\nrepetitions = true', "repetitions is not a whole number"),
        ('binaries = ["a"]\n[truth]\nthreshold = "1%"', "threshold is not a number without quotes"),
        ('binaries = ["a"]\n[benchmark]\nname = "x"', "Write [[benchmark]] alone in a line"),
        ('binaries = ["a"]\n[[truth]]\nrule = "x"', "Write [truth] alone in a line"),
        ('binaries = ["a"]\nbuild = "make"', "selection.toml:2: build: build is not [[build]]"),
        ('binaries = ["a"]\n[build]\ncommand = "make"', "selection.toml:2: build: build is not [[build]]"),
        ('binaries = ["a"]\n[[benchmarks]]\nname = "x"', "selection.toml:2: benchmarks: unknown key"),
        (
            'binaries = ["a"]\n[[build]]\nuntil = "x"',
            "selection.toml:2: [build] command: the table has no command",
        ),
        (
            'binaries = ["a"]\n[[benchmark]]\nnmae = "x"\ncommand = "y"',
            "selection.toml:3: [benchmark] nmae: unknown",
        ),
        ('binaries = ["/usr/bin/jq"]', "not a path inside a checkout"),
        ('binaries = ["a"]\nrepetitions = 3', "3 repetitions are too few"),
        ('binaries = ["a"]\ntimeout = "soon"', "timeout"),
        ('binaries = ["a"]\n[truth]\nrule = "guess"', "is not a rule"),
        ('binaries = ["a"]\n[[benchmark]]\nname = "x"\ncommand = " "', "has no command"),
        ('binaries = ["a"]\n' + 2 * '[[benchmark]]\nname = "x"\ncommand = "y"\n', "used twice"),
    ],
)
def test_a_mistake_is_named(text, told):
    with pytest.raises(InputError) as caught:
        parse_settings(text)
    assert told in str(caught.value)


def test_all_mistakes_are_named_at_once_in_the_order_of_their_lines():
    text = 'binaries = ["a"]\ntimeout = 5\n[[benchmark]]\nname = "x"\ncommand = "y"\n'
    text += '[[benchmark]]\nname = 3\ncmd = "z"\n'
    with pytest.raises(InputError) as caught:
        parse_settings(text)
    told = str(caught.value)
    places = [
        told.index(part) for part in ("selection.toml:2:", "selection.toml:6:", "selection.toml:7:", ":8:")
    ]
    assert places == sorted(places)


def test_binaries_may_be_named_by_builds_alone():
    settings = parse_settings('[[build]]\ncommand = "make"\nbinaries = ["jq"]\n')
    assert settings.list_binaries(settings.build[0]) == ("jq",)
