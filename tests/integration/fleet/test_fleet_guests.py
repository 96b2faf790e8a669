"""Real machines under emulation, at night of two architectures, serve a coordinator while all things fail."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from acceptance.fleet.fleets import find_bundle
from integration.fleet.guest_fleets import AskedGuest, GuestFleet, ended, insist, start_guests
from integration.service.databases import DatabaseUnavailableError, serve_postgres
from running.nightly import choose_count

from datamill.guests import GuestUnavailableError, build_worker_image

FAILED = ("attempt refused", "attempt faulty", "attempt lost")
#: The second machine has another processor than the first, and at night there is one of another architecture.
MACHINES = (("x86_64", "qemu64"), ("x86_64", "Nehalem"), ("aarch64", "cortex-a57"))[: choose_count(2, 3)]
EXPERIMENT = f"""
[experiment]
name = "guests"
question = "Does address-space layout matter to a shell?"
replicates = {choose_count(1, 2)}
seed = 11
[[package]]
name = "count"
path = "count"
devices = ["/dev/console"]
[factors]
aslr = ["on", "off"]
[coverage]
machine = "100%"
[fleet]
reboot = "trial"
debug = "never"
most_attempts = 6
[responses.rate]
unit = "op/s"
formula = "operations / wall_time_s"
direction = "higher"
[limits]
setup_timeout = "30s"
run_timeout = "120s"
collect_timeout = "30s"
"""
BOOTS = """
[experiment]
name = "boots"
question = "Is the shell quicker where the kernel does without its mitigations?"
replicates = 1
seed = 5
[[package]]
name = "booted"
path = "booted"
devices = ["/dev/console"]
[factors]
boot_parameters = ["default", "mitigations=off"]
[constraints]
workers = ["guest-1"]
[fleet]
debug = "never"
[limits]
setup_timeout = "30s"
run_timeout = "120s"
collect_timeout = "30s"
"""
#: What a borrowed boot has on its command line.
MARK = "datamill.own="
RUNNING = "the trial is running"
RUN = f"""#!/bin/sh
echo {RUNNING} >/dev/console
n=0
while [ $n -lt 2000 ]; do n=$((n + 1)); done
sleep 3
"""
FILL = """free=$(df -k /var | tail -1 | awk '{print $4}')
fallocate -l $((free - 4096))K /var/filling
sync
df -k /var | tail -1
"""
COLLECT = """#!/bin/sh
set -e
echo '{"operations": 2000}' >metrics.json
tar czf out.tar.gz metrics.json
echo out.tar.gz
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[GuestFleet]:
    """Guests, joined and ready; skips, with the reason, where there can be none."""
    try:
        images = {arch: build_worker_image(arch=arch) for arch, _ in MACHINES}
    except GuestUnavailableError as error:
        pytest.skip(f"no guests here: {error}")
    with contextlib.ExitStack() as stack:
        try:
            database = stack.enter_context(serve_postgres(safe=True))
        except DatabaseUnavailableError as error:
            pytest.skip(str(error))
        asked = [AskedGuest(images[arch], cpu) for arch, cpu in MACHINES]
        yield stack.enter_context(start_guests(tmp_path, asked, "--database", database))


def submit(fleet: GuestFleet) -> int:
    """Submit the experiment and return its number."""
    folder = fleet.fleet.folder
    (folder / "count").mkdir()
    for name, text in (("run.sh", RUN), ("collect.sh", COLLECT)):
        (folder / "count" / name).write_text(text)
        (folder / "count" / name).chmod(0o755)
    (folder / "experiment.toml").write_text(EXPERIMENT)
    done = fleet.fleet.command("submit", "experiment.toml", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["submission"]["id"])


def test_every_trial_is_counted_once_whatever_fails(fleet: GuestFleet, tmp_path: Path) -> None:
    # Before it has a trial: the guests' speeds differ, and a full disk shows only where trials are left. None
    # of its four is counted before there is room again, so that some are left for what else fails.
    said = fleet.guests["guest-2"].check(FILL)
    fleet.tell(f"the disk of guest-2 is full: {said.strip()}")
    experiment = submit(fleet)
    planned = sum(fleet.ask(f"/experiments/{experiment}")["trials"].values())
    fleet.tell(f"{planned} trials submitted")
    data = tmp_path / "data"

    cut_in_trial(fleet, "guest-1")
    make_room(fleet, "guest-2", experiment)

    before = fleet.count(experiment)
    fleet.fleet.serving.kill()
    fleet.fleet.serving.wait()
    fleet.tell("the coordinator was killed")
    fleet.fleet.serve()
    fleet.wait("the next trial counted", lambda: fleet.count(experiment) > before)

    before = fleet.count(experiment)
    kill_broker(data)
    fleet.tell("the broker was killed")
    fleet.wait("the next trial counted", lambda: fleet.count(experiment) > before)

    # It keeps nothing that it could lose.
    assert not (data / "nats" / "store").exists()
    fleet.wait("the experiment ended", lambda: ended(fleet, experiment))
    check(fleet, experiment, planned)
    boot_with_parameters(fleet)


