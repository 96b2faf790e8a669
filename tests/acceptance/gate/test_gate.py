"""`datamill gate`: does a change slow any benchmark down?"""

import json
import os
import re
from pathlib import Path

import pytest
from acceptance.gate.scratch_repositories import commit, git, write_main
from acceptance.gate.scratch_repositories import type_datamill as run

#: It ends when both are settled: a busy machine gets the time that it takes, a quiet one does not use it up.
TWO = """\
[gate]
base = "HEAD~1"
build = "make"
within = "90s"
limit = "50%"

[[benchmark]]
name = "prog"
command = "./prog"

[[benchmark]]
name = "wait"
command = "sleep 0.02"
"""
#: What a tool writes: the time of `one` is that of the program, the time of `other` always the same.
TOOL = """\
#!/bin/sh
start=$(date +%s%N); ./prog; end=$(date +%s%N)
cat <<END
{"context": {}, "benchmarks": [
  {"name": "one", "run_type": "iteration", "iterations": 1, "real_time": $((end - start)), "time_unit": "ns"},
  {"name": "other/8", "run_type": "iteration", "real_time": 5$((end % 10)), "time_unit": "ns"}]}
END
"""


def test_a_slower_benchmark_is_an_alarm_and_all_files_say_the_same(repository: Path, tmp_path: Path) -> None:
    write_main(repository, loops=8_000_000)
    commit(repository, "slower")
    (repository / "gate.toml").write_text(TWO)
    out, history = tmp_path / "out", tmp_path / "history.csv"
    done = run(repository, "gate", "--json", "--out", str(out), "--history", str(history), status=1)
    told = json.loads(done.stdout)
    prog, wait = sorted(told["benchmarks"], key=lambda item: item["name"])
    assert prog["verdict"] == "slower"
    assert prog["alarm"]
    assert not wait["alarm"]
    assert told["answer"][0].startswith("1 of 2 benchmarks is slower in HEAD (")
    assert json.loads((out / "gate.json").read_text()) == told
    comment = (out / "comment.md").read_text()
    assert comment.startswith("<!-- datamill gate -->\n### Slower\n")
    change = f"{100 * prog['change']:+.0f}"
    assert change in comment
    assert change in (out / "report.html").read_text()
    assert prog["base_low_s"] < prog["base_mean_s"] < prog["base_high_s"] < prog["head_low_s"]
    # The comment and the page have the times with their intervals, and the same ones.
    times = re.search(r"\| prog \| ([^|]* \([^|]*\)) \| ([^|]* \([^|]*\)) \|", comment)
    assert times is not None
    for told_of in times.groups():
        assert re.fullmatch(r"[\d.]+ (ms|µs|s) \([\d.]+ to [\d.]+\)", told_of)
        assert told_of in (out / "report.html").read_text()
    assert [item["slowdown"] for item in told["power"]] == [0.01, 0.03, 0.05, 0.1]
    rows = history.read_text().splitlines()
    assert len(rows) == 1 + prog["n"] + wait["n"]
    # A second run adds to the history, whose versions can be compared.
    git(repository, "checkout", "--quiet", "HEAD~1")
    write_main(repository, loops=2_000_100)
    commit(repository, "another")
    run(repository, "gate", "--within", "2s", "--out", str(out), "--history", str(history))
    compared = run(repository, "compare", str(history), "--where", "benchmark=prog", "--json").stdout
    assert json.loads(compared)["answer"]
    # The history says itself that less time is better.
    assert json.loads(compared)["direction"] == "lower"


def test_a_change_of_words_passes(repository: Path) -> None:
    (repository / "README").write_text("words\n")
    commit(repository, "words")
    asked = ("--base", "HEAD~1", "--build", "make", "--within", "3s", "--alpha", "1%")
    done = run(repository, "gate", *asked, "./prog")
    assert done.stdout.startswith("The benchmark is not known to be slower in HEAD (")
    assert "false alarm in any of the benchmarks is 1% at most" in done.stdout


