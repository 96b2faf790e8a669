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
        ('binaries = "jq"', "Expected `array`, got `str`"),
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
