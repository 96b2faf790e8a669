"""Machines of a fleet boot the kernel that a trial names, whichever way they start another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from acceptance.fleet.fleets import find_bundle
from integration.fleet.guest_fleets import AskedGuest, GuestFleet, ended, insist, start_guests

from datamill.guests import GuestImage, GuestUnavailableError, build_worker_image
from datamill.guests.images.worker_binary import find_guest_worker

#: Guests boot the kernel for clouds by themselves; these are installed beside it.
OTHER_KERNELS = {"x86_64": "linux-image-amd64", "aarch64": "linux-image-arm64"}
#: What a borrowed boot has on its command line.
MARK = "datamill.own="
WORKER = "usr/bin/datamill-worker"
REAL_WORKER = "usr/bin/datamill-worker-itself"
#: For the worker and all that it starts, the kernel has no kexec_file_load, as without CONFIG_KEXEC_FILE: a
#: filter of seccomp answers with ENOSYS. Debian's kernels for amd64 all have it, those for arm64 do not.
WITHOUT_KEXEC_FILE = f"""#!/usr/bin/perl
my ($prctl, $set_seccomp, $mode_filter, $kexec_file_load, $enosys) = (157, 22, 2, 320, 38);
my @filter = (
    [0x20, 0, 0, 0],
    [0x15, 0, 1, $kexec_file_load],
    [0x06, 0, 0, 0x00050000 | $enosys],
    [0x06, 0, 0, 0x7fff0000],
);
my $code = join '', map {{ pack 'SCCL', @$_ }} @filter;
my $described = pack 'S x![8] P', scalar(@filter), $code;
syscall($prctl, $set_seccomp, $mode_filter, $described) == 0 or die "seccomp: $!";
exec {{ '/{REAL_WORKER}' }} '/{WORKER}', @ARGV;
"""
EXPERIMENT = """
[experiment]
name = "kernels"
question = "Is a shell quicker under one of two kernels?"
replicates = 1
seed = 5
[[package]]
name = "shell"
path = "shell"
[factors]
kernel_release = {kernels}
[responses.seconds]
formula = "wall_time_s"
unit = "s"
direction = "lower"
[fleet]
debug = "never"
[limits]
setup_timeout = "30s"
run_timeout = "120s"
collect_timeout = "30s"
"""


@dataclass(frozen=True)
class Way:
    """A way in which a machine starts another kernel.

    Attributes:
        packages: Packages of Debian that it takes; None: busybox is all that the guest has.
        arch: Architecture of the machine.
        first_process: What runs as process 1.
        is_filtered: Whether the worker is started without kexec_file_load.
    """

    packages: tuple[str, ...] | None = None
    arch: str = "x86_64"
    first_process: str = "busybox"
    is_filtered: bool = False


WAYS = {
    "the kernel itself": Way(),
    "kexec-tools": Way(("kexec-tools",), is_filtered=True),
    "kexec-tools on arm64": Way(("kexec-tools",), "aarch64"),
    "systemctl kexec": Way(("systemd",), first_process="systemd"),
}


@dataclass(frozen=True)
class Booted:
    """A fleet of one guest, with what it boots by itself and the other kernel that it has."""

    fleet: GuestFleet
    way: Way
    own: GuestImage
    other: GuestImage


@pytest.fixture(params=WAYS)
def booted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Booted]:
    way = WAYS[request.param]
    files = {}
    try:
        if way.is_filtered:
            wrapper = tmp_path / "wrapper"
            wrapper.write_text(WITHOUT_KEXEC_FILE)
            wrapper.chmod(0o755)
            files = {WORKER: wrapper, REAL_WORKER: find_guest_worker(way.arch)}
        own, other = (
            build_worker_image(files=files, arch=way.arch, packages=way.packages, kernel=kernel)
            for kernel in (None, OTHER_KERNELS[way.arch])
        )
    except GuestUnavailableError as error:
        pytest.skip(f"no guests here: {error}")
    with start_guests(tmp_path, [AskedGuest(own, others=(other,))]) as fleet:
        yield Booted(fleet, way, own, other)


def test_each_trial_runs_in_the_kernel_of_its_level_and_then_the_machine_in_its_own(booted: Booted) -> None:
    fleet, own, other = booted.fleet, booted.own.version, booted.other.version
    guest = fleet.guests["guest-1"]
    own_line = insist(guest, "cat /proc/cmdline").split()
    assert f"Linux version {own} " in insist(guest, "cat /proc/version")
    assert insist(guest, "readlink /proc/1/exe").strip().endswith(booted.way.first_process)
    seccomp = insist(guest, "grep ^Seccomp: /proc/$(/bin/busybox pidof datamill-worker)/status").split()[1]
    assert (seccomp != "0") == booted.way.is_filtered

    experiment = submit(fleet, [own, other])
    fleet.wait("the experiment ended", lambda: ended(fleet, experiment))

    done = fleet.fleet.command("fetch", str(experiment))
    assert done.returncode == 0, done.stderr
    folder = find_bundle(fleet.fleet.folder, experiment)
    seen = set()
    for line in (folder / "log.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert record["outcome"] == "completed", record["failure"]
        (fact,) = record["factors"]
        assert fact["observed"] == fact["asked"], fact
        said = (folder / "artifacts" / f"{record['trial_id']}.{record['attempt']}" / "run.out").read_text()
        version, kernel_line = said.splitlines()
        assert version.startswith(f"Linux version {fact['asked']} "), version
        assert kernel_line.split() == [*own_line, f"{MARK}{own}"]
        fleet.tell(version)
        seen.add(fact["observed"])
    assert seen == {own, other}
    fleet.wait(
        "the machine is in its own boot again",
        lambda: insist(guest, "cat /proc/cmdline").split() == own_line,
        every_s=2.0,
    )
    assert f"Linux version {own} " in insist(guest, "cat /proc/version")


def submit(fleet: GuestFleet, kernels: list[str]) -> int:
    """Submit an experiment over kernels and return its number."""
    folder = fleet.fleet.folder
    (folder / "shell").mkdir()
    script = folder / "shell" / "run.sh"
    script.write_text("#!/bin/sh\ncat /proc/version /proc/cmdline\n")
    script.chmod(0o755)
    (folder / "experiment.toml").write_text(EXPERIMENT.format(kernels=json.dumps(kernels)))
    done = fleet.fleet.command("submit", "experiment.toml", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["submission"]["id"])
