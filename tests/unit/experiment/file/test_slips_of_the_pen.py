"""What people mistype is named for what it is, and what they may type is told whole."""

import pytest
from click.testing import CliRunner

from datamill.cli.machine.worker import worker
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.units import check_unit


def test_a_missing_quotation_mark_is_called_so() -> None:
    with pytest.raises(InputError, match="a text has no quotation mark at its end") as caught:
        parse_experiment('[experiment]\nname = "a\nseed = 1\n', name="e.toml")
    assert caught.value.where == "e.toml:2"


@pytest.mark.parametrize(("given", "meant"), [("MBps", "MB/s"), ("Mbps", "Mbit/s"), ("KiBps", "KiB/s")])
def test_a_rate_without_its_stroke_is_understood(given: str, meant: str) -> None:
    with pytest.raises(InputError) as caught:
        check_unit(given, where="unit")
    assert caught.value.remedy == f'Write "{meant}".'


def test_the_help_of_worker_says_whole_sentences_on_a_narrow_terminal() -> None:
    said = CliRunner().invoke(worker, ["--help"], terminal_width=80).output
    commands = said.partition("Commands:")[2].strip().splitlines()
    assert len(commands) == len(worker.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)
