"""Answers of R that are frozen beside the tests: when they count, when they do not, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from reference.r_answers import FROZEN, Source, digest_question, find_difference

SCRIPT = "cat(mean(scan(file('stdin'))))"
Failed, Skipped = pytest.fail.Exception, pytest.skip.Exception


class FakeR:
    """A program `Rscript` that answers every question with the text in a file."""

    def __init__(self, folder: Path) -> None:
        self.said = folder / "said"
        program = folder / "Rscript"
        program.write_text(f"#!/bin/sh\nread _ < {self.said} || exit 1\nexec cat {self.said}\n")
        program.chmod(0o755)

    def say(self, text: str) -> None:
        self.said.write_text(f"{text}\n")


@pytest.fixture
def fake_r(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeR:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return FakeR(tmp_path / "bin")


@pytest.fixture
def no_r(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")


def ask(folder: Path, text: str = "1 2", *, live: bool = False, freeze: bool = False) -> str:
    return Source(folder, live=live, freeze=freeze).answer(SCRIPT, (), text, ())


def test_a_frozen_answer_needs_no_r(tmp_path: Path, fake_r: FakeR, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_r.say("1.5")
    ask(tmp_path / "frozen", freeze=True)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert ask(tmp_path / "frozen") == "1.5\n"


@pytest.mark.usefixtures("no_r")
def test_a_question_that_nobody_froze_fails_and_says_how_to_freeze_it(tmp_path: Path) -> None:
    with pytest.raises(
        Failed, match=r"`pytest tests/unit/repository/sessions/test_r_answers\.py --freeze-r`"
    ):
        ask(tmp_path)


def test_a_question_is_another_with_another_script_argument_or_number() -> None:
    asked = {
        digest_question(SCRIPT, ("a",), "1.5 2.5"),
        digest_question(SCRIPT.replace("mean", "median"), ("a",), "1.5 2.5"),
        digest_question(SCRIPT, ("b",), "1.5 2.5"),
        digest_question(SCRIPT, ("a",), "1.5 2.5001"),
        digest_question(SCRIPT, ("a",), "1.5 -2.5"),
        digest_question(SCRIPT, ("a", "1.5 2.5"), ""),
    }
    assert len(asked) == 6


def test_a_question_stays_the_same_where_another_processor_rounds_its_numbers_otherwise() -> None:
    exact = digest_question("x <- c(0.1)\ny", (), "a,0.30000000000000004\nb,1e-05")
    assert digest_question("  x <- c(0.1)\n  y", (), "a,0.3\nb,0.00001") == exact


@pytest.mark.parametrize(
    ("frozen", "live"),
    [
        ("term,a,1,2.5", "term,a,1,2.50001"),
        ("term,a,1,2.5", "term,b,1,2.5"),
        ("term,a,1,2.5", "term,a,1,2.5,3"),
        ("0.001", "-0.001"),
        ("1e-9", "2e-9"),
        ("NA", "0"),
        ("1", "Inf"),
    ],
)
def test_answers_that_differ_are_told_apart(frozen: str, live: str) -> None:
    assert find_difference(frozen, live)


def test_answers_are_the_same_whose_last_digits_differ() -> None:
    assert not find_difference("a 0.29999999999999999 -0 1e-17\n", "a 0.3 0 -3e-17")
    assert find_difference("9.77518", "9.77537")
    assert not find_difference("9.77518", "9.77537", tolerance=1e-3)


def test_an_answer_that_r_no_longer_gives_fails_and_names_file_and_command(
    tmp_path: Path, fake_r: FakeR
) -> None:
    fake_r.say("1.5")
    ask(tmp_path / "frozen", freeze=True)
    assert ask(tmp_path / "frozen", live=True) == "1.5\n"
    fake_r.say("1.6")
    with pytest.raises(Failed) as failed:
        ask(tmp_path / "frozen", live=True)
    (file,) = (tmp_path / "frozen").rglob("*.txt")
    assert str(file) in str(failed.value)
    assert "number 1 is 1.5 there and 1.6 from R" in str(failed.value)
    assert "--freeze-r" in str(failed.value)


def test_an_answer_of_r_that_nobody_froze_fails(tmp_path: Path, fake_r: FakeR) -> None:
    fake_r.say("1.5")
    with pytest.raises(Failed, match="there is no frozen answer"):
        ask(tmp_path / "frozen", live=True)


def test_freezing_writes_only_what_changed(tmp_path: Path, fake_r: FakeR) -> None:
    fake_r.say("1.5")
    ask(tmp_path / "frozen", freeze=True)
    (file,) = (tmp_path / "frozen").rglob("*.txt")
    before = file.read_text()
    fake_r.say("1.5000000000000002")
    ask(tmp_path / "frozen", freeze=True)
    assert file.read_text() == before
    fake_r.say("1.6")
    ask(tmp_path / "frozen", freeze=True)
    assert file.read_text().endswith("\n1.6\n")


def test_freezing_removes_what_no_test_of_a_module_asked_for(tmp_path: Path) -> None:
    names = ("whole/asked", "whole/old", "part/unasked", "gone/old")
    asked, old, part, gone = (tmp_path / f"{name}.txt" for name in names)
    for file in (asked, old, part, gone):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    source = Source(tmp_path, freeze=True)
    source.asked.add(asked)
    assert source.remove_unasked({"test_whole"}, {"test_whole", "test_part"}) == [gone, old]
    assert sorted(tmp_path.rglob("*.txt")) == [part, asked]
    assert not gone.parent.exists()


@pytest.mark.usefixtures("no_r")
def test_where_r_is_missing_a_live_question_is_skipped_with_its_reason_and_none_is_frozen(
    tmp_path: Path,
) -> None:
    with pytest.raises(Skipped, match=r"Rscript is not installed \(Debian: r-base-core\)"):
        ask(tmp_path, live=True)
    with pytest.raises(Failed, match="Rscript is not installed"):
        ask(tmp_path, freeze=True)


def test_what_goes_wrong_in_r_fails_the_test(tmp_path: Path, fake_r: FakeR) -> None:
    assert not fake_r.said.exists()
    with pytest.raises(Failed, match="R ended with status 1"):
        ask(tmp_path, live=True)


def test_every_frozen_answer_belongs_to_a_module_of_tests() -> None:
    modules = {file.stem.removeprefix("test_") for file in FROZEN.parents[1].rglob("test_*.py")}
    folders = {folder.name for folder in FROZEN.iterdir()}
    assert folders
    assert folders <= modules
