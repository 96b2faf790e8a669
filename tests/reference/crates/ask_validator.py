"""Prints as JSON what the validator of RO-Crates finds: `ask_validator.py CACHE CRATE`, by its Python.

It is asked as a library: its command cannot write JSON of a zip file (0.13.0).

The validator asks the web for the contexts that crates name, and without one its cache, so that they are put
there. That of RO-Crate 1.1 comes from the package rocrate, whole as it was published; of that of workflow
runs only the term is here that our crates have from it.
"""

from __future__ import annotations

import io
import json
import sys
from importlib.resources import files
from pathlib import Path

import requests
import requests_cache
import urllib3
from rocrate_validator import services

CONTEXTS = {
    "https://w3id.org/ro/crate/1.1/context": (files("rocrate") / "data" / "ro-crate.jsonld").read_bytes(),
    "https://w3id.org/ro/terms/workflow-run/context": json.dumps(
        {"@context": {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}}
    ).encode(),
}


class Shelf(requests.adapters.HTTPAdapter):
    """Answers as the web would, from this file."""

    def send(self, request, **_):
        body = CONTEXTS[request.url]
        raw = urllib3.HTTPResponse(
            io.BytesIO(body),
            headers={"Content-Type": "application/ld+json", "Content-Length": str(len(body))},
            status=200,
            preload_content=False,
            request_url=request.url,
            request_method=request.method,
        )
        return self.build_response(request, raw)


def keep_contexts(cache: str) -> None:
    """Put the contexts into a cache."""
    session = requests_cache.CachedSession(cache, backend="sqlite", expire_after=-1)
    session.mount("https://", Shelf())
    for address in CONTEXTS:
        session.get(address).raise_for_status()


def validate(cache: str, crate: str) -> str:
    """Return what a crate lacks of all that its profile asks for, and what was not looked at."""
    settings = services.ValidationSettings(
        rocrate_uri=crate,
        profile_identifier="process-run-crate-0.5",
        requirement_severity="RECOMMENDED",
        disable_remote_crate_download=False,
        offline=True,
        cache_path=Path(cache),
    )
    found = services.validate(settings)
    issues = [
        {
            "severity": issue.severity.name,
            "check": issue.check.name,
            "entity": str(issue.violatingEntity),
            "message": issue.message,
        }
        for issue in found.issues
    ]
    skipped = [detail.to_dict() for detail in found.skipped_check_details]
    return json.dumps({"issues": issues, "skipped": skipped})


keep_contexts(sys.argv[1])
print(validate(sys.argv[1], sys.argv[2]))
