"""A program whose work is in a shared library of the same build, collected and predicted."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill.cli.main import datamill
from datamill.conduct.selection.profile_command import count_command
from datamill.experiment.errors import InputError

#: Linked as cmake does: the program looks for its library where it was built.
MAKEFILE = """\
build/program: main.c work.c
\tmkdir -p build
\tgcc -O1 -shared -fPIC -Wl,-soname,libwork.so.1 -o build/libwork.so.1.2 work.c
\tln -sf libwork.so.1.2 build/libwork.so.1
\tln -sf libwork.so.1 build/libwork.so
\tgcc -O1 -o build/program main.c -Lbuild -lwork -Wl,-rpath,$(CURDIR)/build
"""
MAIN = "int work(int);\nint main(void) { return work(3000) == 42; }\n"
WORK = "int work(int n) { int s = 0; for (int i = 0; i < n; i++) s = s * 31 + i; return s; }\n"

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed"),
]


def ask(*arguments):
    found = CliRunner().invoke(datamill, ["selection", *map(str, arguments)])
    assert found.exit_code == 0, found.output
    return found.stdout


def commit(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_c", ".c")).write_text(text)
    for words in (["add", "Makefile", "main.c", "work.c"], ["commit", "--quiet", "--message", "a version"]):
        by = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(folder), *by, *words], check=True)


def test_a_change_of_a_library_is_a_change_of_the_program_that_needs_it(tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    commit(tmp_path, Makefile=MAKEFILE, main_c=MAIN, work_c=WORK)
    commit(tmp_path, work_c=WORK.replace("s * 31", "(s ^ i) * 31"))
    subprocess.run(["make", "--silent"], cwd=tmp_path, check=True)
    begun = json.loads(ask("init", tmp_path, "--json"))
    # By the link without a version: the next version of the library has another file.
    assert set(begun["binaries"]) == {"build/program", "build/libwork.so"}
    (tmp_path / "selection.toml").write_text(
        'binaries = ["build/program"]\n[[build]]\ncommand = "make"\n'
        '[[benchmark]]\nname = "bench"\ncommand = "build/program"\n[truth]\nrule = "instructions"\n'
    )
    # Where the program was built, and would look for its library, is not what is measured.
    shutil.rmtree(tmp_path / "build")
    told = json.loads(ask("collect", tmp_path, "--json"))["collection"]
    assert (told["built"], told["profiled"], told["failing"]) == (2, 2, [])
    assert told["observations"] == 2 * 5
    trained = json.loads(ask("train", tmp_path, "--json"))
    assert (trained["cases"], trained["changes"]) == (1, 1)
    (found,) = json.loads(ask("predict", "HEAD", "--repo", tmp_path, "--json"))["predictions"]
    assert found["run"]
    told = json.loads(ask("explain", "HEAD", "--repo", tmp_path, "--json"))
    assert told["functions"] == [{"name": "libwork.so: work", "fate": "changed"}]


def test_a_command_that_fails_under_the_profiler_is_quoted_not_the_profiler(tmp_path):
    script = tmp_path / "fails"
    script.write_text("#!/bin/sh\necho 'no such input' >&2\nexit 3\n")
    script.chmod(0o755)
    with pytest.raises(InputError) as refused:
        count_command([str(script)], [script])
    assert refused.value.message == 'ends with status 3 under valgrind; it said: "no such input"'


def test_the_terminal_s_variables_change_no_count(monkeypatch):
    count = count_command(["/bin/true"], [Path("/bin/true")]).instructions
    for number in range(30):
        monkeypatch.setenv(f"OF_THIS_TERMINAL_{number}", "some text")
    assert count_command(["/bin/true"], [Path("/bin/true")]).instructions == count > 10_000


def test_a_process_that_executes_no_program_is_not_counted():
    alone = count_command(["/bin/true"], [Path("/bin/true")]).instructions
    driver = "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; /bin/true; exit 0"
    driven = count_command(["/bin/sh", "-c", driver], [Path("/bin/true")]).instructions
    # The shell sets two variables of its own, each of which costs some 450 instructions.
    assert driven == pytest.approx(alone, abs=2000)
    assert count_command(["/bin/true"], [Path("/bin/sh")]).instructions == 0


def test_a_program_of_versions_with_other_names_is_profiled_by_the_names_of_its_binary(tmp_path):
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    alone = "program: main.c work.c\n\tgcc -O1 -o program main.c work.c\n"
    commit(tmp_path, Makefile=alone, main_c=MAIN, work_c=WORK)
    renamed = {"main_c": MAIN.replace("work", "labour"), "work_c": WORK.replace("work", "labour")}
    commit(tmp_path, **renamed)
    commit(tmp_path, work_c=renamed["work_c"].replace("s * 31", "(s ^ i) * 31"))
    (tmp_path / "selection.toml").write_text(
        'binaries = ["program"]\n[[build]]\ncommand = "make"\n'
        '[[benchmark]]\nname = "bench"\ncommand = "./program"\n[truth]\nrule = "instructions"\n'
    )
    told = json.loads(ask("collect", tmp_path, "--no-measure", "--json"))["collection"]
    assert (told["built"], told["programs"]) == (3, 2)
    ask("train", tmp_path)
    (found,) = json.loads(ask("explain", "HEAD", "--repo", tmp_path, "--json"))["benchmarks"]
    # What the older program executes most is gone: by what its table calls it, which the profiler counted.
    assert found["run"]
    features = {item["name"]: item["value"] for item in found["features"]}
    assert features["indicator.reached_deleted"] == 1
