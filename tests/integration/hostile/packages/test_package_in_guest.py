"""A package in a guest is root of a machine of its own, and can do nothing to the worker's."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import time
from pathlib import Path

import msgspec
import pytest
from integration.hostile.packages.guest_trials import MOST_S, GuestHost, make_guest_host

from datamill.guests import GuestUnavailableError
from datamill.guests.emulator import find_emulator
from datamill.protocol.trial import SCHEMA_VERSION

SECRET = "the-owners-secret-6b1f"
#: What the machine's kernel is set to; a package tries to change it.
CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
#: That of the trial's world is protected.
OWN_PROC = "mkdir -p /mnt; mount -t proc proc /mnt"


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> GuestHost:
    """A machine with guests; skips, with the reason, where there can be none."""
    try:
        find_emulator(os.uname().machine)
        return make_guest_host(tmp_path_factory.mktemp("guests") / "state", SECRET)
    except GuestUnavailableError as error:
        pytest.skip(f"no guests here: {error}")


def list_processes(command: bytes) -> list[str]:
    """Return this machine's processes with such a command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if command in (process / "cmdline").read_bytes():
                found.append(process.name)
        except OSError:
            continue
    return found


# Boots a guest or two: 5 s each on an idle machine.
def test_a_package_in_a_guest_finds_no_secret_no_network_and_no_host(
    guests: GuestHost, tmp_path: Path
) -> None:
    (guests.state / "identity.json").write_text(SECRET)
    image = guests.state / "guest-image" / "root"
    before = hashlib.sha256(image.read_bytes()).hexdigest()
    setting = CORE_PATTERN.read_text()
    with socket.create_server(("0.0.0.0", 0)) as broker:
        broker.settimeout(0.1)
        port = broker.getsockname()[1]
        spec = guests.specify(
            tmp_path,
            {
                "run.sh": f"""#!/bin/bash
exec 2>&1
cat {guests.state}/identity.json
printf '%s-%s' the-owners secret >/tmp/pattern
for disk in /sys/block/vd*; do
    if [ "$(cat $disk/serial)" = job ]; then grep -f /tmp/pattern /dev/${{disk##*/}} && echo FOUND; fi
done
grep -f /tmp/pattern /proc/*/environ /proc/*/cmdline && echo FOUND
for address in 127.0.0.1 10.0.2.2 {socket.gethostname()}; do
    timeout 2 bash -c "echo >/dev/tcp/$address/{port}" && echo REACHED
done
echo links: $(ls /sys/class/net)
mkdir -p /mnt; mount -t proc proc /mnt
echo '|/bin/evil' >/mnt/sys/kernel/core_pattern
date -s '+2 days'
cat /proc/sys/kernel/core_pattern >/dev/null
for disk in /sys/block/vd*; do
    [ "$(cat $disk/serial)" = result ] || echo overwritten | dd of=/dev/${{disk##*/}} conv=notrunc
done
id -u
"""
            },
        )
        record = guests.run(spec)
        with pytest.raises(TimeoutError):
            broker.accept()
    said = guests.read_output(spec)
    assert record.outcome == "completed", record.failure
    assert record.metrics == {"answer": (42.0,)}
    assert record.isolation.kind == "guest"
    assert record.isolation.guest is not None
    assert record.isolation.guest.accelerator in ("kvm", "tcg")
    assert record.host.kernel == os.uname().release != record.isolation.guest.kernel
    assert SECRET not in said
    assert "FOUND" not in said
    assert "REACHED" not in said
    assert "links: lo\n" in said
    assert said.endswith("0\n"), "it was root there, and could try"
    assert CORE_PATTERN.read_text() == setting
    assert hashlib.sha256(image.read_bytes()).hexdigest() == before
    assert abs(record.ended_unix_ns / 1e9 - time.time()) < 600
    assert record.started_unix_ns <= record.collect.started_unix_ns <= record.ended_unix_ns
    assert not Path(spec.scratch_dir).exists()


def test_a_panic_ends_one_trial_with_its_reason(guests: GuestHost, tmp_path: Path) -> None:
    spec = guests.specify(
        tmp_path,
        {"run.sh": f"#!/bin/sh\n{OWN_PROC}\necho c >/mnt/sysrq-trigger\nsleep 60\n"},
    )
    record = guests.run(spec)
    assert record.outcome == "failed"
    assert record.failure is not None
    assert record.failure.kind == "exit_status"
    assert "went off before its trial had ended" in record.failure.message
    assert "panic" in record.failure.message.lower()
    assert not guests.list_emulators()


