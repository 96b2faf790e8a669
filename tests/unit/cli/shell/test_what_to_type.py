"""Commands that cannot run say what to type."""

from __future__ import annotations

import pytest

from datamill.cli.main import main


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said of a command that must end with status 2."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("verb", ["anova", "quantiles", "tests", "variability", "variance", "summary"])
def test_a_verb_of_analyze_without_analyze_is_told_the_whole_command(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refuse(capsys, verb, "my table.csv", "--factor", "X")
    assert f"Type: datamill analyze {verb} 'my table.csv' --factor X" in said


def test_every_verb_of_analyze_is_known_to_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    from datamill.cli.analyze import analyze

    for verb in analyze.list_commands(None):  # type: ignore[arg-type]
        assert f"datamill analyze {verb}" in refuse(capsys, verb)


def test_a_misspelt_verb_is_no_verb_of_analyze(capsys: pytest.CaptureFixture[str]) -> None:
    assert 'Did you mean "analyze"?' in refuse(capsys, "analyse")


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        (("analyze", "tests", "--factor", "X"), "datamill analyze tests table.csv"),
        (("analyze", "variance"), "datamill analyze variance table.csv"),
        (("export", "--to", "csv"), "datamill export table.csv"),
        (("compare",), "datamill compare old.csv new.csv"),
        (("import",), "datamill import results.json"),
    ],
)
def test_data_that_are_missing_are_asked_for_with_an_example(
    arguments: tuple[str, ...], example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"Such as: {example}" in refuse(capsys, *arguments)
