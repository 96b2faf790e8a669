"""A package that tries all it can against its machine, in every kind of world, as the documentation tells."""

import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from datamill.execution.worker import find_worker
from datamill.service.serving.storage.data_folder import DataFolder

ROOT = Path(__file__).resolve().parents[4]
ATTACKS = Path(__file__).with_name("package_attacks.py")
KINDS = ("confined", "user_namespace", "overlay", "plain")
PYTHON = "/usr/bin/python3"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="attacks on root's worlds need root"),
    pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"the attacking package needs {PYTHON}"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of system calls are those of x86_64"),
]


class Machine:
    """Secrets, sockets and a process of a host, planted for an attack."""

    def __init__(self, folder: Path) -> None:
        self.canary = f"canary-{uuid.uuid4().hex}"
        mark = uuid.uuid4().hex[:12]
        self.home = Path("/root") / f".datamill-attack-{mark}"
        self.folders = [Path("/srv") / f"datamill-{mark}", Path("/var/lib") / f"datamill-{mark}", self.home]
        listed, data, home = self.folders
        secrets = {
            listed / "open.txt": 0o644,
            data / "admin-password": 0o600,
            home / "id_ed25519": 0o600,
            Path("/tmp") / f"datamill-{mark}": 0o644,
            folder / "state/fleet/identity.json": 0o644,
            folder / "state/host/journal.json": 0o644,
        }
        for path, mode in secrets.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.canary)
            path.chmod(mode)
        data.chmod(0o700)
        # Where nobody would look: it is known because a coordinator keeps its data there.
        unusual = Path("/usr/local/lib") / f"datamill-{mark}"
        (unusual / "a/b").mkdir(parents=True)
        DataFolder(unusual / "a/b/data")
        (unusual / "a/b/data").chmod(0o755)
        (unusual / "a/b/data/session-key").write_text(self.canary)
        (unusual / "a/b/data/session-key").chmod(0o600)
        self.folders.append(unusual)
        # Other names of the same: a hard link, a link, and a bind mount.
        os.link(data / "admin-password", Path("/var/lib") / f"datamill-{mark}-link")
        Path("/srv", f"datamill-{mark}-symlink").symlink_to(listed / "open.txt")
        self.alias = Path("/mnt") / f"datamill-{mark}"
        self.alias.mkdir()
        subprocess.run(["mount", "--bind", str(listed), str(self.alias)], check=True)
        self.others = [Path("/var/lib") / f"datamill-{mark}-link", Path("/srv") / f"datamill-{mark}-symlink"]
        self.covered = [str(listed)]
        kept = unusual / "a/b/data/session-key"
        self.secrets = [str(path) for path in (*secrets, kept, *self.others, self.alias / "open.txt")]
        self.files = [Path("/tmp") / f"datamill-{mark}"]
        self.port = socket.create_server(("127.0.0.1", 0))
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0datamill-{mark}")
        self.abstract.listen()
        self.socket_file = f"/run/datamill-{mark}"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.socket_file)
        self.socket.listen()
        self.outside = subprocess.Popen(["sleep", "600"], env={"SECRET": self.canary})
        self.mark = mark

    def remove(self) -> None:
        self.outside.kill()
        self.outside.wait()
        for line in (self.port, self.abstract, self.socket):
            line.close()
        subprocess.run(["umount", str(self.alias)], check=True)
        self.alias.rmdir()
        for path in (*self.others, *self.files, Path(self.socket_file)):
            path.unlink()
        for folder in self.folders:
            shutil.rmtree(folder)


@pytest.fixture
def machine(tmp_path: Path, whole_machine: None) -> Iterator[Machine]:  # noqa: ARG001 - attacks set it
    planted = Machine(tmp_path)
    yield planted
    planted.remove()


