"""What people mistype in an experiment file is named for what it is."""

import pytest

from datamill.experiment.errors import InputError
from datamill.experiment.parse import parse_experiment
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