def test_a_time_too_short_for_two_rounds_is_overrun_and_that_is_told(repository: Path) -> None:
    (repository / "README").write_text("words\n")
    commit(repository, "words")
    told = json.loads(run(repository, "gate", "--within", "500ms", "--json", "sleep 0.3").stdout)
    assert told["rounds"] == 2
    [warning] = [item for item in told["warnings"] if "allowed" in item]
    assert "more than the 500 ms allowed: two rounds are the fewest" in warning
    [warning] = [item for item in told["warnings"] if "too few" in item]
    assert warning.startswith("2 executions of each are too few to tell base and head apart")
    assert "that takes 8, about " in warning
    # What comes after the last round is not counted.
    assert told["measured_s"] < 30


def test_what_a_configuration_made_once_stays_that_of_the_first_build(repository: Path) -> None:
    # As cmake does: it tries a program out, and does not make it again.
    (repository / "configure").write_text("[ -e tried ] || { cc -shared -o try.so one.c && touch tried; }\n")
    commit(repository, "configured")
    (repository / "words").write_text("")
    commit(repository, "words")
    # Nothing differs, and no chance is to decide here.
    asked = ("--base", "HEAD~1", "--build", "sh configure && make", "--within", "1s", "--alpha", "0.1%")
    done = run(repository, "gate", *asked, "--json", "./prog")
    told = json.loads(done.stdout)
    assert told["rounds"] >= 2
    assert told["builds_vary"] is True


def test_each_benchmark_that_a_tool_reports_is_judged(repository: Path) -> None:
    (repository / "tool").write_text(TOOL)
    (repository / "tool").chmod(0o755)
    commit(repository, "a tool")
    write_main(repository, loops=8_000_000)
    commit(repository, "slower")
    (repository / "gate.toml").write_text(
        '[gate]\nbase = "HEAD~1"\nbuild = "make"\nwithin = "90s"\nlimit = "50%"\n'
        '[[benchmark]]\ncommand = "./tool"\ntool = "google-benchmark"\n'
    )
    told = json.loads(run(repository, "gate", "--json", status=1).stdout)
    verdicts = {item["name"]: item["alarm"] for item in told["benchmarks"]}
    assert verdicts == {"one": True, "other arg1=8": False}


def test_what_breaks_a_benchmark_does_not_pass(repository: Path) -> None:
    write_main(repository, status=3)
    commit(repository, "broken")
    done = run(
        repository,
        "gate",
        "--base",
        "HEAD~1",
        "--build",
        "make",
        "--within",
        "1s",
        "./prog",
        "true",
        status=1,
    )
    assert "Broken: ./prog worked before, and ended with status 3." in done.stdout


def test_a_benchmark_that_base_lacks_is_named_and_compared_with_nothing(repository: Path) -> None:
    (repository / "new").write_text("#!/bin/sh\nexec true\n")
    (repository / "new").chmod(0o755)
    commit(repository, "new")
    done = run(repository, "gate", "--base", "HEAD~1", "--within", "1s", "./new", "true")
    assert "New, and compared with nothing: ./new." in done.stdout


def test_a_change_that_only_adds_benchmarks_passes(repository: Path) -> None:
    (repository / "new").write_text("#!/bin/sh\nexec true\n")
    (repository / "new").chmod(0o755)
    commit(repository, "new")
    done = run(repository, "gate", "--base", "HEAD~1", "--within", "1s", "./new")
    assert done.stdout.startswith("Nothing could be compared between HEAD~1 (")
    assert "New, and compared with nothing: ./new." in done.stdout


def test_a_change_of_no_file_passes(repository: Path) -> None:
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "nothing")
    done = run(repository, "gate", "--base", "HEAD~1", "./prog")
    assert "has the same files as HEAD~1" in done.stdout


