"""A package that asks to see folders of its machine: it sees those alone, and changes nothing."""

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from integration.hostile.packages.package_trials import PackageHost

from datamill.execution.worker import find_worker
from datamill.protocol.trial import Needs

KINDS = ("confined", "user_namespace", "overlay")
#: A user that no machine has.
STRANGER = 61234

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="attacks on root's worlds need root")


class Home:
    """A home folder with data, keys and links, and a shared folder; its secrets hold the canary."""

    def __init__(self, owner: int) -> None:
        mark = uuid.uuid4().hex[:12]
        self.canary = f"canary-{mark}"
        self.home = Path("/home") / f"datamill-{mark}"
        self.data = self.home / "data" / "suite"
        self.temporary = Path("/tmp") / f"datamill-{mark}"
        self.link = self.home / "short"
        for folder in (self.data / "closed", self.home / ".ssh", self.home / "data/other", self.temporary):
            folder.mkdir(parents=True)
        (self.data / "input").write_text("the data\n")
        (self.data / "closed" / "licence").write_text("the licence\n")
        (self.data / "closed" / "licence").chmod(0o600)
        secrets = (
            self.home / ".ssh/id",
            self.home / "notes",
            self.home / "data/other/key",
            self.home / "data/key",
        )
        for secret in (*secrets, self.temporary / "secret"):
            secret.write_text(self.canary)
        (self.temporary / "shown").mkdir()
        (self.temporary / "shown" / "input").write_text("the data\n")
        self.link.symlink_to("data/suite")
        for path in (self.home, *self.home.rglob("*")):
            os.lchown(path, owner, owner)
        for closed in (self.home, self.data, self.home / "data"):
            closed.chmod(0o700)
        self.secrets = (*secrets, self.temporary / "secret")

    def remove(self) -> None:
        shutil.rmtree(self.home)
        shutil.rmtree(self.temporary)


@pytest.fixture
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    # Without rights over others' files nobody can show them.
    kind = getattr(request.node, "callspec", None) and request.node.callspec.params.get("kind")
    planted = Home(0 if kind == "user_namespace" else STRANGER)
    yield planted
    planted.remove()


def ask(folder: Path, kind: str, *folders: Path, covered: tuple[str, ...] = ()) -> PackageHost:
    folder.mkdir(exist_ok=True)
    return PackageHost(folder, kind, Needs(folders=tuple(map(str, folders))), covered)


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_sees_the_folders_that_it_asked_for_and_nothing_beside_them(
    kind: str, tmp_path: Path, home: Home
) -> None:
    host = ask(tmp_path / "host", kind, home.link, home.temporary / "shown")
    record = host.run(
        f"cat {home.link}/input {home.data}/input {home.temporary}/shown/input || exit 1\n"
        f"cat {home.data}/closed/licence || exit 1\n"
        f"ls -A {home.home} {home.home}/data {home.temporary}\n"
        f"grep -rl {home.canary[:-4]}.... {home.home} {home.temporary} /home /tmp 2>/dev/null\n"
        + "".join(f"cat {secret} 2>/dev/null\n" for secret in home.secrets)
        + f"cat /proc/1/root{home.secrets[0]} {home.data}/../key {home.link}/../../notes 2>/dev/null\nexit 0"
    )
    assert record.outcome == "completed", record.failure
    assert record.isolation.kind == kind
    assert record.isolation.needs.folders == tuple(map(str, (home.link, home.temporary / "shown")))
    told = host.read_output("run.out")
    assert told.count("the data") == 3
    assert told.count("the licence") == 1
    assert home.canary not in told
    assert {"data", "short", "suite", "shown"} < set(told.split())
    assert not {".ssh", "notes", "other", "key", "secret"} & set(told.split())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("build", ["fresh", "shared"])