def boot_with_parameters(fleet: GuestFleet) -> None:
    """Trials have the boot that their level names, as the package sees it; then the machine has its own."""
    guest = fleet.guests["guest-1"]
    own = insist(guest, "cat /proc/cmdline").split()
    assert not any(word.startswith(MARK) for word in own)
    package = fleet.fleet.folder / "booted"
    package.mkdir()
    for name, text in (("run.sh", "#!/bin/sh\ncat /proc/cmdline\n"), ("collect.sh", COLLECT)):
        (package / name).write_text(text)
        (package / name).chmod(0o755)
    (fleet.fleet.folder / "boots.toml").write_text(BOOTS)
    done = fleet.fleet.command("submit", "boots.toml", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    experiment = int(json.loads(done.stdout)["submission"]["id"])
    fleet.wait("the experiment with other boots ended", lambda: ended(fleet, experiment))
    done = fleet.fleet.command("fetch", str(experiment))
    assert done.returncode == 0, done.stderr
    folder = find_bundle(fleet.fleet.folder, experiment)
    seen = {}
    for line in (folder / "log.jsonl").read_text().splitlines():
        record = json.loads(line)
        (fact,) = [fact for fact in record["factors"] if fact["name"] == "boot_parameters"]
        assert fact["observed"] == fact["asked"], fact
        said = (folder / "artifacts" / f"{record['trial_id']}.{record['attempt']}" / "run.out").read_text()
        kernel_line = said.split()
        assert kernel_line[: len(own)] == own
        seen[fact["observed"]] = kernel_line[len(own) + 1 :]
        assert kernel_line[len(own)].startswith(MARK)
        fleet.tell(f"{fact['observed']}: {said.strip()}")
    assert seen == {"default": [], "mitigations=off": ["mitigations=off"]}
    fleet.wait(
        "the machine is in its own boot again",
        lambda: insist(guest, "cat /proc/cmdline").split() == own,
        every_s=2.0,
    )


def cut_in_trial(fleet: GuestFleet, name: str) -> None:
    """Cut a guest's power while a trial runs in it, and switch it on again."""
    guest = fleet.guests[name]
    seen = guest.read_console().count(RUNNING)
    # It runs for some seconds: the next look still finds it under way.
    fleet.wait(f"a trial runs in {name}", lambda: guest.read_console().count(RUNNING) > seen, every_s=0.02)
    guest.cut_power()
    fleet.tell(f"the power of {name} was cut")
    guest.boot()
    fleet.tell(f"{name} is on again")


def kill_broker(data: Path) -> None:
    """Kill the coordinator's nats-server, and wait until it is started again."""
    file = data / "nats" / "server.pid"
    number = int(file.read_text())
    os.kill(number, signal.SIGKILL)
    deadline_s = time.monotonic() + 240
    while file.read_text() in ("", str(number)):
        assert time.monotonic() < deadline_s, "the broker was not started again"
        time.sleep(0.1)


def make_room(fleet: GuestFleet, name: str, experiment: int) -> None:
    """Wait until an attempt failed in a guest, whose disk is full, and make room on it again."""
    fleet.wait(
        f"an attempt failed in {name}",
        lambda: any(
            event["kind"] in FAILED and event["worker"] == name for event in fleet.list_events(experiment)
        ),
    )
    insist(fleet.guests[name], "rm -f /var/filling; sync")
    fleet.tell(f"the disk of {name} has room again")


def check(fleet: GuestFleet, experiment: int, planned: int) -> None:
    """The bundle has each trial once, each in a boot of its own, and the events tell what failed."""
    done = fleet.fleet.command("fetch", str(experiment))
    assert done.returncode == 0, done.stderr
    folder = find_bundle(fleet.fleet.folder, experiment)
    records = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    completed = Counter(record["trial_id"] for record in records if record["outcome"] == "completed")
    assert len(completed) == planned, completed
    assert set(completed.values()) == {1}, completed
    assert {record["host"]["arch"] for record in records} == {arch for arch, _ in MACHINES}
    assert len({record["host"]["cpu_model"] for record in records}) == len(MACHINES)
    # Each trial had a boot of its own.
    boots = [record["host"]["boot_id"] for record in records if record["outcome"] == "completed"]
    assert len(set(boots)) == len(boots)
    kinds = Counter(event["kind"] for event in fleet.list_events())
    fleet.tell(f"events: {dict(kinds)}")
    of_experiment = Counter(event["kind"] for event in fleet.list_events(experiment))
    assert of_experiment["attempt counted"] == planned
    assert of_experiment["attempt lost"] >= 1
    assert kinds["worker rebooted"] >= planned
    assert kinds["coordinator started"] >= 2
    assert kinds["broker connected"] >= 2
    assert of_experiment["attempt refused"] + of_experiment["attempt faulty"] >= 1
    report = fleet.fleet.command("report", str(folder))
    assert report.returncode == 0, report.stderr
