"""Guests of other kinds: with Debian's programs, of another architecture, and outside of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill.cli.machine.worker_image import image
from datamill.guests import (
    Guest,
    GuestUnavailableError,
    build_worker_image,
    make_disk,
    make_spec,
    run_trial,
)
from datamill.guests.images.root_disk import COMPILER_PACKAGES

COLLECT = """#!/bin/sh
set -e
echo '{"operations": 7}' >metrics.json
tar czf out.tar.gz metrics.json
echo out.tar.gz
"""
PROGRAM = '#include <stdio.h>\nint main(void) { puts("compiled here"); return 0; }\n'


def test_a_package_compiles_in_a_guest_with_debians_programs(tmp_path: Path) -> None:
    try:
        made = build_worker_image(packages=COMPILER_PACKAGES)
        disk = make_disk(tmp_path / "disk")
    except GuestUnavailableError as error:
        pytest.skip(f"no guests here: {error}")
    with Guest(made, disk, memory_mib=1024) as guest:
        guest.write("/var/packages/hello/hello.c", PROGRAM)
        guest.write("/var/packages/hello/setup.sh", "#!/bin/sh\ncc -o hello hello.c\n", 0o755)
        guest.write("/var/packages/hello/run.sh", "#!/bin/sh\n./hello | grep compiled\n", 0o755)
        guest.write("/var/packages/hello/collect.sh", COLLECT, 0o755)
        record = run_trial(guest, make_spec("t1", "hello", {"optimization": "-O3"}))
        assert record.outcome == "completed", record.failure
        assert [fact.observed for fact in record.factors] == ["-O3"]
        # The root is as it was made, whatever was written to it.
        guest.check("rm /usr/bin/gcc; echo x >/etc/left")
        guest.reboot()
        assert guest.run("test -e /etc/left").status == 1
        assert "Debian" in guest.check("gcc --version; cat /etc/os-release")


def test_a_guest_of_another_architecture_runs_a_trial_and_reboots_itself(tmp_path: Path) -> None:
    try:
        made = build_worker_image(arch="aarch64")
        disk = make_disk(tmp_path / "disk")
    except GuestUnavailableError as error:
        pytest.skip(f"no guests for aarch64 here: {error}")
    with Guest(made, disk, may_reboot=True, network=True) as guest:
        guest.write("/var/packages/small/run.sh", "#!/bin/sh\nuname -m\n", 0o755)
        guest.write("/var/packages/small/collect.sh", COLLECT, 0o755)
        record = run_trial(guest, make_spec("t1", "small", {"aslr": "off"}))
        assert record.outcome == "completed", record.failure
        assert record.host.arch == "aarch64"
        assert "Cortex-A57" in record.host.cpu_model
        assert "10.0.2.15" in guest.check("ip addr")
        before = guest.boot_id
        guest.check("(sleep 0.3; sync; reboot -f) >/dev/null 2>&1 &")
        guest.wait_for_reboot()
        assert guest.boot_id != before
        assert guest.check("ls /var/packages").split() == ["small"]


def test_an_image_boots_by_its_own_script_with_a_shell_on_the_terminal(tmp_path: Path) -> None:
    done = CliRunner().invoke(image, ["--out", str(tmp_path / "image")])
    if done.exception is not None and "no image can be made here" in str(done.exception):
        pytest.skip(str(done.exception))
    assert done.exit_code == 0, done.output
    with subprocess.Popen(
        [tmp_path / "image" / "start"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as booted:
        assert booted.stdin is not None
        assert booted.stdout is not None
        said = ""
        # What is typed before the shell is there is lost.
        while not said.endswith("/ # "):
            said += booted.stdout.read(1) or pytest.fail(said)
        said, _ = booted.communicate("datamill-worker inventory\npoweroff -f\n", timeout=120)
    assert '"boot_id"' in said, said[-2000:]
