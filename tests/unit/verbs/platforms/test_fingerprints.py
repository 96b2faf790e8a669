import json
from pathlib import Path

import numpy as np
import pytest

from datamill import InputError
from datamill.platforms.fingerprint.fingerprint import join_scores, take_fingerprint
from datamill.platforms.scores.score_matrix import ApplicationTimes, ScoreMatrix
from datamill.verbs.platforms.fingerprint_file import read_fingerprint, write_fingerprint
from datamill.verbs.platforms.platform_inputs import read_platform_data, read_prices, take_machines

NOTHING = np.full((3, 3), np.nan)


def make_matrix(machines: tuple[str, ...] = ("a", "b", "c"), scale: float = 1.0) -> ScoreMatrix:
    seconds = scale * np.array([[1.0, 2.0, np.nan], [3.0, 4.0, 5.0], [1 / 3, 6.0, 7.0]])
    facts = {"cores": np.array([1.0, 2.0, 4.0])}
    return ScoreMatrix(machines, ("x", "y", "z"), seconds, NOTHING, facts=facts, families=("P", "P", "Q"))


TIMES = ApplicationTimes("web", ("a", "c"), np.array([10.0, 1 / 7]), np.array([0.1, np.nan]))


def test_a_fingerprint_is_the_same_after_it_was_kept(tmp_path: Path) -> None:
    kept = take_fingerprint(make_matrix(), TIMES, "ridge")
    write_fingerprint(kept, tmp_path / "web.json")
    found = read_fingerprint(tmp_path / "web.json")
    assert found.digest == kept.digest
    assert found.strategy == "ridge"
    assert found.application.seconds.tolist() == [10.0, 1 / 7]
    assert found.suite.machines == ("a", "c")
    np.testing.assert_array_equal(found.suite.seconds, make_matrix().seconds[[0, 2]])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"web"', '"wib"', "was changed after"),
        ('"fingerprint": 1', '"fingerprint": 2', "has format 2"),
        ('"strategy"', '"strategies"', "is not a fingerprint"),
        ("{", "", "is not a fingerprint"),
    ],
)
def test_a_file_that_is_another_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "web.json"
    write_fingerprint(take_fingerprint(make_matrix(), TIMES), file)
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_fingerprint(file)


def test_a_number_that_was_changed_by_hand_is_found(tmp_path: Path) -> None:
    file = tmp_path / "web.json"
    write_fingerprint(take_fingerprint(make_matrix(), TIMES), file)
    content = json.loads(file.read_text())
    content["suite"]["seconds"][1][1] += 1e-9
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match="digest"):
        read_fingerprint(file)


def test_scores_of_new_machines_are_joined_with_the_fingerprints() -> None:
    kept = take_fingerprint(make_matrix(), TIMES)
    joined = join_scores(kept, make_matrix(("d", "e", "f")), "scores")
    assert joined.matrix.machines == ("a", "c", "d", "e", "f")
    assert joined.matrix.facts["cores"].tolist()[2:] == [1, 2, 4]
    assert np.isnan(joined.matrix.facts["cores"][:2]).all()
    assert joined.matrix.families == ("", "", "P", "P", "Q")
    assert joined.notes == ()


def test_scores_that_changed_since_are_said_and_not_used() -> None:
    kept = take_fingerprint(make_matrix(), TIMES)
    joined = join_scores(kept, make_matrix(scale=2.0), "scores")
    assert joined.matrix.machines == ("a", "c", "b")
    assert joined.matrix.seconds[0, 0] == 1.0
    assert joined.notes == (
        "the scores of a, c are others than when the fingerprint was taken: the fingerprint's are used",
    )


def test_benchmarks_that_are_missing_now_are_said() -> None:
    kept = take_fingerprint(make_matrix(), TIMES)
    joined = join_scores(kept, make_matrix().keep_benchmarks(["y", "x"]), "scores")
    assert joined.matrix.benchmarks == ("x", "y")
    assert joined.notes == ("the scores lack z of the fingerprint's benchmarks",)
    with pytest.raises(InputError, match="1 benchmark of the fingerprint's 3"):
        join_scores(kept, make_matrix().keep_benchmarks(["y"]), "scores")


def test_a_fingerprint_takes_the_place_of_times(tmp_path: Path) -> None:
    file = tmp_path / "web.json"
    write_fingerprint(take_fingerprint(make_matrix(), TIMES, "ridge"), file)
    data = read_platform_data(make_matrix(("d", "e", "f")), None, fingerprint=file)
    assert data.application.name == "web"
    assert data.strategy == "ridge"
    assert data.matrix.machines == ("a", "c", "d", "e", "f")


def test_times_and_a_fingerprint_are_not_given_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="application= or fingerprint=, not both"):
        read_platform_data(make_matrix(), TIMES, fingerprint=tmp_path / "web.json")
    with pytest.raises(InputError, match="times are missing"):
        read_platform_data(make_matrix(), None)


def test_names_of_machines_may_be_joined_by_commas_or_hold_them() -> None:
    known = ("a", "b", "c, large")
    assert take_machines("targets", ["a,b", "c, large", "a"], known) == known
    with pytest.raises(InputError, match='targets= names "d"'):
        take_machines("targets", "a,d", known)


def test_prices_are_read_from_tables_and_mappings(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text("machine,price\na,10\nb,\nq,3\n")
    assert read_prices(file, ["a", "b"]) == {"a": 10.0}
    assert read_prices({"a": 10, "b": 5}, ["a", "b"]) == {"a": 10.0, "b": 5.0}
    assert read_prices(None, ["a"]) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("machine,price\na,0\n", r"prices\.csv:2: the price of a is 0"),
        ("machine,price\na,1\na,2\n", r"prices\.csv:3: a has two prices"),
        ("machine,cost\na,1\n", "no column price"),
        ("machine,price\nq,1\n", "none of these is a candidate"),
        ("machine,price\na,cheap\n", 'price is "cheap"'),
    ],
)
def test_prices_that_cannot_be_used_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_prices(file, ["a"])
