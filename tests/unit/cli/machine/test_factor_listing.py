"""What the commands say of factors and of experiments that are started from packages."""

from datamill.cli.experiment.new_from import write_experiment
from datamill.cli.machine.factors import list_patterns
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.file.parse import parse_experiment
from datamill.packing.shipped_packages import find_shipped_package
from datamill.protocol.offers import FactorOffer, MissingLevel


def test_a_host_that_cannot_set_a_frequency_is_not_said_to_have_any_number_of_them() -> None:
    missing = tuple(MissingLevel(level, "no cpufreq") for level in ("min", "max"))
    without = FactorOffer("cpu_frequency", "host", ("default",), missing)
    assert list_patterns(FACTORS["cpu_frequency"], without) == []
    complete = FactorOffer("cpu_frequency", "host", ("default", "min", "max"))
    assert list_patterns(FACTORS["cpu_frequency"], complete) == ["from 1000 to 100000000 kHz"]


def test_a_factor_whose_one_level_is_its_default_keeps_its_numbers() -> None:
    assert list_patterns(FACTORS["warmups"], FactorOffer("warmups", "world", ("0",))) == ["from 0 to 1000"]


def test_an_experiment_of_several_packages_asks_how_they_compare() -> None:
    packages = [find_shipped_package(name) for name in ("fft", "fft-alloc")]
    text = write_experiment("two", packages, [])
    assert parse_experiment(text, name="experiment.toml").question == "How do fft and fft-alloc compare?"
