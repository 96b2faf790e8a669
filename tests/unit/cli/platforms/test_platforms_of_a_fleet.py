"""`datamill platforms` with an experiment of a fleet: what does not go together, and where scores go."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill.cli.platforms.fleet import scores as scores_verb
from datamill.cli.platforms.fleet.scores import NO_SCORES, scores
from datamill.cli.platforms.platforms import platforms
from datamill.experiment.errors import InputError
from datamill.protocol.api.machines import MachineScore, ScoreList
from datamill.verbs.inputs.scores import read_scores

FOUND = ScoreList(
    tuple(
        MachineScore(machine, benchmark, 1, seconds, 7)
        for machine, benchmark, seconds in (
            ("a, b", "x", 1.5),
            ("a, b", "y", 2.0),
            ("c", "x", 1.0),
            ("c", "y", 3.0),
        )
    ),
    ("scores in experiment 3 are left out: it sets aslr",),
)


class FakeClient:
    """A coordinator that has these scores."""

    def __init__(self, found: ScoreList) -> None:
        self._found = found

    def __enter__(self) -> "FakeClient":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, path: str, kind: type) -> ScoreList:
        assert (path, kind) == ("/scores", ScoreList)
        return self._found


def fetch(monkeypatch: pytest.MonkeyPatch, *arguments: str, found: ScoreList = FOUND) -> object:
    monkeypatch.setattr(scores_verb, "connect", lambda _url, _key: FakeClient(found))
    return CliRunner().invoke(scores, arguments)


def test_scores_go_to_a_file_that_the_verbs_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = fetch(monkeypatch, str(tmp_path / "scores.csv"))
    assert "has 4 scores of 2 machines in 2 benchmarks" in result.stdout
    assert result.stderr == "Warning: scores in experiment 3 are left out: it sets aslr.\n"
    matrix = read_scores(tmp_path / "scores.csv")
    assert (matrix.machines, matrix.seconds[0].tolist()) == (("a, b", "c"), [1.5, 2.0])


def test_without_a_file_the_table_is_printed_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = fetch(monkeypatch).stdout.splitlines()
    assert lines[0] == "machine,benchmark,replicate,seconds,experiment_id"
    assert lines[1:3] == ['"a, b",x,1,1.5,7', '"a, b",y,1,2.0,7']
    told = json.loads(fetch(monkeypatch, "--json").stdout)
    assert told["scores"][3] == {
        "machine": "c", "benchmark": "y", "replicate": 1, "seconds": 3.0, "experiment_id": 7,
    }  # fmt: skip


def test_a_fleet_without_scores_is_told_how_to_get_some(monkeypatch: pytest.MonkeyPatch) -> None:
    result = fetch(monkeypatch, found=ScoreList(()))
    assert NO_SCORES in result.stderr


@pytest.mark.parametrize("verb", ["predict", "rank", "fit"])
def test_neither_scores_nor_an_experiment_is_refused_with_an_example(verb: str) -> None:
    result = CliRunner().invoke(platforms, [verb])
    assert result.exit_code == 2
    assert f"platforms {verb} scores.csv --application times.csv" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["predict", "s.csv", "--package", "web"], "--package is of an experiment"),
        (["predict", "--experiment", "7", "--application", "t.csv"], "has the application's times already"),
        (["rank", "--experiment", "7", "--fingerprint", "w.json"], "has the application's times already"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], wrong: str) -> None:
    result = CliRunner().invoke(platforms, arguments)
    assert isinstance(result.exception, InputError)
    assert wrong in result.exception.message
    assert result.exception.remedy
