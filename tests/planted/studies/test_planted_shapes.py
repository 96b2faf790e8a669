"""Programs of unlike shapes whose edits change the work or do not, predicted as a young history would."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from datamill.conduct.selection.deciding.other_projects import read_others
from datamill.conduct.selection.profile_command import count_command
from datamill.conduct.selection.read_program import read_program
from datamill.selection.changes.table_changes import compare_tables
from datamill.selection.features.vector import read_features
from datamill.selection.indicators.evidence import Evidence
from datamill.selection.predictors.case import Case
from datamill.selection.predictors.models.guarded import Guarded
from datamill.selection.profiles.callgrind import build_profile

HEADER = """#define ROUNDS 6
/*HEADER*/
static inline int tiny(int x) { return x * 3 + 1; }
int top(int); int cold(int);
"""
SOURCE = """#include "a.h"
#include <assert.h>
#include <stdio.h>
#define APART __attribute__((noinline))
static const int bounds[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
struct way { const int *bounds; int (*by)(int); };
APART static int leaf(int x) { int s = 0; for (int i = 0; i < ROUNDS; i++) s += x ^ i; return s; }
APART static int middle(int x) { assert(x >= 0); return leaf(x) + 1; }
static int inlined(int x) { int s = 0; for (int i = 0; i < 4; i++) s ^= i * x; return s; }
APART static int by_way(int x) { return x ^ 5; }
static struct way way = {bounds, by_way};
static struct way *volatile ways = &way;
APART int cold(int x) { if (x == 77) puts("never so cold"); return x * 17; }
APART int top(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    s += middle(i) + tiny(s) + inlined(i) + ways->by(i);
    for (int j = 0; j < ways->bounds[i & 15]; j++) s ^= j * i;
  }
  return s;
}
int main(int count, char **words) {
  int s = top(3000);
  if (count > 5) s += cold(s);
  printf("%d\\n", s & 7);
  return 0;
}
"""
#: Edits of the header or the source.
WORK = {
    "a callee two levels down": ("s += x ^ i;", "s += (x ^ i) + (s >> 3);"),
    "a function that is inlined": ("s ^= i * x;", "s ^= i * x + (s >> 2);"),
    "an inline function of a header": ("x * 3 + 1", "(x * 3 + 1) ^ (x >> 2)"),
    "a macro of a header": ("ROUNDS 6", "ROUNDS 7"),
    "the last entry of a table behind a pointer": ("9, 7, 9, 3}", "9, 7, 9, 8}"),
}
IDLE = {
    "comments": ("/*HEADER*/", "/* some\nmore\nlines */"),
    "a renamed function in a table": ("by_way", "on_way"),
    "a renamed table": ("bounds[16]", "limits[16]"),
    "a function that is not executed": ("return x * 17", "return x * 19 + (x >> 3)"),
    "a text that is not read": ("never so cold", "never in this life so very cold"),
}
WAYS = {
    "plain": "gcc -O2 -g",
    "link-time": "gcc -O3 -flto",
    "static": "gcc -O2 -static -no-pie",
    "without optimisation": "gcc -O0 -g",
}

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
]


def build(folder, options, edit=("", "")):
    """Compile the program in one folder, as the collection does, so that its path is the same."""
    header, source = (text.replace(*edit) if edit[0] else text for text in (HEADER, SOURCE))
    source = source.replace("{bounds, by", "{limits, by") if edit[1] == "limits[16]" else source
    assert not edit[0] or (header, source) != (HEADER, SOURCE)
    (folder / "a.h").write_text(header)
    (folder / "a.c").write_text(source)
    subprocess.run([*options.split(), "-o", "program", "a.c"], cwd=folder, check=True)
    return read_program(folder / "program")


@pytest.mark.parametrize("options", WAYS.values(), ids=list(WAYS))
def test_what_changes_the_work_runs_and_what_does_not_is_skipped(options, tmp_path):
    program = tmp_path / "program"
    old = build(tmp_path, options)
    counted = count_command([str(program)], [program])
    profile = build_profile("bench", old, counted.programs[program])
    # What other projects taught, and neither a change nor a case of its own.
    model = Guarded(read_others("planted"), 0.05)
    wrong = []
    for name, edit in (WORK | IDLE).items():
        new = build(tmp_path, options, edit)
        work = count_command([str(program)], [program]).instructions
        changed = abs(work / counted.instructions - 1) >= 0.001
        assert changed == (name in WORK), name
        features = read_features(Evidence(compare_tables(old, new), profile))
        if model.decides(Case("bench", "old", "new", 0, 1, {}, features)) != changed:
            wrong.append((name, {key: value for key, value in features.items() if value}))
    assert wrong == []
