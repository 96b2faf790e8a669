"""Hidden factors: listed, refused where they are not, fixed and drawn, brought along, and put back."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from acceptance.conftest import Command, assert_refused
from running.tries import try_five_times

from datamill.conduct import check_experiment, conduct_experiment
from datamill.execution.host_lock import lock_host
from datamill.execution.worker import find_worker, read_offers
from datamill.experiment.factors.catalogue import FACTORS
from datamill.protocol.offers import FactorOffer
from datamill.results.trials.log import read_log

HEAD = """
[experiment]
name = "hidden"
replicates = 3
[[package]]
name = "a"
path = "a"
"""
RATE = Path("/proc/sys/kernel/perf_event_max_sample_rate")
SETTABLE = os.geteuid() == 0 and os.access(RATE, os.W_OK)
needs_host = pytest.mark.skipif(
    not SETTABLE, reason="needs root and a writable kernel.perf_event_max_sample_rate"
)


@pytest.fixture(scope="module")
def offers() -> dict[str, FactorOffer]:
    return read_offers(find_worker())


def test_the_catalogue_knows_the_workers_factors_and_no_others(offers: dict[str, FactorOffer]) -> None:
    assert set(offers) == set(FACTORS)
    for name, offer in offers.items():
        assert offer.stage == FACTORS[name].stage, name


def test_every_level_of_the_catalogue_is_offered_here_or_missing_with_a_reason(
    offers: dict[str, FactorOffer],
) -> None:
    for name, offer in offers.items():
        missing = {item.level: item.reason for item in offer.missing}
        for level in FACTORS[name].levels:
            assert level in offer.levels or missing.get(level) or offer.reason, (name, level)
        for level in (*offer.levels, *missing):
            assert FACTORS[name].read_level(level) == level, (name, level)


def test_factors_are_listed_with_levels_cost_findings_and_what_is_missing(datamill: Command) -> None:
    text = datamill("factors", "--all").stdout
    for name in FACTORS:
        assert f"\n{name}" in text, name
    assert "mean effect 0.23% of the mean" in text
    one = datamill("factors", "--name", "reboot").stdout
    assert "before_trial" in one
    assert "not here" in one
    listed = {row["name"]: row for row in json.loads(datamill("factors", "--json").stdout)["factors"]}
    assert listed["aslr"]["levels"] == ["on", "off"]
    assert listed["link_order"]["source"].startswith("ICPE 2013")
    assert_refused(datamill("factors", "--name", "swop"), 'Did you mean "swap"?')


def test_a_level_that_is_not_here_is_refused_before_anything_runs(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=HEAD + '[factors]\nreboot = ["none", "before_trial"]\n', packages=("a",))
    for verb in ("check", "run"):
        result = datamill(verb, "experiment.toml")
        assert_refused(
            result, 'level "before_trial" of factor "reboot"', "experiment.toml", "Levels here: none."
        )
    assert not list(datamill.folder.glob("hidden-*"))


def test_drawn_and_fixed_factors_are_set_read_back_and_told(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    sections = (
        '[nuisance]\npolicy = "randomise"\nwarmups = { fix = 1 }\n'
        'user_name_length = { randomise = "1..40" }\n'
    )
    make_experiment(text=HEAD + sections, packages=("a",))
    checked = datamill("check", "experiment.toml").stdout
    assert "user_name_length: drawn for each trial from 1..40" in checked
    assert "link_order is left as it is" in checked, "nothing is built"
    result = datamill("run", "experiment.toml", "--out", "out")
    assert result.returncode == 0, result.stdout + result.stderr
    table = pl.read_parquet(datamill.folder / "out" / "table.parquet")
    assert table["context.user_name_length"].n_unique() > 1
    assert set(table["context.warmups"]) == {"1"}
    assert table.filter(pl.col("exclusion").is_not_null()).height == 0
    for record in read_log(datamill.folder / "out" / "log.jsonl"):
        assert len(record.warmups) == 1
        assert {fact.name: fact.observed for fact in record.factors} == record.levels
    page = (datamill.folder / "out" / "report.html").read_text()
    assert "drawn for each trial from 0..4096" in page
    assert "Left as they are on this machine: link_order." in page


def write_factor(folder: Path) -> None:
    """A factor that gives run.sh a variable."""
    folder.mkdir()
    (folder / "factor.toml").write_text('name = "colour"\nsummary = "a colour"\nscope = "environment"\n')
    for verb, body in {
        "levels": "echo red; echo blue",
        "set": 'echo "COLOUR=$1"',
        "verify": 'echo "${COLOUR:-none}"',
    }.items():
        (folder / verb).write_text(f"#!/bin/sh\n{body}\n")
        (folder / verb).chmod(0o755)


def test_a_factor_that_the_experiment_brings_along_is_packed_set_and_read_back(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    sections = '[[factor]]\npath = "colour"\n[factors]\ncolour = "100%"\n'
    make_experiment(text=HEAD + sections, packages=("a",), run='#!/bin/sh\ntest -n "$COLOUR"\n')
    write_factor(datamill.folder / "colour")
    listed = datamill("factors", "experiment.toml").stdout
    assert "a colour" in listed
    assert "red  blue" in listed
    assert datamill("run", "experiment.toml", "--out", "out").returncode == 0
    records = read_log(datamill.folder / "out" / "log.jsonl")
    assert {record.levels["colour"] for record in records} == {"red", "blue"}
    assert all(fact.observed == fact.asked for record in records for fact in record.factors)
    assert (datamill.folder / "out" / "factors" / "colour.tar.gz").is_file()
    # The bundle has all that it needs to be repeated.
    (datamill.folder / "colour").rename(datamill.folder / "gone")
    assert datamill("run", "out", "--out", "again").returncode == 0
    heads = [json.loads((datamill.folder / name / "bundle.json").read_text()) for name in ("out", "again")]
    assert heads[0]["factors"] == heads[1]["factors"]


def test_what_a_factor_lacks_is_named(datamill: Command, make_experiment: Callable[..., Path]) -> None:
    make_experiment(text=HEAD + '[[factor]]\npath = "colour"\n[factors]\ncolor = ["red"]\n', packages=("a",))
    assert_refused(datamill("check", "experiment.toml"), "the factor is not there", "colour")
    write_factor(datamill.folder / "colour")
    assert_refused(datamill("check", "experiment.toml"), 'unknown factor "color"', 'Did you mean "colour"?')
    text = (datamill.folder / "experiment.toml").read_text()
    (datamill.folder / "experiment.toml").write_text(text.replace('color = ["red"]', 'colour = ["green"]'))
    result = datamill("check", "experiment.toml")
    assert_refused(result, 'level "green" of factor "colour" does not exist here', "Levels here: red, blue.")
    (datamill.folder / "colour" / "set").unlink()
    assert_refused(datamill("check", "experiment.toml"), 'the factor "colour" has no set')


def test_a_background_load_runs_beside_the_trial(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    sections = (
        '[[load]]\nname = "busy"\npath = "busy"\n[factors]\nbackground_load = "100%"\n'
        '[nuisance]\nsession = { fix = "different" }\n'
    )
    make_experiment(text=HEAD + sections, packages=("a", "busy"))
    (datamill.folder / "busy" / "run.sh").write_text("#!/bin/sh\nwhile :; do sleep 1; done\n")
    result = datamill("run", "experiment.toml", "--out", "out")
    assert result.returncode == 0, result.stdout + result.stderr
    table = pl.read_parquet(datamill.folder / "out" / "table.parquet")
    assert set(table["background_load"]) == {"none", "busy"}


def wait_for(condition: Callable[[], bool], timeout_s: float = 300) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        # No failed assertion: what did not happen in time is not tried again.
        if time.monotonic() >= deadline_s:
            raise TimeoutError("it did not happen in time")
        time.sleep(0.02)


def find_children(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_two_experiments_on_one_host_are_refused_with_the_process_of_the_first(
    datamill: Command, make_experiment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # It need not wait as long as users do for a command that is about to end.
    for module in (check_experiment, conduct_experiment):
        monkeypatch.setattr(module, "lock_host", partial(lock_host, 0.5))
    make_experiment(text=HEAD, packages=("a",), run="#!/bin/sh\nsleep 600\n")
    first = datamill.start("run", "experiment.toml", "--out", "first")
    try:
        wait_for((datamill.folder / "first" / "artifacts").is_dir)
        wait_for(lambda: bool(find_children(first.pid)))
        second = datamill("run", "experiment.toml", "--out", "second")
        assert_refused(second, "another experiment runs on this host", f"process {first.pid} ", "--resume")
        assert not (datamill.folder / "second").exists()
        assert_refused(datamill("check", "experiment.toml", "--pilot"), f"process {first.pid} ")
        assert datamill("check", "experiment.toml").returncode == 0, "it runs nothing"
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=300)


def start_until_set(
    datamill: Command, make_experiment: Callable[..., Path], wanted: str, out: str = "out"
) -> subprocess.Popen[str]:
    """Start an experiment that sets the kernel's sampling rate, and return when it is set."""
    head = HEAD.replace("replicates = 3", "replicates = 2")
    text = head + f"[nuisance]\nperf_sampling_rate = {{ fix = {wanted} }}\n"
    make_experiment(text=text, packages=("a",), run="#!/bin/sh\nsleep 2\n")
    running = datamill.start("run", "experiment.toml", "--out", out)
    wait_for(lambda: RATE.read_text().strip() == wanted)
    return running