def test_packages_are_built_and_run_where_they_are(repository: Path) -> None:
    package = repository / "bench" / "wait"
    package.mkdir(parents=True)
    for name, text in (("setup.sh", "touch ready"), ("run.sh", "test -e ready && sleep 0.01")):
        (package / name).write_text(f"#!/bin/sh\n{text}\n")
        (package / name).chmod(0o755)
    commit(repository, "a package")
    write_main(repository, loops=1_000_000)
    commit(repository, "something else")
    (repository / "gate.toml").write_text(
        # A false alarm, of which 5% are allowed else, is not what is tested.
        '[gate]\nbase = "HEAD~1"\nwithin = "1s"\nalpha = "0.1%"\n[[benchmark]]\npackage = "bench/wait"\n'
    )
    told = json.loads(run(repository, "gate", "--json").stdout)
    assert [item["name"] for item in told["benchmarks"]] == ["bench/wait"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gate]\n", "a gate has 1 to 200 benchmarks"),
        ('[[benchmark]]\nname = "x"\n', "a benchmark needs a command"),
        ('[[benchmark]]\ncommand = "x"\ntool = "pyperv"\n', "gate.toml:3: [benchmark] tool"),
        ('[gate]\nbuilt = "make"\n[[benchmark]]\ncommand = "x"\n', 'unknown key "built"'),
        ('[gate]\nwithin = "soon"\n[[benchmark]]\ncommand = "x"\n', "gate.toml:2: [gate] within"),
        ('[[benchmark]]\ncommand = "x"\n[[benchmark]]\ncommand = "x"\n', 'two benchmarks are called "x"'),
        ('[gate]\nbase = "nothing"\n[[benchmark]]\ncommand = "true"\n', 'there is no revision "nothing"'),
        ('[gate]\nbase = "HEAD~1"\n[[benchmark]]\ncommand = "false"\n', "no benchmark works in both"),
        ("gate", "not valid TOML"),
    ],
)
def test_a_gate_that_cannot_be_used_is_refused_with_the_way_out(
    repository: Path, text: str, message: str
) -> None:
    (repository / "README").write_text("words\n")
    commit(repository, "words")
    (repository / "gate.toml").write_text(text)
    said = " ".join(run(repository, "gate", status=2).stderr.split())
    assert message in said
    assert "Traceback" not in said


def test_a_history_that_is_none_is_refused_before_anything_is_measured(repository: Path) -> None:
    other = repository / "other.csv"
    other.write_text("a,b\n1,2\n")
    said = run(repository, "gate", "--history", os.fspath(other), "true", status=2).stderr
    assert "this is not the history of a gate" in said
    assert other.read_text() == "a,b\n1,2\n"


def test_what_works_once_and_then_fails_in_head_does_not_pass(repository: Path) -> None:
    (repository / "flaky").write_text("#!/bin/sh\nexit 0\n")
    (repository / "flaky").chmod(0o755)
    commit(repository, "flaky")
    (repository / "flaky").write_text("#!/bin/sh\ntest ! -e tried || exit 7\ntouch tried\n")
    commit(repository, "fails from its second execution on")
    done = run(repository, "gate", "--base", "HEAD~1", "--within", "3s", "./flaky", status=1)
    assert "Broken: ./flaky failed in " in done.stdout
    assert "in base (first in head: ended with status 7)" in " ".join(done.stdout.split())


def test_a_folder_of_what_is_written_may_be_relative_and_in_the_repository(repository: Path) -> None:
    write_main(repository, loops=1_000_000)
    commit(repository, "faster")
    (repository / "gate.toml").write_text('[gate]\nbuild = "make"\n[[benchmark]]\ncommand = "./prog"\n')
    run(repository, "gate", "--base", "HEAD~1", "--within", "1s", "--out", "gate")
    assert sorted(path.name for path in (repository / "gate").iterdir()) == [
        "comment.md", "gate.json", "report.html",
    ]  # fmt: skip
    assert git(repository, "status", "--short").split() == ["??", "gate.toml", "??", "gate/"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "Makefile"), "Makefile: this folder cannot be made"),
        (("--comment", "none/comment.md"), "there is no folder none"),
        (("--html", "."), "this is a folder"),
        (("--alpha", "60%"), "--alpha: the chance of a false alarm must be below 50%"),
        ((), "HEAD is the first commit: there is nothing to compare it with"),
    ],
)
def test_what_cannot_be_asked_or_written_is_refused_before_anything_is_measured(
    repository: Path, arguments: tuple[str, ...], message: str
) -> None:
    said = " ".join(run(repository, "gate", *arguments, "true", status=2).stderr.split())
    assert message in said
    assert "Traceback" not in said


def test_a_package_that_is_missing_does_not_run_the_setup_of_the_repository(repository: Path) -> None:
    (repository / "setup.sh").write_text("#!/bin/sh\ntouch ran\n")
    (repository / "setup.sh").chmod(0o755)
    commit(repository, "a setup of something else")
    (repository / "gate.toml").write_text('[gate]\nbase = "HEAD~1"\n[[benchmark]]\npackage = "none"\n')
    said = run(repository, "gate", status=2).stderr
    assert "cannot be built" in said
    assert "./none" in said