def attack(
    folder: Path, kind: str, machine: Machine, collect: str = "", through: Sequence[str] = ()
) -> tuple[dict[str, Any], str, str]:
    """Run the attacks as a package; return the record and what `run.sh` printed."""
    package = folder / "package"
    package.mkdir()
    given = {
        "secrets": machine.secrets,
        "canary": machine.canary,
        "own": "package_attacks.py",
        "port": machine.port.getsockname()[1],
        "abstract": f"datamill-{machine.mark}",
        "socket": machine.socket_file,
        "kind": kind,
        "disk": folder.stat().st_dev,
        "disk_of": "/",
        "outside": machine.outside.pid,
        "mark": "sleep",
    }
    scripts = {
        "run.sh": f"#!/bin/sh\nexec {PYTHON} package_attacks.py\n",
        "collect.sh": collect or "#!/bin/sh\necho x > result.txt\necho result.txt\n",
        "package_attacks.py": ATTACKS.read_text(),
    }
    for name, text in scripts.items():
        (package / name).write_text(text)
        (package / name).chmod(0o755)
    # Split, so that the package's own file is not taken for a secret.
    half = len(machine.canary) // 2
    literal = json.dumps(given).replace(machine.canary, machine.canary[:half] + "|" + machine.canary[half:])
    source = scripts["package_attacks.py"].replace(
        'json.loads(os.environ["ATTACK"])', f"json.loads({literal!r}.replace('|', ''))"
    )
    (package / "package_attacks.py").write_text(source)
    archive = folder / "package.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(package, ".")
    spec = json.loads((ROOT / "protocol/trials/examples/trial-spec.json").read_text())
    spec.update(
        package={"name": "attack", "path": str(archive), "sha256": None},
        levels={}, user_factors=[], background=None, isolation=kind, build="fresh", needs={},
        covered=machine.covered, scratch_dir=str(folder / "scratch"), cache_dir=str(folder / "cache"),
        output_dir=str(folder / "output"),
    )  # fmt: skip
    # Attacks make the machine busy themselves; nobody waits for quiet.
    spec.pop("quiet", None)
    spec["limits"].update(run_timeout_s=300.0, output_bytes=1 << 20, world_bytes=0)
    (folder / "spec.json").write_text(json.dumps(spec))
    done = subprocess.run(
        [*through, find_worker(), "run-trial", folder / "spec.json"],
        env={**os.environ, "DATAMILL_STATE_DIR": str(folder / "state/host")},
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    output = folder / "output"
    return json.loads(done.stdout), (output / "run.out").read_text(), (output / "run.err").read_text()


def read_documented_table() -> dict[str, dict[str, str]]:
    """Return what the documentation says of each attack, by kind of world."""
    text = (ROOT / "docs/reference/packages.md").read_text()
    table = re.search(r"<!-- attacks -->\n(.*?)\n<!-- end of attacks -->", text, re.S)
    assert table is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]
    kinds = [cell.strip("`") for cell in rows[0][1:]]
    return {row[0]: dict(zip(kinds, row[1:], strict=True)) for row in rows[2:]}


@pytest.mark.parametrize("kind", KINDS)
def test_each_attack_of_a_package_is_stopped_where_the_documentation_says_so(
    kind: str, tmp_path: Path, machine: Machine
) -> None:
    record, printed, said = attack(tmp_path, kind, machine)
    assert record["outcome"] == "completed", (record["failure"], said)
    assert record["isolation"]["kind"] == kind
    outcomes = json.loads(printed)
    documented = {name: row[kind] for name, row in read_documented_table().items()}
    assert outcomes.keys() == documented.keys(), (
        "each attack has a row in docs/reference/packages.md, and each row an attack"
    )
    # What a kind does nothing against, this machine may well stop.
    untrue = [name for name, succeeded in outcomes.items() if succeeded and documented[name] != "possible"]
    assert not untrue, said
    if kind == "confined":
        assert set(documented.values()) == {"stopped"}
        assert record["isolation"]["owner"] is not None
        assert not record["isolation"]["gaps"]


def test_the_attacks_do_succeed_where_nothing_stops_them(tmp_path: Path, machine: Machine) -> None:
    _, printed, said = attack(tmp_path, "plain", machine)
    outcomes = json.loads(printed)
    assert sum(outcomes.values()) > len(outcomes) / 2, said
    assert outcomes["Read a secret at its path"]
    assert outcomes["Find a secret by a walk over all files"]


@pytest.mark.parametrize("kind", ["confined", "user_namespace"])
@pytest.mark.parametrize("path", ["/proc/1/root{}", "/proc/self/root{}", "{}", "link"])
def test_the_worker_collects_no_file_of_the_host_for_a_package(
    kind: str, path: str, tmp_path: Path, machine: Machine
) -> None:
    secret = machine.secrets[1]
    collect = f"#!/bin/sh\nln -s {secret} link\necho {path.format(secret)}\n"
    record, _, _ = attack(tmp_path, kind, machine, collect)
    assert record["failure"]["kind"] == "no_archive", record["failure"]
    kept = [file for file in (tmp_path / "output").iterdir() if machine.canary in file.read_text()]
    assert not kept


def test_nothing_of_an_attack_is_left_on_the_machine(tmp_path: Path, machine: Machine) -> None:
    # On the mounts of this moment: others make and take away some of the machine's meanwhile.
    look = f"cat /proc/self/mountinfo >{tmp_path}/"
    through = ["unshare", "--mount", "sh", "-c", f'{look}before; "$@"; {look}after', "sh"]
    attack(tmp_path, "confined", machine, through=through)
    before = (tmp_path / "before").read_text()
    assert str(machine.alias) in before
    assert (tmp_path / "after").read_text() == before
    assert "package_attacks" not in subprocess.run(["ps", "ax"], capture_output=True, text=True).stdout
    assert not (tmp_path / "scratch").exists()