@needs_host
@pytest.mark.usefixtures("whole_machine")
def test_a_worker_killed_in_mid_trial_leaves_no_trace_and_its_trial_is_run_again(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    before = RATE.read_text()
    wanted = str(int(before) // 2 + 1)
    running = start_until_set(datamill, make_experiment, wanted)
    (worker,) = find_children(running.pid)
    os.kill(worker, signal.SIGKILL)
    output, _ = running.communicate(timeout=600)
    assert running.returncode == 0, output
    assert RATE.read_text() == before
    records = read_log(datamill.folder / "out" / "log.jsonl")
    assert len(records) == 2
    assert all(record.outcome == "completed" and not record.unrestored for record in records)


@needs_host
@pytest.mark.usefixtures("whole_machine")
def test_an_experiment_killed_with_its_worker_is_undone_by_hand(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    before = RATE.read_text()
    wanted = str(int(before) // 2 + 1)

    def kill_and_undo(attempt: int) -> None:
        running = start_until_set(datamill, make_experiment, wanted, f"out-{attempt}")
        # Stopped, so that it does not put things right between the two deaths.
        running.send_signal(signal.SIGSTOP)
        (worker,) = find_children(running.pid)
        os.kill(worker, signal.SIGKILL)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        assert RATE.read_text().strip() == wanted
        foreseen = datamill("worker", "restore", "--dry-run")
        assert foreseen.returncode == 1
        assert str(RATE) in foreseen.stdout
        assert RATE.read_text().strip() == wanted
        assert datamill("worker", "restore").returncode == 0
        assert RATE.read_text() == before

    try_five_times(kill_and_undo)


def test_the_worker_tells_what_this_machine_is_and_how_quiet(datamill: Command) -> None:
    told = json.loads(datamill("worker", "inventory", "--json").stdout)
    assert told["machine"]["cores"] >= 1
    assert "kernel" in datamill("worker", "inventory").stdout
    result = datamill("worker", "noise", "--seconds", "1")
    assert result.returncode in (0, 1), result.stderr
    assert "time lost" in result.stdout
    assert ("Nothing speaks against" in result.stdout) == (result.returncode == 0)


def test_what_cannot_be_put_back_is_the_last_thing_that_is_said_and_the_exit_status_says_so(
    datamill: Command, make_experiment: Callable[..., Path]
) -> None:
    make_experiment(text=HEAD, packages=("a",))
    stubborn = datamill.folder / "stubborn-worker"
    stubborn.write_text(
        '#!/bin/sh\nif [ "$1" = restore ]; then\n'
        """  echo '{"left": ["swap stays off: no such device"], "damaged": []}'\n  exit 1\nfi\n"""
        f'exec {find_worker()} "$@"\n'
    )
    stubborn.chmod(0o755)
    datamill.environment["DATAMILL_WORKER"] = str(stubborn)
    result = datamill("run", "experiment.toml", "--out", "out")
    assert result.returncode == 1, result.stdout + result.stderr
    last = result.stdout[result.stdout.rindex("Report:") :]
    assert "This host is not as it was before:" in last
    assert "swap stays off: no such device" in last
    assert "worker restore" in last
