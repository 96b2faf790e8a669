"""Files that no trial may have: packages that machines went down under, however they are used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from datamill.results.bundles.bundle_head import BundleHead
from datamill.service.coordinator.joining.policies import list_shipped_files
from datamill.service.coordinator.state.rows import select_rows
from datamill.service.models import FleetExperiment
from datamill.service.states import ENDED_TRIALS

_HEAD = msgspec.json.Decoder(BundleHead)


def list_quarantined() -> dict[str, str]:
    """Return why a file is in quarantine, by its SHA-256, of all that are."""
    return dict(select_rows("SELECT sha256, reason FROM datamill_quarantine WHERE lifted_unix_s IS NULL"))


def describe_quarantine(sha256: str, reason: str) -> str:
    """Return what a held experiment says of a package in quarantine."""
    return f"package {sha256[:12]} is in quarantine: {reason}"


def find_quarantine(files: Iterable[str], quarantined: Mapping[str, str]) -> str:
    """Return what keeps a trial that needs these files from being leased; empty when nothing does."""
    sha256 = next((sha256 for sha256 in files if sha256 in quarantined), None)
    return "" if sha256 is None else describe_quarantine(sha256, quarantined[sha256])


def uses_file(experiment_id: int, sha256: str) -> bool:
    """Tell whether an experiment has a file: as package, load or factor."""
    return any(item.sha256 == sha256 for item in list_shipped_files(_read_head(experiment_id)))


def find_quarantine_of_rest(experiment_id: int) -> str:
    """Return why a file that an experiment still needs is in quarantine; empty when no such file is.

    A trial that is under way needs its package as well: its attempt may be lost, and then it is leased again.
    """
    quarantined = list_quarantined()
    if not quarantined:
        return ""
    marks = ", ".join(["%s"] * len(ENDED_TRIALS))
    head = _read_head(experiment_id)
    for item in list_shipped_files(head):
        if item.sha256 not in quarantined:
            continue
        # Of a package only its own trials have need, of loads and factors all of them may.
        of_package = " AND package_sha256 = %s" if item.kind == "package" else ""
        values = [experiment_id, *ENDED_TRIALS, *([item.sha256] if of_package else [])]
        rest = f"SELECT 1 FROM datamill_trial WHERE experiment_id = %s AND state NOT IN ({marks}){of_package}"
        if select_rows(f"{rest} LIMIT 1", values):
            return quarantined[item.sha256]
    return ""


def _read_head(experiment_id: int) -> BundleHead:
    return _HEAD.decode(bytes(FleetExperiment.objects.values_list("head", flat=True).get(pk=experiment_id)))
