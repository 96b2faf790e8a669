"""Crates of bundles, by the reference validator: what its profile requires, and all but named exceptions."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from made.synthetic import fit_record, make_bundle_folder, make_record
from reference.crates.validator import NO_ORGANISATION, SOFTWARE_HAS_NO_ADDRESS, validate_crate

from datamill.results.bundles.opening import open_bundle
from datamill.results.crates.description import Description, describe, describe_unpublished
from datamill.results.crates.metadata import METADATA_FILE
from datamill.results.crates.writing import write_crate

LAB = "The Lab <https://lab.example/>"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle with a file of each kind, and names that an address has to spell."""
    folder = tmp_path / "bundle"
    make_bundle_folder(folder)
    # The packages are empty files.
    head = folder / "bundle.json"
    head.write_text(head.read_text().replace("0" * 64, hashlib.sha256(b"").hexdigest()))
    made = open_bundle(folder)
    made.append_records([fit_record(make_record(trial.trial_id), made) for trial in made.design.trials])
    for name in ("table.csv", "table.parquet", "report.html", "fleet.json", "late.jsonl", "loads/a b.tar.gz"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"{}")
    (folder / "factors" / "turbo").mkdir(parents=True)
    (folder / "factors" / "turbo" / "set.sh").write_bytes(b"#!/bin/sh")
    (folder / "artifacts" / "t00001.1").mkdir(parents=True)
    (folder / "artifacts" / "t00001.1" / "run stdout").write_text("printed")
    return folder


DESCRIPTIONS = {
    "of a laboratory": (
        describe("Which is faster?", "Doe, Jane\nRoe", "CC-BY-4.0", now_s=1.8e9, organisation=LAB),
        SOFTWARE_HAS_NO_ADDRESS,
    ),
    "of one person": (
        describe("Ää “q” 研", "root", "MIT", now_s=1.8e9, address="https://lab.example/p/1"),
        SOFTWARE_HAS_NO_ADDRESS | NO_ORGANISATION,
    ),
    "without a licence": (
        describe_unpublished("Which is faster?", "ada", now_s=1.8e9),
        SOFTWARE_HAS_NO_ADDRESS | NO_ORGANISATION,
    ),
}


@pytest.mark.parametrize("case", DESCRIPTIONS)
def test_the_validator_accepts_a_crate(bundle: Path, case: str) -> None:
    description, not_followed = DESCRIPTIONS[case]
    write_crate(bundle, bundle.parent / "made.zip", description)
    found = validate_crate(bundle.parent / "made.zip", bundle.parent)
    assert found.missing == set(), found.told
    assert found.not_followed == not_followed, found.told


def test_the_validator_finds_what_a_crate_lacks(bundle: Path) -> None:
    description: Description = DESCRIPTIONS["of a laboratory"][0]
    write_crate(bundle, bundle.parent / "made.zip", description)
    with zipfile.ZipFile(bundle.parent / "made.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    metadata = json.loads(files[METADATA_FILE])
    root = next(item for item in metadata["@graph"] if item["@id"] == "./")
    del root["license"]
    root["conformsTo"] = {"@id": "https://example.org/"}
    del files["log.jsonl"]
    files[METADATA_FILE] = json.dumps(metadata).encode()
    with zipfile.ZipFile(bundle.parent / "spoilt.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    found = validate_crate(bundle.parent / "spoilt.zip", bundle.parent)
    assert {
        "Root Data Entity: `license` property",
        "Root Data Entity conformsTo",
        "Data Entity: REQUIRED resource availability",
    } <= found.missing
