"""What a command loads before it does anything: people wait for it, each time."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What people type most, by the module that their command loads.
COMMANDS = {
    "report": "datamill.cli.experiment.reporting",
    "compare": "datamill.verbs.compare",
    "tests": "datamill.verbs.tests",
}
#: Libraries that take longer to load than most answers take to find.
SLOW = ("scipy.stats", "pandas", "statsmodels", "matplotlib")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_no_slow_library(command: str) -> None:
    code = f"import sys, {COMMANDS[command]}; print([name for name in {SLOW} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
