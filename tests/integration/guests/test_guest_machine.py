"""The emulated machine behaves as a machine: what is synced survives a power cut, and only memory is new."""

from __future__ import annotations

import time

import pytest

from datamill.guests import GuestError, make_spec, run_trial

RUN = "#!/bin/sh\necho measured\n"
COLLECT = """#!/bin/sh
set -e
echo '{"operations": 7}' >metrics.json
tar czf out.tar.gz metrics.json
echo out.tar.gz
"""
WRITE_ZEROS = "dd if=/dev/zero of=/var/big bs=1M count=4 conv=fsync 2>/dev/null"
REPLACE_THEM_UNFLUSHED = (
    "yes x | tr -d '\\n' | dd of=/var/big bs=1M count=4 iflag=fullblock oflag=direct conv=notrunc 2>/dev/null"
)


#: By itself the guest flushes what it holds every few seconds, and a busy machine cuts its power later.
HOLD_WRITES = "mount -o remount,commit=3600 /var; echo 0 >/proc/sys/vm/dirty_writeback_centisecs"


def test_a_power_cut_keeps_what_was_synced_and_loses_what_was_not(start_guest) -> None:
    guest = start_guest()
    guest.check(HOLD_WRITES)
    guest.check(WRITE_ZEROS)
    guest.check("echo precious >/var/synced; sync; echo fleeting >/var/unsynced; cat /var/unsynced")
    # A disk with a write cache loses what it took, too: direct writes arrive there without a flush.
    guest.check(REPLACE_THEM_UNFLUSHED)
    assert guest.check("head -c 3 /var/big") == "xxx"
    before = guest.boot_id
    guest.cut_power()
    guest.boot()
    assert guest.boot_id != before
    assert guest.check("cat /var/synced; ls /var").split() == ["precious", "big", "lost+found", "synced"]
    assert guest.read("/var/big")[:3] == bytes(3)


def test_a_disk_that_keeps_what_it_took_loses_only_the_guests_memory(start_guest) -> None:
    guest = start_guest()
    guest.check(HOLD_WRITES)
    guest.check(WRITE_ZEROS)
    guest.check(REPLACE_THEM_UNFLUSHED)
    guest.check("echo fleeting >/var/unsynced")
    guest.cut_power(lose_unflushed=False)
    guest.boot()
    assert guest.read("/var/big")[:3] == b"xxx"
    assert guest.run("cat /var/unsynced").status != 0


def test_a_reboot_brings_a_new_kernel_and_keeps_the_disk(start_guest) -> None:
    guest = start_guest()
    guest.write("/var/kept", bytes(range(256)) * 1000)
    guest.check("echo 5 >/proc/sys/vm/swappiness; echo gone >/tmp/gone; echo unsynced >/var/unsynced")
    before = guest.boot_id
    guest.reboot()
    assert guest.boot_id != before
    assert guest.read("/var/kept") == bytes(range(256)) * 1000
    assert guest.check("cat /var/unsynced /proc/sys/vm/swappiness") == "unsynced\n60\n"
    assert guest.run("ls /tmp/gone").status == 1


def test_a_script_that_hangs_is_reported_with_what_it_said(start_guest) -> None:
    guest = start_guest()
    start = time.monotonic()
    # Time enough for a busy machine to hear the first word.
    with pytest.raises(GuestError, match="no answer in time; so far: b'on my way"):
        guest.run("echo on my way; sleep 600", timeout_s=10.0)
    assert time.monotonic() - start < 300


def test_a_trial_runs_in_a_private_world_inside_a_guest(start_guest) -> None:
    guest = start_guest()
    guest.write("/var/packages/small/run.sh", RUN, 0o755)
    guest.write("/var/packages/small/collect.sh", COLLECT, 0o755)
    record = run_trial(guest, make_spec("t1", "small", {"aslr": "off", "env_padding": "4096"}))
    assert record.outcome == "completed", record.failure
    assert record.isolation.kind == "confined", record.isolation
    assert record.host.boot_id == guest.boot_id
    assert {fact.name: fact.observed for fact in record.factors} == {"aslr": "off", "env_padding": "4096"}
    assert list(record.metrics["operations"]) == [7.0]
