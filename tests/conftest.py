"""Which tests may run beside each other, which belong to a stage, and the table of attacks."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from acceptance.usage.unexecuted import tell_unexecuted
from faces.documents import list_commands
from reference.r_answers import asks_r
from running.attack_table import format_attacks, is_attack
from running.machine_turn import having_the_machine
from running.nightly import NIGHTLY
from stages import STAGES, find_at_night, find_later, list_unused, tell_left
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

#: With the options `--live-r` and `--freeze-r`.
pytest_plugins = ["reference.r_answers"]

# What is collected stays: to look at it for garbage, again and again, takes a tenth of the processor's time.
gc.disable()

# Tests play many machines on this one, each with a state folder, and must not wait for one another.
os.environ.setdefault("DATAMILL_HOST_LOCK", "state-folder")

# A change is proved by the same examples wherever it is, however busy; others are looked for at night.
hypothesis.settings.register_profile(
    "datamill",
    deadline=None,
    derandomize=not NIGHTLY,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("datamill")

#: Beginnings of tests' names by group. Tests of a group run in one process, one after the other: they set the
#: machine's settings, hold its lock, or share what is dear to start. The longest first, so that none is left
#: for the end.
GROUPS = {
    "host": (
        "tests/acceptance/fleet/test_fleet_experiments.py",
        "tests/acceptance/experiments/test_hidden_factors.py",
        "tests/acceptance/experiments/test_interrupted_experiments.py",
        "tests/acceptance/experiments/test_nothing_stays.py",
        "tests/acceptance/experiments/test_quiet_machines.py",
        "tests/integration/fleet/test_fleet_firewall.py",
        "tests/integration/hostile/packages/",
    ),
    "guests": ("tests/integration/guests/", "tests/integration/fleet/"),
    "hostile": ("tests/integration/hostile/",),
    "service": ("tests/integration/service/",),
    "browser": ("tests/browser/",),
    "simulation": ("tests/simulation/",),
}

#: The test that executes commands of README and docs, and leaves some out.
DOCUMENTED = "test_documented_commands.py::test_each_command_is_executed"

#: How many tests this stage left to the other, by reason.
_LEFT: pytest.StashKey[Counter[str]] = pytest.StashKey()


def find_group(test: str) -> str:
    """Return the group of a test by the longest beginning of its name, else its file."""
    stated = [
        (len(beginning), group)
        for group, beginnings in GROUPS.items()
        for beginning in beginnings
        if test.startswith(beginning)
    ]
    return max(stated)[1] if stated else test.partition("::")[0]


class GroupScheduling(LoadScopeScheduling):
    """Gives a process one group after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return find_group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Tell who decides which process runs a test."""
    return GroupScheduling(config, log)


@pytest.fixture
def whole_machine() -> Iterator[None]:
    """Keep others from measuring while a test sets the machine's settings."""
    with having_the_machine():
        yield


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the stage, and put the groups in their order."""
    _keep_stage(config, items)
    stated = list(GROUPS)
    groups = {item: find_group(item.nodeid) for item in items}
    items.sort(key=lambda item: stated.index(groups[item]) if groups[item] in stated else len(stated))


def pytest_collection_finish() -> None:
    """Leave what was collected out of all later looks for garbage."""
    gc.freeze()
    gc.enable()


def _keep_stage(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("file_or_dir") and (unused := list_unused([item.nodeid for item in items])):
        raise pytest.UsageError(f"tests/stages.py names tests that there are not: {', '.join(unused)}")
    stage, live = config.getoption("--stage"), config.getoption("--live-r")
    why = {item: _find_why_not(item, stage, asks_live=live and asks_r(item.path.stem)) for item in items}
    if not NIGHTLY and not config.getoption("file_or_dir"):
        why |= {item: night for item in items if (night := find_at_night(item.nodeid))}
    left = [item for item in items if why[item]]
    config.stash[_LEFT] = Counter(why[item] for item in left)
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if not why[item]]


def _find_why_not(item: pytest.Item, stage: str, *, asks_live: bool) -> str:
    """Why a test is not of this stage, empty where it is."""
    # What R itself answers belongs to the check, although its frozen answers prove a change.
    if stage == "all" or asks_live:
        return ""
    later = find_later(item.nodeid)
    return later if stage == "change" else "" if later else "all that proves a change"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that prints what this one left to the other stage."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left"] = dict(session.config.stash.get(_LEFT, {}))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a process left; each has collected the same."""
    node.config.stash[_LEFT] = Counter(getattr(node, "workeroutput", {}).get("left", {}))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `make test`, `make check` and `make hostile` ask for."""
    parser.addoption("--attacks", action="store_true", help="print the table of attacks at the end")
    parser.addoption("--stage", choices=STAGES, default="all", help="what tests/stages.py says")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out, here and of the pages' commands; print the attacks, where that is asked for."""
    if left := config.stash.get(_LEFT, Counter()):
        terminalreporter.section("not in this stage")
        terminalreporter.write_line(tell_left(left, config.getoption("--stage")))
    if any(DOCUMENTED in report.nodeid for report in terminalreporter.stats.get("passed", [])):
        _tell_unexecuted(terminalreporter)
    if config.getoption("--attacks"):
        _tell_attacks(terminalreporter)


def _tell_unexecuted(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("commands of README and docs that are not executed")
    terminalreporter.write_line("\n".join(tell_unexecuted(list_commands())))


def _tell_attacks(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for outcome in ("passed", "failed", "error", "skipped")
        for report in terminalreporter.stats.get(outcome, [])
        if is_attack(report.nodeid)
    ]
    terminalreporter.section("attacks")
    terminalreporter.write(format_attacks(reports))
