"""`datamill explain`: any word of an answer, as people type it."""

import pytest
from click.testing import CliRunner, Result

from datamill.cli.explain import explain
from datamill.report.words.glossary import read_words


def ask(*words: str) -> Result:
    return CliRunner().invoke(explain, words)


@pytest.mark.parametrize("typed", ["half-width", "Half-Width", "half-widths"])
def test_a_word_is_explained_whatever_its_case_and_number(typed: str) -> None:
    assert (
        ask(typed).output
        == "half-width\n  Half of the length of a confidence interval: the number behind ±.\n"
    )


def test_words_of_several_parts_need_no_quotes_and_parts_are_found() -> None:
    assert ask("false", "alarm").output.startswith("false alarm\n")
    assert ask("resolution").output.startswith("aliased, resolution\n")
    assert "interleaved order\n" in ask("interleaved").output


def test_every_word_is_listed_and_can_be_asked_for() -> None:
    listed = ask().output.replace("\n", " ")
    for word in read_words():
        for name in word.names:
            assert name in listed
            assert word.title in ask(*name.split()).output


def test_an_unknown_word_is_refused_with_the_nearest_one() -> None:
    result = ask("half-with")
    assert (result.exit_code, 'Did you mean "half-width"?' in result.output) == (2, True)