def test_output_that_is_not_of_the_tool_is_told_without_places_of_ours(repository: Path) -> None:
    (repository / "README").write_text("words\n")
    commit(repository, "words")
    (repository / "gate.toml").write_text(
        '[gate]\nbase = "HEAD~1"\n[[benchmark]]\ncommand = "echo hello"\ntool = "hyperfine"\n'
    )
    said = " ".join(run(repository, "gate", status=2).stderr.split())
    assert "wrote no results of hyperfine: standard output: the file is not hyperfine JSON" in said
    assert "--format" not in said


def test_a_base_that_cannot_be_built_is_told_apart_from_a_head_that_cannot(repository: Path) -> None:
    write_main(repository, loops=0)
    (repository / "main.c").write_text("no C at all\n")
    commit(repository, "does not build")
    write_main(repository, loops=1000)
    commit(repository, "builds again")
    (repository / "gate.toml").write_text('[gate]\nbuild = "make"\n[[benchmark]]\ncommand = "./prog"\n')
    only_head = run(repository, "gate", "--base", "HEAD~1", "--out", "out").stdout
    first, *rest = only_head.splitlines()
    assert first.startswith("Nothing could be compared: HEAD~1 (")
    assert first.endswith(") can, and works: ./prog.")
    assert "Warning: gate.toml:2: [gate] build: HEAD~1 (" in "\n".join(rest)
    assert "name a base that can be built with --base REV" in only_head
    assert "### Nothing compared" in (repository / "out" / "comment.md").read_text()
    assert json.loads((repository / "out" / "gate.json").read_text())["added"] == ["./prog"]
    useless = run(repository, "gate", "--base", "HEAD~1", "--build", "make", "false", status=2).stderr
    assert "no benchmark works in HEAD (" in useless
    only_base = run(repository, "gate", "--base", "HEAD~2", "--head", "HEAD~1", status=2).stderr
    assert "gate.toml:2: [gate] build: HEAD~1 (" in only_base
    assert "nothing to compare" not in only_base
    typed = run(
        repository, "gate", "--base", "HEAD~2", "--head", "HEAD~1", "--build", "make -s", status=2
    ).stderr
    assert typed.startswith("datamill: --build: HEAD~1 (")


def test_what_a_build_prints_does_not_push_its_errors_out_of_the_message(repository: Path) -> None:
    # What a program prints into no terminal comes when it ends, behind its errors.
    (repository / "main.py").write_text(
        "import sys\nprint('progress ' * 500 + 'the end')\n"
        "sys.stderr.write('no such symbol: four\\n')\nsys.exit(3)\n"
    )
    (repository / "quiet.sh").write_text("echo no such module: five\nexit 4\n")
    commit(repository, "builds that fail")
    asked = ("--base", "HEAD~1", "--head", "HEAD")
    loud = run(repository, "gate", *asked, "--build", "[ ! -e main.py ] || python3 main.py", "true", status=2)
    said = " ".join(loud.stderr.split())
    assert 'it ended with status 3; it said: "no such symbol: four"; its output ends: "' in said
    assert 'progress the end"' in said
    quiet = run(repository, "gate", *asked, "--build", "[ ! -e quiet.sh ] || sh quiet.sh", "true", status=2)
    assert 'it ended with status 4; it said: "no such module: five"' in " ".join(quiet.stderr.split())


def test_builds_and_benchmarks_run_in_the_folder_where_the_user_is(repository: Path) -> None:
    below = repository / "below"
    below.mkdir()
    (below / "here").write_text("")
    commit(repository, "a folder")
    (repository / "words").write_text("")
    commit(repository, "words")
    # Nothing differs: at the usual 5% one run in twenty may say that it does.
    asked = (
        "--base",
        "HEAD~1",
        "--build",
        "test -e here && touch built",
        "--within",
        "1s",
        "--alpha",
        "0.1%",
    )
    done = run(below, "gate", *asked, "test -e built")
    assert "The benchmark is not known to be slower" in done.stdout
