"""What the tidy table says of the machines."""

from __future__ import annotations

import pytest

from datamill.protocol.trial import HostFacts
from datamill.results.trials.hardware import HARDWARE_COLUMNS, list_hardware, read_clock

HOST = HostFacts("x86_64", "6.1.0", "Core i7-2600 CPU @ 3.40GHz", 8, 16_500_000_000, "boot")


@pytest.mark.parametrize(
    ("model", "clock"),
    [
        ("Core i7-2600 CPU @ 3.40GHz", "3.4 GHz"),
        ("Atom @ 1600MHz", "1.6 GHz"),
        ("Cortex-A8", None),
        ("", None),
    ],
)
def test_a_clock_is_read_from_the_processors_name(model: str, clock: str | None) -> None:
    assert read_clock(model) == clock


def test_a_record_alone_tells_of_its_machine() -> None:
    levels = list_hardware(HOST)
    assert tuple(levels) == HARDWARE_COLUMNS
    assert levels["arch"] == "x86_64"
    assert levels["clock"] == "3.4 GHz"
    assert levels["cores"] == "8"
    assert levels["memory"] == "16 GiB"
    assert levels["distribution"] is None


def test_a_fleet_knows_more_but_the_kernel_is_that_of_the_trial() -> None:
    told = {"kernel": "5.10", "distribution": "debian 12", "compiler": "gcc 12.2", "clock": "3.9 GHz"}
    levels = list_hardware(HOST, {**told, "cache": "unknown"})
    assert levels["kernel"] == "6.1.0"
    assert (levels["distribution"], levels["compiler"], levels["clock"]) == (
        "debian 12",
        "gcc 12.2",
        "3.9 GHz",
    )
    assert levels["cache"] is None