def test_a_forged_record_tells_of_no_other_trial(guests: GuestHost, tmp_path: Path) -> None:
    """The package writes the record itself, of another experiment, and cuts its machine's power."""
    spec = guests.specify(
        tmp_path,
        {
            "run.sh": r"""#!/usr/bin/perl
use strict;
my ($disk) = grep { `cat /sys/block/$_/serial` eq "result" } map { s{/sys/block/}{}r } glob "/sys/block/vd*";
my %phase = (started_unix_ns => 1, wall_time_ns => 5, user_time_ns => 1, system_time_ns => 1,
    peak_memory_bytes => 1, peak_memory_floor_bytes => 1, minor_faults => 1, major_faults => 1,
    voluntary_switches => 1, involuntary_switches => 1, exit_code => 0, signal => undef, timed_out => \0,
    left_processes => 0, stdout_bytes => 0, stderr_bytes => 0, output_truncated => \0, counters => []);
sub json { my $v = shift; my $r = ref $v;
    return "{" . join(",", map { "\"$_\":" . json($v->{$_}) } keys %$v) . "}" if $r eq "HASH";
    return "[" . join(",", map { json($_) } @$v) . "]" if $r eq "ARRAY";
    return $$v ? "true" : "false" if $r eq "SCALAR";
    return "null" unless defined $v; return $v =~ /^-?\d+$/ ? $v : "\"$v\"" }
my $archive = "forged";
my $sha = `printf forged | sha256sum`; $sha =~ s/ .*//s;
my $record = json({Record => {schema => SCHEMA, experiment => "other", trial_id => "t999", attempt => 77,
    package => "innocent", package_sha256 => "f" x 64, levels => {aslr => "off"}, seed => 123,
    worker => {id => "victim", version => "nine"}, host => {arch => "a", kernel => "k", cpu_model => "c",
    cores => 1, memory_bytes => 1, boot_id => "b"}, isolation => {kind => "plain", reason => ""},
    started_unix_ns => 1, ended_unix_ns => 2, outcome => "completed", failure => undef, build => undef,
    warmups => [], run => {%phase}, disturbance => undef, collect => {%phase},
    factors => [{name => "aslr", asked => "off", observed => "off", evidence => "e"}],
    metrics => {answer => [1]}, archive => {file => "a.tar", bytes => 6, sha256 => $sha},
    unrestored => ["all is broken"], notices => []}});
open my $out, "+<", "/dev/$disk" or die;
print $out pack("v", 5), "a.tar", pack("Q<", 6), $archive;
print $out pack("v", 7), "\x01report", pack("Q<", length $record), $record;
close $out;
system "sync";
mkdir "/mnt"; system "mount -t proc proc /mnt; echo b >/mnt/sysrq-trigger";
sleep 60;
""".replace("SCHEMA", str(SCHEMA_VERSION))
        },
    )
    record = guests.run(spec)
    assert record.outcome == "completed", record.failure
    assert record.metrics == {"answer": (1.0,)}, "about itself it can lie, as every package can"
    assert (record.experiment, record.trial_id, record.attempt) == ("hostile", "t1", 1)
    assert (record.package, record.package_sha256, record.seed) == ("evil", None, 7)
    assert record.levels == {}
    assert record.factors == ()
    assert record.isolation.kind == "guest"
    assert record.worker.id != "victim"
    assert record.host.kernel == os.uname().release
    assert record.unrestored == ()
    assert record.started_unix_ns <= record.run.started_unix_ns <= record.ended_unix_ns


@pytest.mark.parametrize(
    ("attack", "kind"),
    [
        ("for i in $(seq 2000); do sleep 100.125 & done; wait", "process_limit"),
        ("x=$(head -c 1000000 /dev/zero | tr '\\0' x); while :; do x=$x$x; done", "memory_limit"),
    ],
    ids=["processes", "memory"],
)
# A guest has control groups of version 2, as this machine need not.
def test_processes_and_memory_without_end_are_the_guests_own(
    guests: GuestHost, tmp_path: Path, attack: str, kind: str
) -> None:
    # Not more processes than that: an emulated processor takes a while to start each.
    scripts = {"run.sh": f"#!/bin/bash\n{attack}\n"}
    spec = guests.specify(tmp_path, scripts, processes=100, memory_bytes=128 << 20)
    with guests.start(spec) as process:
        while process.poll() is None:
            assert not list_processes(b"sleep\x00100.125")
            time.sleep(0.2)
        record = msgspec.json.decode(process.stdout.read() if process.stdout is not None else b"")
    assert record["failure"]["kind"] == kind, record["failure"]
    assert record["resources"]["means"] == "cgroup_v2"
    assert not guests.list_emulators()


def test_a_killed_worker_takes_its_guest_along(guests: GuestHost, tmp_path: Path) -> None:
    spec = guests.specify(tmp_path, {"run.sh": "#!/bin/sh\nsleep 600\n"})
    with guests.start(spec) as process:
        deadline = time.monotonic() + MOST_S
        while not guests.list_emulators() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert guests.list_emulators()
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while guests.list_emulators() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not guests.list_emulators()
    # What it left is in its scratch folder, which the next attempt empties.
    shutil.rmtree(spec.output_dir, ignore_errors=True)
    assert not [line for line in Path("/proc/mounts").read_text().splitlines() if str(tmp_path) in line]


def test_an_interrupted_trial_in_a_guest_is_lost_at_once(guests: GuestHost, tmp_path: Path) -> None:
    spec = guests.specify(tmp_path, {"run.sh": "#!/bin/sh\nsleep 600\n"})
    with guests.start(spec) as process:
        deadline = time.monotonic() + MOST_S
        while not guests.list_emulators():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        started = time.monotonic()
        process.terminate()
        told, _ = process.communicate(timeout=MOST_S)
    assert time.monotonic() - started < 50, "at once, not when its time is over"
    assert process.returncode == 130
    assert b'"outcome": "lost"' in told
    assert not Path(spec.scratch_dir).exists()
