"""Programs whose slow allocations are known line by line: each line's container tells its own size.

The oracle is the program itself. Around each operation it asks `sys.getsizeof`: a dictionary or set whose
size changed got another table, and a list is reallocated when it has no room for its items or more than twice
as much (`list_resize` in CPython's `Objects/listobject.c`), which need not change its size. Some releases of
3.14 leave small lists their room: that is found out first, from lists that would get a smaller one.
"""

from __future__ import annotations

import random

_HEAD = """\
import json, sys
size = sys.getsizeof
seen = {}
class List(list): pass
class Dict(dict): pass
class Set(set): pass
kept_room = 0
for n in range(16, 100):
    x = []
    while len(x) < n: x.append(0)
    before = size(x)
    room = (before - size([])) // 8
    while len(x) >= room >> 1: x.pop()
    if size(x) == before: kept_room = max(room, kept_room)
"""
_LIST = "room < len(x) or len(x) < room >> 1 and room > kept_room"
_TABLE = "size(x) != before"
_NEW_TABLE = "size(x) != before and i > 0"
#: Event, what is made, the operation, when it is an event. `COUNT` is the number of items.
_OPERATIONS = (
    ("list_resize", "[]", "x.append(i)", _LIST),
    ("list_resize", "[0]", "x.extend((i, i, i))", _LIST),
    ("list_resize", "[0]", "x.insert(0, i)", _LIST),
    ("list_resize", "list(range(COUNT + 2))", "x.pop()", _LIST),
    ("list_resize", "list(range(COUNT + 2))", "del x[-1:]", _LIST),
    ("list_resize", "[0]", "x += [i]", _LIST),
    ("list_resize", "[0]", "x[len(x):] = [i, i]", _LIST),
    ("list_resize", "List()", "x.append(i)", _LIST),
    ("dict_resize", "{}", "x[i] = 1", _NEW_TABLE),
    ("dict_resize", "{-1: 0}", "x.setdefault(i, 2)", _TABLE),
    ("dict_resize", "{-1: 0}", "x.update({i: i, i + 0.5: 2})", _TABLE),
    ("dict_resize", "{}", "x[str(i)] = 1", _NEW_TABLE),
    ("dict_resize", "Dict()", "x[i] = 1", _NEW_TABLE),
    ("set_resize", "set()", "x.add(i)", _TABLE),
    ("set_resize", "{-1}", "x.update((i, i + 0.5))", _TABLE),
    ("set_resize", "Set()", "x.add(str(i))", _TABLE),
)


def write_program(seed: int, functions: int) -> str:
    """Write a program that prints, as JSON, a list of event, line and count."""
    drawn = random.Random(seed)
    lines = _HEAD.splitlines()
    for number in range(functions):
        event, made, operation, condition = _OPERATIONS[(seed + number) % len(_OPERATIONS)]
        count = drawn.randrange(2, 1500)
        lines += [
            f"def f{number}():",
            f"    x = {made.replace('COUNT', str(count))}",
            f"    for i in range({count}):",
            "        before = size(x)",
            "        room = (before - size(type(x)())) // 8",
            f"        {operation}",
        ]
        lines += [
            f"        seen['{event}', {len(lines)}] = seen.get(('{event}', {len(lines)}), 0) + ({condition})"
        ]
    names = [f"f{number}" for number in range(functions)] * 2
    drawn.shuffle(names)
    lines += [f"for f in ({', '.join(names)}):", "    f()"]
    lines += ["json.dump([[*place, count] for place, count in seen.items()], sys.stdout)"]
    return "\n".join(lines) + "\n"
