"""The contract with the worker: both languages read and write the same records and messages."""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema
import msgspec
import pytest

from datamill.protocol import commands, noise, offers, quiet
from datamill.protocol import fleet as messages
from datamill.protocol import trial as trial_record
from datamill.protocol.trial import SCHEMA_VERSION

PROTOCOL = Path(__file__).resolve().parents[3] / "protocol"
KINDS: dict[str, Any] = {
    "trial-spec": trial_record.TrialSpec,
    "trial-record": trial_record.TrialRecord,
    "command-greeting": commands.CommandGreeting,
    "command-request": commands.CommandRequest,
    "command-answer": commands.CommandAnswer,
    "factor-offer": offers.FactorOffer,
    "noise": noise.NoiseFacts,
    "inventory": messages.Inventory,
    "enrolment-request": messages.EnrolmentRequest,
    "enrolment": messages.Enrolment,
    "credential-request": messages.CredentialRequest,
    "credential": messages.Credential,
    "orders": messages.Orders,
    "worker-report": messages.WorkerReport,
}
EXAMPLES = sorted(PROTOCOL.glob("*/examples/*.json"))
CLASSES = {
    cls.__name__: cls
    for module in (offers, trial_record, quiet, noise, messages, commands)
    for cls in vars(module).values()
    if isinstance(cls, type) and (issubclass(cls, msgspec.Struct) or is_dataclass(cls))
}
CONTENTS = get_args(get_type_hints(messages.WorkerReport)["content"])


def kind_of(example: Path) -> str:
    return max((kind for kind in KINDS if example.name.startswith(kind)), key=len)


def read_schema(kind: str) -> dict:
    (schema,) = PROTOCOL.glob(f"*/{kind}.schema.json")
    return json.loads(schema.read_text())


def list_fields(cls: Any) -> set[str]:
    return {field.name for field in fields(cls)} if is_dataclass(cls) else set(cls.__struct_fields__)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_survives_the_way_through_python(example: Path) -> None:
    record = msgspec.json.decode(example.read_bytes(), type=KINDS[kind_of(example)])
    assert json.loads(msgspec.json.encode(record)) == json.loads(example.read_text())
    if kind_of(example).startswith(("trial-", "command-")):
        assert record.schema == SCHEMA_VERSION
    else:
        assert getattr(record, "schema", None) in (None, messages.FLEET_SCHEMA_VERSION)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_follows_the_schema_that_rust_wrote(example: Path) -> None:
    jsonschema.validate(json.loads(example.read_text()), read_schema(kind_of(example)))


def test_there_are_examples_of_each_schema_and_each_kind_of_report() -> None:
    assert {f"{kind}.schema.json" for kind in KINDS} == {file.name for file in PROTOCOL.glob("*/*.json")}
    assert {kind_of(example) for example in EXAMPLES} == set(KINDS)
    reports = [json.loads(path.read_text()) for path in EXAMPLES if kind_of(path) == "worker-report"]
    told = {cls.__struct_config__.tag for cls in CONTENTS}
    assert {report["content"]["kind"] for report in reports} == told
    assert len(told) == 7


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_rust_know_the_same_fields(kind: str) -> None:
    schema = read_schema(kind)
    definitions = {KINDS[kind].__name__: schema} | schema.get("$defs", {})
    told = definitions.pop("ReportContent", {"oneOf": []})["oneOf"]
    compared = [(CLASSES[name], item) for name, item in definitions.items() if "properties" in item]
    by_tag = {cls.__struct_config__.tag: cls for cls in CONTENTS}
    compared += [(by_tag[item["properties"]["kind"]["const"]], item) for item in told]
    assert compared
    for cls, definition in compared:
        known = list_fields(cls) | ({"kind"} if cls in CONTENTS else set())
        assert known == set(definition["properties"]), cls
        assert set(definition.get("required", ())) <= known
