"""Before which trials an experiment file lets workers wait for a quiet machine."""

import re

import pytest

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import QuietChoice
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.quiet import QuietRule

TEXT = """
[experiment]
name = "quiet"
{}

[[package]]
name = "a"
command = "true"

[responses.time]
formula = "wall_time_s"
unit = "s"
direction = "lower"
"""


def parse_quiet(line: str) -> QuietChoice:
    return parse_experiment(TEXT.format(line), name="e.toml").quiet


def test_trials_after_a_reboot_wait_unless_the_file_says_otherwise() -> None:
    assert parse_quiet("") == QuietChoice("after_reboot")
    assert parse_quiet('quiet = "never"').when == "never"
    assert parse_quiet('quiet = "always"') == QuietChoice("always")


def test_a_rule_counts_for_every_trial_and_keeps_what_it_does_not_name() -> None:
    given = parse_quiet('quiet = {limit = "2 min", window = 5, processors = 1, pressure = "20%", disk = 0.5}')
    assert given == QuietChoice("always", 5.0, 120.0, 1.0, 0.2, 0.5)
    assert parse_quiet('quiet = {when = "after_reboot", limit = 90}') == QuietChoice(
        "after_reboot", limit_s=90.0
    )


def test_the_rule_of_the_file_is_that_of_the_worker() -> None:
    choice, rule = QuietChoice(), QuietRule()
    for field in QuietRule.__struct_fields__:
        assert getattr(choice, field) == getattr(rule, field), field


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('quiet = "sometimes"', 'unknown quiet "sometimes"'),
        ("quiet = 3", "quiet must be a word or a table, not 3"),
        ("quiet = {limits = 3}", 'unknown key "limits"'),
        ("quiet = {processors = true}", "processors must be a number, not true"),
        ("quiet = {limit = 5000}", "limit must be from 0.1 to 3\u202f600 s, not 5\u202f000"),
        ("quiet = {window = 10, limit = 5}", "no window of 10 s fits into a limit of 5 s"),
        ('quiet = {when = "now"}', 'unknown quiet "now"'),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(line: str, told: str) -> None:
    with pytest.raises(InputError, match=re.escape(told)) as refused:
        parse_quiet(line)
    assert str(refused.value).startswith("e.toml:4: [experiment] quiet")
