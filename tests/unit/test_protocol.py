"""The contract with the worker: both languages read and write the same records."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from datamill.results import trial_record
from datamill.results.trial_record import SCHEMA_VERSION, TrialRecord, TrialSpec

PROTOCOL = Path(__file__).resolve().parent.parent.parent / "protocol"
KINDS = {"trial-spec": TrialSpec, "trial-record": TrialRecord}
EXAMPLES = sorted((PROTOCOL / "examples").glob("*.json"))


def kind_of(example: Path) -> str:
    return next(kind for kind in KINDS if example.name.startswith(kind))


def read_schema(kind: str) -> dict:
    return json.loads((PROTOCOL / f"{kind}.schema.json").read_text())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_survives_the_way_through_python(example: Path) -> None:
    record = msgspec.json.decode(example.read_bytes(), type=KINDS[kind_of(example)])
    assert json.loads(msgspec.json.encode(record)) == json.loads(example.read_text())
    assert record.schema == SCHEMA_VERSION


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_follows_the_schema_that_rust_wrote(example: Path) -> None:
    jsonschema.validate(json.loads(example.read_text()), read_schema(kind_of(example)))


def test_there_are_examples_of_each_kind() -> None:
    assert {kind_of(example) for example in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_python_and_rust_know_the_same_fields(kind: str) -> None:
    schema = read_schema(kind)
    definitions = {kind: schema} | schema.get("$defs", {})
    classes = {kind: KINDS[kind]}
    for cls in vars(trial_record).values():
        if isinstance(cls, type) and issubclass(cls, msgspec.Struct):
            classes[cls.__name__] = cls
    compared = 0
    for name, definition in definitions.items():
        if "properties" in definition:
            fields = set(classes[name].__struct_fields__)
            assert fields == set(definition["properties"]), name
            assert set(definition.get("required", ())) <= fields
            compared += 1
    assert compared >= 3
