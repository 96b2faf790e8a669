"""`datamill explain`: words that answers use, however people type them."""

import pytest
from click.testing import CliRunner

from datamill.cli.explain import explain


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("typical", "typical executions"),
        ("typical execution", "typical executions"),
        ("n", "n"),
        ("finds", "finds"),
        ("turns", "in turns"),
        ("environment", "size of the environment"),
        ("autocorrelation", "autocorrelation"),
        ("alarm", "false alarm"),
        ("half width", "half-width"),
        ("Half-Widths", "half-width"),
        ("cannot tell", "unchanged, changed, cannot tell yet"),
    ],
)
def test_words_of_answers_are_explained_however_they_are_typed(asked: str, title: str) -> None:
    told = CliRunner().invoke(explain, asked.split())
    assert told.exit_code == 0, told.output
    assert title in told.output.splitlines()


def test_a_word_that_is_not_there_is_refused_without_a_list_of_all_others() -> None:
    unlike = CliRunner().invoke(explain, ["qwertyuiop"])
    assert unlike.exit_code == 2
    assert "Type datamill explain for a list of all." in unlike.output
    assert len(unlike.output) < 300
    assert 'Did you mean "half-width"?' in CliRunner().invoke(explain, ["half-with"]).output


def test_no_word_is_listed_twice() -> None:
    listed = " ".join(CliRunner().invoke(explain, []).output.split()).split(", ")
    assert len(listed) == len(set(listed))
