"""What `openapi.json` says of bodies, made from the records of the API: each field is written once, there."""

from __future__ import annotations

import types
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from ninja import Schema
from pydantic import Field, GetCoreSchemaHandler, StringConstraints, create_model
from pydantic_core import CoreSchema, core_schema

#: Texts in paths and queries: PostgreSQL cannot keep a NUL, and nobody means one.
Name = Annotated[str, StringConstraints(max_length=128, pattern=r"^[^\x00]*$")]
#: A factor and its level, as long as pages take them.
Condition = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
#: Identities in tables: what 63 bits hold.
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]

_BOUNDS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")


@dataclass(frozen=True, slots=True)
class RequestBody:
    """Marks a record as the body of a request: checked field by field, and refused with the first wrong one.

    A function declares `body: Annotated[Record, RequestBody(), Body()]`, and gets the record.
    """

    def __get_pydantic_core_schema__(self, record: type[Struct], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how a body becomes the record."""

        def read(checked: Schema) -> Struct:
            return msgspec.convert(checked.model_dump(), record)

        schema = handler.generate_schema(_make_schema(record))
        return core_schema.no_info_after_validator_function(read, schema)


def describe_record(kind: Any) -> Any:
    """Return the type that describes a record in the API's description, or a list or mapping of records.

    Bounds of `msgspec.Meta` and defaults come along; raw JSON is described as an object.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        base, *notes = parts
        return Annotated[describe_record(base), *(_bound(note) for note in notes if isinstance(note, Meta))]
    if origin in (Union, types.UnionType):
        return Union[tuple(describe_record(part) for part in parts)]  # noqa: UP007
    if origin is tuple and parts[1:] == (...,):
        # Pydantic stops at the bound of a list; of a tuple, it would keep what is wrong with each item.
        return list[describe_record(parts[0])]  # type: ignore[misc]
    if origin in (list, tuple, dict):
        return origin[tuple(describe_record(part) for part in parts)]
    if kind is msgspec.Raw:
        return dict[str, object]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _make_schema(kind)
    return kind


@cache
def _make_schema(record: type[Struct]) -> type[Schema]:
    fields: Any = {}
    for field in msgspec.structs.fields(record):
        default = ... if field.default is NODEFAULT else _copy_default(field.default)
        kind = describe_record(field.type)
        # What is raw has no type beside it that says it may be null.
        fields[field.name] = (kind | None if isinstance(field.default, msgspec.Raw) else kind, default)
    return create_model(
        record.__name__, __base__=Schema, __doc__=record.__doc__, __module__=record.__module__, **fields
    )


def _copy_default(default: object) -> object:
    """Return a default as the description of its record has it."""
    if isinstance(default, tuple):
        return list(default)
    if isinstance(default, msgspec.Raw):
        return msgspec.json.decode(default)
    return _make_schema(type(default))() if isinstance(default, Struct) else default


def _bound(note: Meta) -> Any:
    return Field(**{name: value for name in _BOUNDS if (value := getattr(note, name)) is not None})
