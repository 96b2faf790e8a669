"""Bundles that would be wrong are not sent, and those that arrive wrong are refused."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from integration.service.small_fleet import Fleet

from datamill.conduct.fleet.take_home import check_bundle, unpack_bundle
from datamill.experiment.errors import InputError
from datamill.results.bundles.opening import open_bundle
from datamill.service.files.disk import name_stored_file
from datamill.service.models import FleetExperiment, Trial

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[1:], "only in log.jsonl"),
        (lambda lines: [*lines, lines[0].replace(b'"attempt":1', b'"attempt":9')], "not in log.jsonl"),
        (lambda lines: [lines[0].replace(b"true", b"false"), *lines[1:]], "not every trial counts once"),
        (lambda lines: [b"{}", *lines[1:]], "not an attempt"),
    ],
)
def test_a_judgement_that_does_not_fit_the_log_is_refused(tmp_path: Path, change: Any, words: str) -> None:
    fleet = Fleet()
    fleet.finish()
    bundle, _, _ = fleet.fetch(tmp_path / "bundle")
    file = bundle.folder / "attempts.jsonl"
    file.write_bytes(b"\n".join(change(file.read_bytes().splitlines())) + b"\n")
    with pytest.raises(InputError, match=words) as caught:
        open_bundle(bundle.folder).read_records()
    assert str(file) in caught.value.where


@pytest.mark.usefixtures("database")
def test_a_bundle_that_would_be_wrong_is_not_sent() -> None:
    fleet = Fleet()
    fleet.finish()
    name_stored_file(fleet.body["packages"][0]["sha256"]).unlink()
    status, refused = fleet.ada.get(f"/experiments/{fleet.number}/bundle")
    assert status == 500
    assert "cannot vouch for this bundle" in refused["message"]
    assert "packages/p1.tar.gz is no longer in the store" in refused["message"]


@pytest.mark.usefixtures("database")
def test_a_plan_that_is_no_longer_the_one_submitted_is_not_sent() -> None:
    fleet = Fleet()
    sealed = FleetExperiment.objects.get(pk=fleet.number)
    with tarfile.open(fileobj=io.BytesIO(fleet.read())) as archive:
        design = archive.extractfile("design.json")
        assert design is not None
        content = design.read()
    assert hashlib.sha256(content).hexdigest() == sealed.design_sha256
    trial = Trial.objects.filter(experiment=sealed, purpose="design").earliest("position")
    Trial.objects.filter(pk=trial.pk).update(plan=bytes(trial.plan).replace(b'"seed":', b'"seed":1'))
    status, refused = fleet.ada.get(f"/experiments/{fleet.number}/bundle")
    assert status == 500
    assert "the plan is not the one that was submitted" in refused["message"]


@pytest.mark.usefixtures("database")
def test_the_seal_of_a_plan_cannot_be_changed() -> None:
    fleet = Fleet()
    for seal in ("0" * 64, None):
        with pytest.raises(IntegrityError), transaction.atomic():
            FleetExperiment.objects.filter(pk=fleet.number).update(design_sha256=seal)


@pytest.mark.usefixtures("memory_database")
def test_a_bundle_that_was_cut_off_is_not_taken_for_whole(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    whole = fleet.read()
    cuts = [0, 100, 512, 5000, len(whole) // 2, len(whole) - 2048]
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        # Between two files, where a tar archive looks as if it had ended.
        cuts += [member.offset for member in tar]
    for number, cut in enumerate(cuts):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(InputError, match="cut off"):
            unpack_bundle(io.BytesIO(whole[:cut]), folder)


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside"])
def test_files_outside_the_bundle_are_not_written(tmp_path: Path, name: str) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    (tmp_path / "bundle").mkdir()
    with pytest.raises(InputError, match="not a plain file below the bundle"):
        unpack_bundle(io.BytesIO(plain.getvalue()), tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == [tmp_path / "bundle"]


def test_links_in_a_bundle_are_refused(tmp_path: Path) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        link = tarfile.TarInfo("log.jsonl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(InputError, match="not a plain file below the bundle"):
        unpack_bundle(io.BytesIO(plain.getvalue()), tmp_path)


@pytest.mark.usefixtures("memory_database")
def test_a_log_that_counts_other_attempts_is_refused(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.finish()
    folder = tmp_path / "bundle"
    folder.mkdir()
    end = unpack_bundle(io.BytesIO(fleet.read()), folder)
    log = folder / "log.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    with pytest.raises(InputError, match=r"is not in log\.jsonl"):
        check_bundle(folder, end)
    log.write_bytes(whole)
    attempts = folder / "attempts.jsonl"
    attempts.write_bytes(attempts.read_bytes().replace(b"slow", b"fast"))
    with pytest.raises(InputError, match="not those that count for the coordinator"):
        check_bundle(folder, end)
