"""`datamill selection functions` and `profile` on compiled programs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill import _native
from datamill.cli.main import datamill, main
from datamill.conduct.selection.read_program import read_program
from datamill.selection.tables.function_table import decode_table, encode_table

SOURCE = """
#include <stdio.h>
__attribute__((noinline)) int work(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) s += i * FACTOR ^ i;
  return s;
}
int main(int count, char **words) { printf("%d\\n", work(1000 + count)); return 0; }
"""

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.c").write_text(SOURCE)
    for factor in (3, 5):
        subprocess.run(
            ["gcc", "-O2", f"-DFACTOR={factor}", "-o", f"by-{factor}", "program.c"], cwd=folder, check=True
        )
    return folder


def ask(*arguments):
    found = CliRunner().invoke(datamill, ["selection", *map(str, arguments)])
    assert found.exit_code == 0, found.output
    return found.output


def test_a_table_is_read_from_disk_as_it_was_read_from_the_program(programs):
    # The second has no symbols.
    for path in (programs / "by-3", Path(_native.__file__)):
        table = read_program(path)
        assert table.functions
        assert decode_table(encode_table(table), str(path)) == table


def test_what_changed_is_told_in_a_sentence_and_a_table(programs):
    told = ask("functions", programs / "by-3", programs / "by-5")
    assert told.startswith("1 function changed.\n")
    assert "work" in told
    assert "main" not in told


def test_a_program_that_is_the_same_is_told_as_such(programs):
    assert "the same program" in ask("functions", programs / "by-3", programs / "by-3")


def test_json_has_the_functions_of_a_program_and_what_changed(programs):
    table = json.loads(ask("functions", programs / "by-3", "--json"))
    work = next(function for function in table["functions"] if function["name"] == "work")
    assert work["loops"] == 1
    assert table["schema"] == 1
    changes = json.loads(ask("functions", programs / "by-3", programs / "by-5", "--json"))
    assert [(item["name"], item["fate"]) for item in changes["functions"]] == [("work", "changed")]
    assert not changes["is_identical"]


def test_what_is_no_program_is_refused_with_what_to_do(programs, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["selection", "functions", str(programs / "program.c")])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "program.c: cannot be read as an ELF file" in told
    assert "Name a program or shared library that the build makes." in told


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_profile_counts_calls_and_instructions(programs):
    found = json.loads(ask("profile", programs / "by-3", "--json", "--", programs / "by-3"))
    work = next(item for item in found["functions"] if item["name"] == "work")
    assert work["calls"] == 1
    assert work["instructions"] > 3 * 1001
    assert "valgrind" in found["method"]
    assert "work" in ask("profile", programs / "by-3", "--", programs / "by-3")
