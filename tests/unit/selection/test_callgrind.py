from __future__ import annotations

from made.selection.selection_records import make_function, make_table
from msgspec.structs import replace

from datamill.selection.profiles.callgrind import build_profile, read_callgrind

#: main of the program calls work twice, work calls itself once and the C library, which calls work once.
COUNTS = """# callgrind format
positions: line
events: Ir

ob=(1) /bin/program
fl=(1) a.c
fn=(1) main
10 5
cfn=(2) work
calls=2 20
11 700
+1 3
fn=(2)
20 40
cfn=(3) work'2
calls=1 20
* 100
cob=(2) /lib/libc.so
cfn=(4) qsort
calls=1 1
* 300

fn=(3)
20 60

ob=(2)
fn=(4)
1 200
cob=(1)
cfn=(2)
calls=1 20
+1 100

totals: 308
"""


def test_own_instructions_and_all_calls_are_counted_of_the_program_alone():
    counts = read_callgrind(COUNTS.splitlines(), "/bin/program")
    found = {name: (item.calls, item.instructions) for name, item in counts.items()}
    assert found == {"main": (0, 8), "work": (4, 100)}


def test_functions_of_one_symbol_all_get_its_counts():
    twins = [replace(make_function(name, name), symbol="work") for name in ("work (a.c)", "work (b.c)")]
    table = make_table(make_function("main"), *twins, make_function("never"))
    profile = build_profile("bench", table, read_callgrind(COUNTS.splitlines(), "/bin/program"))
    assert set(profile.functions) == {"main", "work (a.c)", "work (b.c)"}
    assert {profile.functions[twin.name].calls for twin in twins} == {4}
