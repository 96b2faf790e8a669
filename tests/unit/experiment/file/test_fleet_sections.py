"""What an experiment file says about machines, and what is said of what it may not say."""

from __future__ import annotations

import pytest

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Constraints, FleetChoice, HardwareCoverage
from datamill.experiment.file.parse import parse_experiment

HEAD = """[experiment]
name = "fleet"
[[package]]
name = "a"
path = "a"
"""
#: The line of the first key of a section that stands behind the head.
LINE = 7


def parse(text: str):
    return parse_experiment(HEAD + text, name="experiment.toml")


def test_constraints_say_which_machines_may_take_part() -> None:
    found = parse(
        """[constraints]
arch = "x86_64"
min_memory = "2GiB"
min_cores = 4
min_clock = "2.4 GHz"
cpu_model = ["*Xeon*", "EPYC ????"]
distribution = ["debian", "ubuntu 2*"]
counters = true
workers = ["lab-1", "lab-2"]
"""
    ).constraints
    assert found == Constraints(
        arch=("x86_64",),
        min_memory_bytes=2 << 30,
        min_cores=4,
        min_clock_khz=2_400_000,
        cpu_model=("*Xeon*", "EPYC ????"),
        distribution=("debian", "ubuntu 2*"),
        counters=True,
        workers=("lab-1", "lab-2"),
    )


def test_coverage_is_a_share_or_a_number_of_levels() -> None:
    found = parse('[coverage]\narch = "100%"\ncpu_model = 2\nkernel = "0%"\nmemory = "14.1%"\n').coverage
    assert found == (
        HardwareCoverage("arch", share=1.0),
        HardwareCoverage("cpu_model", count=2),
        HardwareCoverage("kernel", share=0.0),
        HardwareCoverage("memory", share=0.141),
    )
    assert found[1].where == "experiment.toml:8: [coverage] cpu_model"


def test_a_fleet_reboots_before_each_trial_where_it_may_unless_the_file_says_otherwise() -> None:
    assert parse("").fleet == FleetChoice(reboot="auto", debug="first", redundancy=0)
    found = parse(
        '[fleet]\nreboot = "block"\nblock_trials = 5\nredundancy = 2\ndebug = "never"\n'
        'build_on = "strongest"\npublic = true\nmost_attempts = 3\nprofile = true\n'
    ).fleet
    assert found == FleetChoice("block", 5, 2, "never", "strongest", True, 3, profile=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[constraints]\nmin_clock = "2"\n', "does not say its unit"),
        ('[constraints]\nmin_clock = "2 gigahertz"\n', 'unknown unit of clock "gigahertz"'),
        ("[constraints]\nmin_clock = 2000\n", "does not say its unit"),
        ("[constraints]\ncpu_model = 5\n", 'cpu_model = ["*Xeon*"'),
        ('[constraints]\nworkers = ["", "b"]\n', "must be a text or a list of texts"),
        ('[constraints]\ncounters = "yes"\n', "counters must be true or false"),
        ('[constraints]\ndistro = "debian"\n', 'Did you mean "distribution"?'),
        ('[coverage]\narchs = "100%"\n', 'Did you mean "arch"?'),
        ('[coverage]\noptimization = "100%"\n', 'Write optimization = "75%" under [factors].'),
        ("[coverage]\narch = 0\n", 'Write "0%" for one level at random'),
        ("[coverage]\narch = true\n", "true is not a coverage"),
        ("[coverage]\narch = 0.5\n", "0.5 is not a coverage"),
        ('[coverage]\narch = "101%"\n', "cannot exceed 100%"),
        ('[coverage]\narch = "all"\n', 'arch = "75%"'),
        ('[fleet]\nreboot = "trials"\n', 'Did you mean "trial"?'),
        ("[fleet]\nblock_trials = 0\n", "from 1 to 1000000"),
        ("[fleet]\nredundancy = -1\n", "from 0 to 1000, not -1"),
        ("[fleet]\nmost_attempts = 0\n", "from 1 to 100"),
        ("[fleet]\nrebot = 1\n", 'Did you mean "reboot"?'),
        ('[fleet]\npublic = "no"\n', "public must be true or false"),
        ('[fleet]\nprofile = "yes"\n', "profile must be true or false"),
        ("[fleets]\nreboot = 1\n", 'Did you mean "fleet"?'),
    ],
)
def test_a_section_about_machines_that_cannot_be_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(text)
    assert words in str(refused.value)
    expected = LINE - 1 if "[fleets]" in text else LINE
    assert f"experiment.toml:{expected}" in refused.value.where


def test_machine_is_no_name_for_a_response() -> None:
    with pytest.raises(InputError, match="Give the response another name"):
        parse('[responses.machine]\nunit = "s"\nformula = "wall_time_s"\ndirection = "lower"\n')