def test_what_a_package_writes_into_a_folder_is_its_own_and_gone_afterwards(
    kind: str, build: str, tmp_path: Path, home: Home
) -> None:
    host = ask(tmp_path / "host", kind, home.data)
    before = {path: (path.stat().st_mode, path.stat().st_mtime_ns) for path in home.home.rglob("*")}
    # In a world of its own root may do this as well.
    unmount = f"umount -l {home.data}; mount -o remount,rw {home.data}" if kind != "overlay" else ":"
    changes = (
        f"cd {home.data}; test -e input && test ! -e new || exit 1\n"
        "echo other > input; echo more > new; chmod 777 . closed; chmod 666 closed/licence\n"
        "mv closed moved; ln -s /etc/shadow link; touch -d 2001-01-01 input\n" + f"{unmount}\n"
        f"cd {home.data} && grep -q other input && test -e new -a -d moved"
    )
    for _ in range(2):
        record = host.run(changes, build=build)
        assert record.outcome == "completed", record.failure
    if build == "shared":
        # What setup.sh made in the folder is part of the build.
        record = host.run(f"cat {home.data}/built", setup=f"echo built > {home.data}/built", build=build)
        assert record.outcome == "completed", record.failure
        assert host.read_output("run.out") == "built\n"
    after = {path: (path.stat().st_mode, path.stat().st_mtime_ns) for path in home.home.rglob("*")}
    assert after == before
    assert (home.data / "input").read_text() == "the data\n"


def test_a_disk_in_a_folder_is_shown_and_keys_in_it_by_another_name_are_refused(
    tmp_path: Path, home: Home
) -> None:
    inner, alias = home.data / "disk", home.data / "alias"
    for folder in (inner, alias):
        folder.mkdir()
    host = ask(tmp_path / "host", "confined", home.data)
    with mounted(inner, "-t", "tmpfs", "none"):
        (inner / "input").write_text("on a disk\n")
        record = host.run(f"cat {inner}/input")
        with mounted(alias, "--bind", str(home.home / ".ssh")):
            refused = host.run("exit 0")
    assert record.outcome == "completed", record.failure
    assert host.read_output("run.out") == "on a disk\n"
    assert refused.failure is not None
    assert f"it holds {alias}, which no trial sees" in refused.failure.message


@contextmanager
def mounted(at: Path, *options: str) -> Iterator[None]:
    subprocess.run(["mount", *options, at], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", at], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_folders_with_keys_or_state_are_shown_to_nobody(kind: str, tmp_path: Path, home: Home) -> None:
    (home.home / "keys-by-link").symlink_to(home.home / ".ssh")
    copy = home.temporary / "backup"
    (copy / ".ssh").mkdir(parents=True)
    listed = home.home / "data" / "other"
    for folder, word in (
        (home.home, "home folder"),
        (home.home / ".ssh", "no trial sees"),
        (home.home / "keys-by-link", "no trial sees"),
        (listed, "no trial sees"),
        (home.home / "data", "no trial sees"),
        (copy, "keys"),
        (tmp_path / "host", "no trial sees"),
        (tmp_path / "host" / "state", "no trial sees"),
        (Path("/tmp"), "its own"),
        (Path("/run"), "its own"),
        (Path("/etc"), "no trial sees"),
        (Path("/proc/1"), "more than files"),
        (Path("/no/such/folder"), "No such file"),
        (home.data / "input", "not a folder"),
        (Path("/tmp/../etc"), "without `..`"),
    ):
        host = ask(tmp_path / "host", kind, folder, covered=(str(listed),))
        (tmp_path / "host" / "state").mkdir(exist_ok=True)
        record = host.run("exit 0")
        assert record.failure is not None, folder
        assert word in record.failure.message, (folder, record.failure.message)
        assert str(folder) in record.failure.message


def test_the_worker_tells_what_trials_see_of_a_place(home: Home) -> None:
    asked = [home.data, home.home / ".ssh", home.data / "nothing", Path("/usr/bin")]
    told = subprocess.run([find_worker(), "places", *asked], capture_output=True, check=True).stdout
    data, keys, absent, programs = json.loads(told)
    assert (data["exists"], data["is_seen"], data["objection"]) == (True, False, "")
    assert "no trial sees" in keys["objection"]
    assert not absent["exists"]
    assert programs["is_seen"]
