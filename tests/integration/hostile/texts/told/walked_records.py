"""Texts in records, found by their types: what is new is found by itself."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import inspect as kinds

#: Writes the text of a field, such as `KeyRequest.name`.
Writer = Callable[[str], str]


def list_text_fields(kind: Any) -> set[str]:
    """Return the fields of a record, and of the records in it, that hold free texts."""
    return set(_list_fields(kinds.type_info(kind), set()))


def _list_fields(info: kinds.Type, seen: set[type]) -> Iterator[str]:
    if isinstance(info, kinds.StructType | kinds.DataclassType):
        if info.cls in seen:
            return
        seen.add(info.cls)
        for field in info.fields:
            if _is_text(field.type):
                yield f"{info.cls.__name__}.{field.name}"
            yield from _list_fields(field.type, seen)
    for part in _list_parts(info):
        yield from _list_fields(part, seen)


def _list_parts(info: kinds.Type) -> tuple[kinds.Type, ...]:
    """Return the types of what a type holds, other than in fields."""
    if isinstance(info, kinds.Metadata):
        return (info.type,)
    if isinstance(info, kinds.UnionType):
        return info.types
    if isinstance(info, kinds.TupleType):
        return info.item_types
    if isinstance(info, kinds.CollectionType):
        return (info.item_type,)
    return (info.key_type, info.value_type) if isinstance(info, kinds.DictType) else ()


def _is_text(info: kinds.Type) -> bool:
    """Whether a field is a text, or holds some, in a list or as names."""
    if isinstance(info, kinds.StrType):
        return True
    return not isinstance(info, kinds.StructType) and any(_is_text(part) for part in _list_parts(info))


def make_record(kind: Any, write: Writer) -> Any:
    """Return a record whose texts are written by a function, and of all else the plainest value there is."""
    return msgspec.convert(_make(kinds.type_info(kind), "", write), kind, strict=False)


def make_plain(kind: Any, write: Writer) -> Any:
    """Return the same as plain values, as JSON has them."""
    return _make(kinds.type_info(kind), "", write)


def _make(info: kinds.Type, field: str, write: Writer) -> Any:
    if isinstance(info, kinds.StrType):
        return write(field)[: info.max_length]
    if isinstance(info, kinds.Metadata):
        return _make(info.type, field, write)
    if isinstance(info, kinds.LiteralType):
        return info.values[0]
    if isinstance(info, kinds.StructType | kinds.DataclassType):
        made = {
            item.encode_name: _make(item.type, f"{info.cls.__name__}.{item.name}", write)
            for item in info.fields
        }
        tag = {info.tag_field: info.tag} if isinstance(info, kinds.StructType) and info.tag_field else {}
        return tag | made
    if isinstance(info, kinds.UnionType):
        return _make(next(item for item in info.types if not isinstance(item, kinds.NoneType)), field, write)
    if isinstance(info, kinds.DictType):
        return {_make(info.key_type, field, write): _make(info.value_type, field, write)}
    if isinstance(info, kinds.TupleType):
        return [_make(item, field, write) for item in info.item_types]
    if isinstance(info, kinds.CollectionType):
        return [_make(info.item_type, field, write)]
    if isinstance(info, kinds.RawType):
        return {"text": write(field)}
    plain: Mapping[type[kinds.Type], Any] = {
        kinds.IntType: 1,
        kinds.FloatType: 0.5,
        kinds.BoolType: True,
        kinds.NoneType: None,
    }
    return plain[type(info)]


def vary_texts(kind: Any, sound: Any, write: Writer) -> Iterator[tuple[str, Any]]:
    """Yield each field that holds texts with a sound record, as JSON has it, of which that alone is written.

    Of a list the first item is looked into; records that the sound one lacks are not made.
    """
    yield from _vary(kinds.type_info(kind), sound, "", write)


def _vary(info: kinds.Type, sound: Any, field: str, write: Writer) -> Iterator[tuple[str, Any]]:
    if isinstance(info, kinds.Metadata):
        yield from _vary(info.type, sound, field, write)
    elif isinstance(info, kinds.UnionType):
        for part in info.types:
            if isinstance(part, kinds.StructType) and not _fits(part, sound):
                continue
            if not isinstance(part, kinds.NoneType):
                yield from _vary(part, sound, field, write)
    elif isinstance(info, kinds.StructType | kinds.DataclassType):
        if not isinstance(sound, Mapping):
            return
        for item in info.fields:
            name = f"{info.cls.__name__}.{item.name}"
            if _is_text(item.type):
                yield name, {**sound, item.encode_name: _make(item.type, name, write)}
            else:
                parts = _vary(item.type, sound.get(item.encode_name), name, write)
                yield from ((of, {**sound, item.encode_name: value}) for of, value in parts)
    elif isinstance(info, kinds.CollectionType) and isinstance(sound, list | tuple) and sound:
        parts = _vary(info.item_type, sound[0], field, write)
        yield from ((of, [value, *sound[1:]]) for of, value in parts)


def write_texts(kind: Any, sound: Any, write: Writer, leave: Container[str]) -> Any:
    """Return a sound record, as JSON has it, with every text written but those of fields that are left."""
    return _write(kinds.type_info(kind), sound, write, leave)


def _write(info: kinds.Type, sound: Any, write: Writer, leave: Container[str]) -> Any:
    if isinstance(info, kinds.Metadata):
        return _write(info.type, sound, write, leave)
    if isinstance(info, kinds.UnionType):
        parts = [part for part in info.types if not isinstance(part, kinds.StructType) or _fits(part, sound)]
        return sound if sound is None else _write(parts[0], sound, write, leave)
    if isinstance(info, kinds.StructType | kinds.DataclassType):
        made = dict(sound)
        for item in info.fields:
            name = f"{info.cls.__name__}.{item.name}"
            if not _is_text(item.type):
                if item.encode_name in sound:
                    made[item.encode_name] = _write(item.type, sound[item.encode_name], write, leave)
            elif name not in leave:
                made[item.encode_name] = _make(item.type, name, write)
        return made
    if isinstance(info, kinds.CollectionType):
        return [_write(info.item_type, item, write, leave) for item in sound]
    return sound


def _fits(part: kinds.StructType, sound: Any) -> bool:
    return not part.tag_field or (isinstance(sound, Mapping) and sound.get(part.tag_field) == part.tag)
