"""What `openapi.json` says of bodies is what the records of the API are."""

from __future__ import annotations

import importlib
import pkgutil

import msgspec
import pytest

from datamill.protocol import api as protocol_api
from datamill.service.api.api import api

#: Records that travel outside bodies of JSON: server-sent events, notices, and files of a bundle.
_ELSEWHERE = {
    "ProgressNews",
    "OutputNews",
    "EndNews",
    "FleetMember",
    "FleetSummary",
    "BundleEnd",
    "BundleProfile",
    "NoticeData",
    "NoticeBody",
}


def list_records() -> list[type[msgspec.Struct]]:
    modules = [
        importlib.import_module(f"{protocol_api.__name__}.{found.name}")
        for found in pkgutil.iter_modules(protocol_api.__path__)
    ]
    return [
        item
        for module in modules
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, msgspec.Struct) and item.__module__ == module.__name__
    ]


@pytest.mark.parametrize("record", list_records(), ids=lambda record: record.__name__)
def test_a_body_is_described_by_its_record(record: type[msgspec.Struct]) -> None:
    described = api.get_openapi_schema()["components"]["schemas"]
    if record.__name__ in _ELSEWHERE:
        assert record.__name__ not in described
        return
    body, fields = described[record.__name__], msgspec.structs.fields(record)
    assert list(body["properties"]) == [field.name for field in fields]
    assert body.get("required", []) == [field.name for field in fields if field.required]
    assert body["description"].split() == (record.__doc__ or "").split()


def test_bounds_of_a_request_are_described() -> None:
    described = api.get_openapi_schema()["components"]["schemas"]
    assert described["SubmittedFile"]["properties"]["sha256"]["pattern"] == "^[0-9a-f]{64}$"
    assert described["SubmissionRequest"]["properties"]["text"]["maxLength"] == 1 << 20
    assert described["SubmissionRequest"]["properties"]["packages"]["maxItems"] == 1000
    assert described["TokenRequest"]["properties"]["life_s"]["exclusiveMinimum"] == 0
    assert described["WorkerDetail"]["properties"]["inventory"]["type"] == "object"
