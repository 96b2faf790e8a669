"""Files that a browser brings: whatever they are called, what is kept is a package with a plain name."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from integration.hostile.users.served_users import pack_headers
from integration.service.api_users import SCRIPT, make_package

from datamill.experiment.file.fields import NAME
from datamill.service.models import Event, StoredFile

NAMES = (
    "../../../etc/cron.d/x.tar.gz", "/etc/passwd", "....tar.gz", "C:\\Windows\\x.tar.gz", ".tar.gz",
    "a\x1b[31m.tar.gz", "\u202egz.rat.a", "a\x00b.tar.gz", "x" * 500 + ".tar.gz", "CON.tar.gz",
    "-rf.tar.gz", "$(id).tgz",
    "<script>alert(1)</script>.tar.gz", "\N{GRINNING FACE}.tar.gz", "a;b|c&d.tar.gz", "%2e%2e%2fx.tar.gz",
)  # fmt: skip


@pytest.fixture
def client(memory_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    assert memory_database == "sqlite"
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path / "data")
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create(username="mallory"))
    return client


def bring(client: Client, content: bytes, name: str = "p.tar.gz") -> str:
    """Upload a file, and return what the page then says."""
    # Written here: Django's own client would send the last part of the name alone.
    head = f'--dm\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    body = head + content + b"\r\n--dm--\r\n"
    kind = "multipart/form-data; boundary=dm"
    answer = client.post("/experiments/new/upload", body, content_type=kind, follow=True)
    assert answer.status_code == 200, (name, answer.status_code)
    return answer.content.decode()


def list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_package_is_kept_under_a_plain_name_whatever_its_file_is_called(
    client: Client, tmp_path: Path
) -> None:
    for number, name in enumerate(NAMES):
        bring(client, make_package(f"# {number}\n"), name)
    stored = list(StoredFile.objects.all())
    assert len(stored) == len(NAMES)
    for item in stored:
        assert NAME.fullmatch(item.name), item.name
        archive = client.get(f"/packages/{item.pk}/archive")
        assert archive.status_code == 200
        assert re.fullmatch(
            r'attachment; filename="[A-Za-z0-9._+-]+\.tar\.gz"', archive["Content-Disposition"]
        )
    # By its content and nowhere else: no name becomes a path.
    assert {path.name for path in list_files(tmp_path)} == {item.pk for item in stored}
    assert not [event for event in Event.objects.all() if not event.detail.isprintable()]


@pytest.mark.parametrize("name", [".", "..", "/", "..\\"])
def test_a_file_without_a_name_is_not_kept(client: Client, tmp_path: Path, name: str) -> None:
    assert "No file was chosen" in bring(client, make_package(), name)
    assert list_files(tmp_path) == []


def pack_members(*members: tarfile.TarInfo, files: Mapping[str, bytes] | None = None) -> bytes:
    """A `.tar.gz` of a sound package with further members."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in {"run.sh": SCRIPT, "collect.sh": SCRIPT, **(files or {})}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
        for member in members:
            tar.addfile(member)
    return packed.getvalue()


def name_member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


#: Archive -> what the refusal says of it.
ARCHIVES = {
    "a path that leads up": (pack_members(name_member("../../x")), "a path with .."),
    "an absolute path": (pack_members(name_member("/etc/x")), "an absolute path"),
    "a link that leads outside": (
        pack_members(name_member("x", tarfile.SYMTYPE, "/etc/passwd")),
        "leads outside",
    ),
    "a hard link that leads outside": (
        pack_members(name_member("x", tarfile.LNKTYPE, "../x")),
        "leads outside",
    ),
    "a device": (pack_members(name_member("x", tarfile.BLKTYPE)), "a device, socket or pipe"),
    "a pipe": (pack_members(name_member("x", tarfile.FIFOTYPE)), "a device, socket or pipe"),
    "a script twice": (pack_members(name_member("run.sh")), "two members are called"),
    "a file in a file": (pack_members(name_member("run.sh/x")), "which is not a folder"),
    "eight gigabytes of nothing": (pack_headers((b"0", (8 << 30) - 1), size=4 << 20), ""),
    "no archive": (b"MZ\x90\x00" * 100, "not a readable .tar.gz"),
    "a page": (b"<script>alert(1)</script>", "not a readable .tar.gz"),
}


@pytest.mark.parametrize("archive", ARCHIVES)
def test_an_archive_that_does_harm_is_refused_in_a_sentence_and_not_kept(
    client: Client, tmp_path: Path, archive: str
) -> None:
    content, words = ARCHIVES[archive]
    page = bring(client, content)
    assert 'class="message bad' in page
    assert words in page
    assert not StoredFile.objects.exists()
    assert list_files(tmp_path) == []
    # Where it lay meanwhile is nobody's business.
    assert str(tmp_path) not in page


def test_names_that_differ_in_capitals_alone_stay_two_files(client: Client) -> None:
    bring(client, pack_members(files={"data": b"1", "DATA": b"2", "Run.sh": b"3"}))
    stored = StoredFile.objects.get()
    page = client.get(f"/packages/{stored.pk}").content.decode()
    assert all(f">{name}<" in page for name in ("data", "DATA", "Run.sh", "run.sh"))
