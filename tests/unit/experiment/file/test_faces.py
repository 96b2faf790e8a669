"""One refusal in the words of Python, of the command line and of the coordinator's form."""

from __future__ import annotations

import pickle
from pathlib import Path

import polars as pl
import pytest

import datamill
from datamill.cli.main import main
from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import (
    argument,
    command,
    speak_command_line,
    speak_python,
    speaking,
    spell,
    tell,
    verb,
)
from datamill.experiment.messages.mistakes import Mistakes
from datamill.service.pages.labels import speak_form, spell_problems

TABLE = pl.DataFrame({"load": ["low", "high"] * 4, "n": range(8), "time": range(10, 18)})


def ask_without_response() -> InputError:
    with pytest.raises(InputError) as refused:
        datamill.anova(TABLE, factors="load")
    return refused.value


def test_python_is_told_of_its_own_argument() -> None:
    assert (
        str(ask_without_response())
        == "table: response= is missing\nName a column of numbers with response=: n or time."
    )
    assert repr(ask_without_response()) == "InputError('response= is missing')"


def test_the_command_line_is_told_of_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "table.csv"
    TABLE.write_csv(file)
    with pytest.raises(SystemExit) as ended:
        main(["analyze", "anova", str(file), "--factors", "load"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"datamill: {file}: --response is missing\nName a column of numbers with --response: n or time.\n"
    )
    assert str(ask_without_response()).startswith("table: response= is missing"), "Python's words are back"


def test_a_form_is_told_of_the_label_of_its_field() -> None:
    shown = spell_problems({"problem": ask_without_response(), "other": 1})
    assert str(shown["problem"]) == (
        'table: "Response" is missing\nName a column of numbers with "Response": n or time.'
    )
    assert shown["other"] == 1


@pytest.mark.parametrize(
    ("marked", "python", "typed", "form"),
    [
        (argument("run_order"), "run_order=", "--run-order", "--run-order"),
        (argument("assume", "nothing"), 'assume="nothing"', "--assume nothing", "--assume nothing"),
        (argument("where", "opt=-O2"), 'where={"opt": "-O2"}', "--where opt=-O2", "--where opt=-O2"),
        (argument("json"), ".json()", "--json", "--json"),
        (argument("resume", verb="run"), "datamill run --resume", "--resume", "datamill run --resume"),
        (
            argument("reboot", "never", verb="submit"),
            "datamill submit --reboot never",
            "--reboot never",
            '"Reboot: never"',
        ),
        (verb("analyze summary"), "datamill.summary", *["datamill analyze summary"] * 2),
        (
            command("run", resume="here", retry_failed=True),
            *["datamill run --resume here --retry-failed"] * 3,
        ),
    ],
)
def test_each_face_spells_what_its_readers_can_give(marked: str, python: str, typed: str, form: str) -> None:
    assert [spell(marked, face) for face in (speak_python, speak_command_line, speak_form)] == [
        python,
        typed,
        form,
    ]


def test_an_error_is_about_an_argument_without_its_sign() -> None:
    error = InputError("'x' is not a time", where=argument("time"))
    assert str(error) == "time: 'x' is not a time"
    assert str(error.told(speak_command_line)) == "--time: 'x' is not a time"


def test_an_error_keeps_its_arguments_between_processes_and_places() -> None:
    error = InputError("bad", remedy=f"Leave {argument('blocks')} out.")
    for same in (pickle.loads(pickle.dumps(error)), error.moved("table.csv")):
        assert same.remedy == "Leave blocks= out."
        assert same.told(speak_command_line).remedy == "Leave --blocks out."
    assert str(error.moved("table.csv", also=" too")) == "table.csv: bad too\nLeave blocks= out."


def test_several_mistakes_are_told_together() -> None:
    mistakes = Mistakes()

    def refuse(name: str) -> None:
        raise InputError(f"{argument(name)} is bad")

    for name in ("unit", "response"):
        mistakes.attempt(lambda name=name: refuse(name), None)
    with pytest.raises(InputError) as refused:
        mistakes.refuse()
    assert str(refused.value) == "unit= is bad\nresponse= is bad"
    assert str(refused.value.told(speak_form)) == '"Unit" is bad\n"Response" is bad'


def test_what_others_wrote_is_no_mark() -> None:
    assert tell("a\U000f0000b") == "a\U000f0000b"
    assert tell("\U000f0000name\U000f0002") == "name="


def test_a_process_speaks_python_again_when_its_command_has_failed() -> None:
    try:
        with speaking(speak_command_line):
            assert tell(argument("unit")) == "--unit"
            raise InputError("stop")
    except InputError:
        assert tell(argument("unit")) == "unit="


def test_notes_of_a_result_are_spelled_for_whoever_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = pl.DataFrame(
        {
            "version": [f"v{number}" for number in range(2) for _ in range(8)],
            "build": [build for _ in range(2) for build in range(4) for _ in range(2)],
            "execution": [0, 1] * 8,
            "value": [1.0 + index % 5 / 7 for index in range(16)],
        }
    )
    file = tmp_path / "versions.csv"
    versions.write_csv(file)
    assert "baseline= names another" in datamill.compare(versions).json()
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(file), "--json"])
    assert ended.value.code == 0
    assert "--baseline names another" in capsys.readouterr().out
