"""Messages that are almost right: one of ours with a few of its values replaced by what breaks readers."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

#: Where readers, databases and file systems end.
_HARD = (
    None, True, False, -1, 0, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**400, 1e308, -0.0, 5e-324,
    "", " ", "\x00", "a\x00b", "\ud800", "‮", "../../etc/passwd", "/etc/passwd", "..", ".", "-", "%00",
    "'; DROP TABLE trial; --", "<script>", "\x1b[2J", "x" * 70_000, "é" * 300, "NaN", "1e999",
    [], {}, [[]], [None] * 2000, {"": ""}, {"a": {"b": {"c": {}}}}, {"__proto__": 1},
)  # fmt: skip


def deepen(depth: int) -> Any:
    """Return a list in a list, so many times."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


hard_values = st.sampled_from(_HARD) | st.builds(deepen, st.sampled_from([10, 300, 900]))


def list_paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the place of every value in a message, the whole first."""
    paths = [before]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        paths += list_paths(part, (*before, name))
    return paths


@st.composite
def mutate(draw: st.DrawFn, message: dict[str, Any], most: int = 3) -> Any:
    """Draw a message with up to `most` of its values replaced, taken away, repeated or renamed."""
    changed: Any = copy(message)
    for _ in range(draw(st.integers(1, most))):
        path = draw(st.sampled_from(list_paths(changed)[1:] or [()]))
        if not path:
            return draw(hard_values)
        parent = changed
        for name in path[:-1]:
            parent = parent[name]
        how = draw(st.sampled_from(["replace", "replace", "replace", "drop", "repeat", "rename"]))
        if how == "replace":
            parent[path[-1]] = draw(hard_values)
        elif how == "drop":
            del parent[path[-1]]
        elif how == "rename" and isinstance(parent, dict):
            parent[draw(st.sampled_from(["", "x", "\x00", "type", "schema"]))] = parent.pop(path[-1])
        elif isinstance(parent, list):
            parent += [copy(parent[path[-1]])] * draw(st.sampled_from([1, 40]))
    return changed


def copy(value: Any) -> Any:
    """Return a message of its own with the same content."""
    if isinstance(value, dict):
        return {name: copy(part) for name, part in value.items()}
    return [copy(part) for part in value] if isinstance(value, list) else value
