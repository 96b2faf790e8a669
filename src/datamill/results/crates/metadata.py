"""`ro-crate-metadata.json` of a bundle: RO-Crate 1.1 with the profile Process Run Crate 0.5."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from datamill.results.crates.crate_files import (
    CrateFile,
    Entity,
    describe_artifacts,
    describe_file,
    is_artifact,
    was_given,
    was_made,
)
from datamill.results.crates.description import LICENCES, Author, Description, Organisation

METADATA_FILE = "ro-crate-metadata.json"
_CRATE = "https://w3id.org/ro/crate/1.1"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_CONTEXT = (f"{_CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context")
#: The entity that stands for datamill, which has no address on the web.
_SOFTWARE = "urn:datamill:software"
_RUN = "#execution"


@dataclass(frozen=True, slots=True)
class CrateFacts:
    """What of an execution the metadata tell: when it was, where, with which datamill, of how many trials."""

    experiment: str
    version: str
    started_unix_s: float
    ended_unix_s: float
    machines: tuple[str, ...]
    trials: int
    complete: bool


def write_metadata(description: Description, facts: CrateFacts, files: Sequence[CrateFile]) -> bytes:
    """Return the metadata file; what lies in `artifacts/` is one entity, however much it is."""
    parts = [describe_file(file) for file in files if not is_artifact(file)]
    if len(parts) < len(files):
        parts.append(describe_artifacts(len(files) - len(parts)))
    licence = _describe_licence(description.licence)
    given = description.organisation
    organisation = None if given is None else _describe_organisation(given)
    authors = [
        _describe_author(author, number, organisation) for number, author in enumerate(description.authors, 1)
    ]
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": description.title,
        "description": _describe_root(description, facts),
        "datePublished": description.date,
        "license": _point(licence),
        "author": _point(*authors),
        "conformsTo": {"@id": _PROFILE},
        "hasPart": _point(*parts),
        "mentions": {"@id": _RUN},
        "keywords": ["computer performance", "experiment", "datamill"],
    }
    if organisation is not None:
        root["publisher"] = _point(organisation)
    if description.address:
        root |= {"url": description.address, "identifier": description.address}
    graph: list[Entity] = [
        {
            "@id": METADATA_FILE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": _CRATE},
        },
        root,
        *authors,
        *([] if organisation is None else [organisation]),
        licence,
        {
            "@id": _PROFILE,
            "@type": "CreativeWork",
            "name": "Process Run Crate",
            "version": "0.5",
        },
        {
            "@id": _SOFTWARE,
            "@type": "SoftwareApplication",
            "name": "datamill",
            "softwareVersion": facts.version,
            "description": "A laboratory for computer performance: it plans, runs and analyses experiments.",
        },
        _describe_run(facts, parts),
        *parts,
    ]
    text = json.dumps({"@context": list(_CONTEXT), "@graph": graph}, indent=1, ensure_ascii=False)
    return text.encode() + b"\n"


def _point(*entities: Entity) -> Entity | list[Entity]:
    """Return references to entities, one alone without a list, as RO-Crate recommends."""
    found: list[Entity] = [{"@id": entity["@id"]} for entity in entities]
    return found[0] if len(found) == 1 else found


def _describe_root(description: Description, facts: CrateFacts) -> str:
    machines = ", ".join(facts.machines[:20]) or "one machine"
    told = f"A performance experiment, {facts.experiment}: {facts.trials} trials on {machines}."
    return f"{description.summary} {told}".strip()


def _describe_licence(licence: str) -> Entity:
    if not licence:
        return {
            "@id": "#licence",
            "@type": "CreativeWork",
            "name": "No licence",
            "description": "This copy carries no licence. Ask its authors before you hand it on.",
        }
    return {
        "@id": LICENCES[licence],
        "@type": "CreativeWork",
        "name": licence,
        "description": "Its parts may be used under this licence.",
    }


def _describe_organisation(organisation: Organisation) -> Entity:
    told: Entity = {
        "@id": organisation.address or "#organisation",
        "@type": "Organization",
        "name": organisation.name,
    }
    return told | {"url": organisation.address} if organisation.address else told


def _describe_author(author: Author, number: int, organisation: Entity | None) -> Entity:
    told: Entity = {"@id": f"#author-{number}", "@type": "Person", "name": author.name}
    if author.given:
        told |= {"familyName": author.family, "givenName": author.given}
    if organisation is not None:
        told["affiliation"] = _point(organisation)
    return told


def _describe_run(facts: CrateFacts, parts: Sequence[Entity]) -> Entity:
    status = "CompletedActionStatus" if facts.complete else "FailedActionStatus"
    entity: Entity = {
        "@id": _RUN,
        "@type": "CreateAction",
        "name": f"Execution of the experiment {facts.experiment}",
        "description": f"{facts.trials} trials on {', '.join(facts.machines[:20]) or 'one machine'}",
        "instrument": {"@id": _SOFTWARE},
        "agent": {"@id": "#author-1"},
        "object": _point(*(part for part in parts if was_given(str(part["@id"])))),
        "result": _point(*(part for part in parts if was_made(str(part["@id"])))),
        "actionStatus": f"http://schema.org/{status}",
    }
    if not facts.complete:
        entity["error"] = "Not all planned trials ended."
    if facts.started_unix_s:
        entity["startTime"] = _spell_time(facts.started_unix_s)
    if facts.ended_unix_s:
        entity["endTime"] = _spell_time(facts.ended_unix_s)
    return entity


def _spell_time(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="seconds")
