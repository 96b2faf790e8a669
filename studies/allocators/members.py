"""The benchmarks of Table 2.2, as they are called in today's suite, with the published counts."""

from __future__ import annotations

from typing import NamedTuple


class Member(NamedTuple):
    """A row of Table 2.2.

    Args:
        title: as published.
        folder: of the suite, without `bm_`.
        arguments: of its script.
        published: new arenas, pools taken into use, resizes of lists, dictionaries, sets.
    """

    title: str
    folder: str
    arguments: tuple[str, ...]
    published: tuple[int, int, int, int, int]


EVENTS = ("new_arena", "pool_init", "list_resize", "dict_resize", "set_resize")
MEMBERS = (
    Member("Sympy sum", "sympy", ("sum",), (208, 5047, 83175, 7175, 1921)),
    Member("Sympy str", "sympy", ("str",), (235, 2077, 89721, 36344, 1184)),
    Member("Sympy expand", "sympy", ("expand",), (38, 1402, 240528, 112457, 75)),
    Member("Sympy integrate", "sympy", ("integrate",), (33, 2837, 5664, 1348, 326)),
    Member("Genshi xml", "genshi", ("xml",), (26, 1145, 50299, 2038, 2)),
    Member("Chameleon", "chameleon", (), (6, 284, 581, 174, 0)),
    Member("Deltablue", "deltablue", (), (2, 75, 1745, 5, 0)),
    Member("Pyaes", "crypto_pyaes", (), (0, 7, 2, 3, 0)),
    Member("Django", "django_template", (), (0, 27, 21848, 108, 0)),
    Member("Dulwich", "dulwich_log", (), (2, 138, 7853, 24, 241)),
    Member("Fannkuch", "fannkuch", (), (0, 2, 13, 3, 0)),
    Member("Genshi text", "genshi", ("text",), (8, 421, 2336, 2035, 2)),
    Member("Go", "go", (), (0, 187, 7728, 248, 598)),
    Member("Json dumps", "json_dumps", (), (16, 1396, 75, 1002, 0)),
    Member("Json loads", "json_loads", (), (0, 82, 171, 402, 0)),
    Member("Pickle", "pickle", ("pickle",), (0, 1, 11, 3, 0)),
    Member("Unpickle", "pickle", ("unpickle",), (0, 8, 71, 243, 0)),
    Member("Pickle List", "pickle", ("pickle_list",), (0, 2, 11, 3, 0)),
    Member("Unpickle List", "pickle", ("unpickle_list",), (0, 2, 321, 3, 0)),
    Member("Pickle Dict", "pickle", ("pickle_dict",), (0, 2, 11, 3, 0)),
    Member("Raytrace", "raytrace", (), (1, 7, 45789, 5, 0)),
    Member("Regex Compile", "regex_compile", (), (0, 1211, 56893, 2801, 0)),
    Member("Regex Effbot", "regex_effbot", (), (0, 2, 10, 3, 0)),
    Member("Regex V8", "regex_v8", (), (2, 248, 11755, 4, 0)),
)
