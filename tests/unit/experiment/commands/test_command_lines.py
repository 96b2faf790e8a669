"""Commands as people type them."""

import pytest

from datamill.experiment.command_lines import list_steps, list_words, read_commands, split_values
from datamill.experiment.errors import InputError


def test_a_plain_command_has_no_shell_around_it() -> None:
    (command,) = read_commands(["gzip -9 -c 'a file'"])
    assert command.words == ("gzip", "-9", "-c", "a file")
    assert not command.in_shell


def test_one_command_that_needs_a_shell_gives_one_to_all() -> None:
    commands = read_commands(["sort f | uniq", "sort -u f"])
    assert [command.words[:2] for command in commands] == [("/bin/sh", "-c")] * 2
    assert commands[1].words[2] == "sort -u f"


def test_a_shell_can_be_refused_and_asked_for() -> None:
    assert list_words("echo *", shell=False) == ("echo", "*")
    assert list_words("echo a", shell=True) == ("/bin/sh", "-c", "echo a")


def test_names_are_short_unique_and_fit_an_experiment() -> None:
    commands = read_commands(["./run --fast {x}", "./run --fast [x]", "é"], shell=True)
    assert [command.name for command in commands] == ["run-fast-x", "run-fast-x-2", "command"]
    assert commands[0].label == "./run --fast {x}"


def test_a_scan_makes_a_command_of_each_value_in_commands_and_names() -> None:
    commands = read_commands(
        ["gzip -{level} f", "cat f"], labels=["level {level}", "none"], parameters={"level": ["1", "9"]}
    )
    assert [command.text for command in commands] == ["gzip -1 f", "gzip -9 f", "cat f"]
    assert [command.label for command in commands] == ["level 1", "level 9", "none"]
    assert commands[1].parameters == {"level": "9"}


def test_a_parameter_may_stand_in_what_prepares_alone_and_is_then_named() -> None:
    commands = read_commands(
        ["./prog", "./other"], parameters={"rev": ["a", "b"]}, beside=(("git checkout {rev}", "true"), ())
    )
    assert [command.label for command in commands] == ["./prog (rev = a)", "./prog (rev = b)", "./other"]
    assert [command.parameters for command in commands] == [{"rev": "a"}, {"rev": "b"}, {}]
    assert [command.place for command in commands] == [0, 0, 1]


def test_fewer_names_than_commands_are_those_of_the_first() -> None:
    assert [command.label for command in read_commands(["a", "b"], labels=["one"])] == ["one", "b"]


@pytest.mark.parametrize(
    ("bounds", "values"),
    [
        (("1", "3", "1"), ("1", "2", "3")),
        (("0", "1", "0.25"), ("0.00", "0.25", "0.50", "0.75", "1.00")),
        (("8", "2", "-3"), ("8", "5", "2")),
    ],
)
def test_steps_lead_from_one_bound_to_the_other(
    bounds: tuple[str, str, str], values: tuple[str, ...]
) -> None:
    assert list_steps(*bounds) == values


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        ([" "], {}, "empty"),
        (["echo 'a"], {}, "quotes of the command do not match"),
        (["echo a"], {"parameters": {"x": ["1"]}}, 'no command has the parameter "x"'),
        (["a", "b"], {"labels": ["1", "2", "3"]}, "3 names for 2 commands"),
        (["a {x}"], {"parameters": {"x": [str(number) for number in range(101)]}}, "at most 100"),
    ],
)
def test_what_cannot_be_timed_is_refused(texts: list[str], options: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_commands(texts, **options)


@pytest.mark.parametrize(
    "bounds",
    [("1", "2", "0"), ("1", "2", "-1"), ("a", "2", "1"), ("1", "1000", "1"), ("0.1", "0.5", None)],
)
def test_steps_that_lead_nowhere_are_refused(bounds: tuple[str, str, str | None]) -> None:
    with pytest.raises(InputError):
        list_steps(*bounds)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a,b", ("a", "b")),
        (r"a\,b,c", ("a,b", "c")),
        (r"a\\,b", ("a\\", "b")),
        (r"\d,x\ ", (r"\d", "x\\ ")),
        ("a,,", ("a", "", "")),
        ("end\\", ("end\\",)),
    ],
)
def test_commas_part_values_unless_a_backslash_stands_before_them(text: str, values: tuple[str, ...]) -> None:
    assert split_values(text) == values


def test_a_shell_of_ones_own_is_around_all_commands_and_in_what_repeats_them() -> None:
    commands = read_commands(["echo 'a b'", "true"], program=("bash", "--norc"))
    assert commands[0].words == ("bash", "--norc", "-c", "echo 'a b'")
    assert [command.label for command in commands] == ["echo 'a b'", "true"]
    assert list_words(commands[0].text, shell=False) == commands[0].words
    with pytest.raises(InputError, match="empty"):
        read_commands([" "], program=("bash",))
