"""`datamill gate` with benchmarks that a tool reports: what fails, goes or comes in head is named."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from acceptance.gate.scratch_repositories import commit
from acceptance.gate.scratch_repositories import type_datamill as run

GATE = """\
[gate]
base = "HEAD~1"
within = "1s"
alpha = "0.1%"

[[benchmark]]
name = "micro"
command = "./tool"
tool = "google-benchmark"
"""
ENTRY = (
    '{{"name": "{name}", "run_type": "iteration", "iterations": 1, "real_time": {time}, "time_unit": "ms"}}'
)
ERROR = (
    '{{"name": "{name}", "run_type": "iteration", "real_time": 0, "time_unit": "ms", '
    '"error_occurred": true, "error_message": "no such file"}}'
)


def write_tool(
    folder: Path,
    *names: str,
    failing: tuple[str, ...] = (),
    before: str = "",
    after: str = "",
    name: str = "tool",
) -> None:
    """A program that reports these benchmarks as Google Benchmark does, with something before and after."""
    entries = [ENTRY.format(name=item, time=7) for item in names]
    entries += [ERROR.format(name=item) for item in failing]
    report = f'{{"context": {{}}, "benchmarks": [{", ".join(entries)}]}}'
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{before}\ncat <<'END'\n{report}\nEND\n{after}\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)


def change(repository: Path, base: dict[str, object], head: dict[str, object], gate: str = GATE) -> None:
    """Two commits with a tool each, and the file of a gate."""
    for number, given in enumerate((base, head)):
        names = given.pop("names")
        write_tool(repository, *names, **given)
        (repository / "words").write_text(str(number))
        commit(repository, f"tool {number}")
    (repository / "gate.toml").write_text(gate)


def ask(repository: Path, status: int) -> dict[str, object]:
    return json.loads(run(repository, "gate", "--json", "--out", "out", status=status).stdout)


def test_a_benchmark_that_fails_in_head_alone_is_broken_and_the_others_are_compared(repository: Path) -> None:
    change(repository, {"names": ("one", "two")}, {"names": ("one",), "failing": ("two",)})
    told = ask(repository, 1)
    assert told["broken"] == ["two worked before, and failed: no such file"]
    assert [item["name"] for item in told["benchmarks"]] == ["one"]
    assert told["benchmarks"][0]["n"] > 0
    assert "### Broken" in (repository / "out" / "comment.md").read_text()


def test_a_tool_that_fails_with_one_of_its_benchmarks_has_measured_the_others(repository: Path) -> None:
    change(
        repository,
        {"names": ("one", "two")},
        {"names": ("one",), "after": "echo two is wrong >&2; exit 1"},
    )
    told = ask(repository, 1)
    assert told["broken"] == [
        "two worked before, and gives no result in head, where micro ended with status 1; "
        'it said: "two is wrong"'
    ]
    assert [item["name"] for item in told["benchmarks"]] == ["one"]
    assert told["benchmarks"][0]["n"] > 1


def test_a_tool_that_fails_in_head_and_reports_everything_is_broken(repository: Path) -> None:
    change(repository, {"names": ("one",)}, {"names": ("one",), "after": "exit 4"})
    told = ask(repository, 1)
    assert told["broken"][0].startswith("micro worked before, and ended with status 4")


def test_what_a_tool_says_on_its_standard_output_is_quoted(repository: Path) -> None:
    output = GATE + 'output = "out.json"\n'
    write_tool(repository, "one", name="report")
    (repository / "tool").write_text("#!/bin/sh\n./report >out.json\n")
    (repository / "tool").chmod(0o755)
    commit(repository, "a runner")
    (repository / "tool").write_text("#!/bin/sh\necho E RuntimeError: no; exit 2\n")
    commit(repository, "a runner that fails")
    (repository / "gate.toml").write_text(output)
    told = ask(repository, 1)
    assert told["broken"] == [
        'micro worked before, and ended with status 2; its output ends: "E RuntimeError: no"'
    ]


def test_what_fails_in_base_too_is_told_and_the_others_are_compared(repository: Path) -> None:
    failing = {"names": ("one",), "failing": ("two",), "after": "exit 1"}
    change(repository, failing.copy(), failing.copy())
    told = ask(repository, 0)
    assert told["broken"] == []
    assert [item["name"] for item in told["benchmarks"]] == ["one"]
    warnings = "\n".join(told["warnings"])
    assert "two is not compared: in base it failed: no such file" in warnings
    assert "in base micro ended with status 1: only what it reported is compared" in warnings


def test_benchmarks_that_go_and_come_are_named(repository: Path) -> None:
    change(repository, {"names": ("one", "old")}, {"names": ("one", "new")})
    told = ask(repository, 0)
    assert told["added"] == ["new"]
    assert "old is not compared: head does not have it." in told["warnings"]
    comment = (repository / "out" / "comment.md").read_text()
    shown = comment.partition("<details>")[0]
    assert "old is not compared: head does not have it" in shown
    assert "New, and compared with nothing: new" in shown


def test_names_of_a_tool_do_not_depend_on_whether_another_one_works(repository: Path) -> None:
    write_tool(repository, "one")
    write_tool(repository, "two", name="other")
    commit(repository, "two tools")
    (repository / "other").write_text("#!/bin/sh\nexit 3\n")
    commit(repository, "one of them is broken")
    (repository / "gate.toml").write_text(
        GATE + '[[benchmark]]\nname = "more"\ncommand = "./other"\ntool = "google-benchmark"\n'
    )
    told = ask(repository, 1)
    assert told["broken"] == ["more worked before, and ended with status 3"]
    [one] = told["benchmarks"]
    assert one["name"] == "micro: one"
    assert one["n"] > 1


def test_results_without_times_are_refused_with_the_units_that_they_have(repository: Path) -> None:
    metric = '{"score": 5.0, "scoreUnit": "ops/s", "rawData": [[5.0]]}'
    report = f'[{{"benchmark": "b", "mode": "thrpt", "threads": 1, "primaryMetric": {metric}}}]'
    (repository / "tool").write_text(f"#!/bin/sh\necho '{report}'\n")
    (repository / "tool").chmod(0o755)
    commit(repository, "throughput")
    (repository / "words").write_text("")
    commit(repository, "words")
    (repository / "gate.toml").write_text(GATE.replace("google-benchmark", "jmh"))
    said = " ".join(run(repository, "gate", status=2).stderr.split())
    assert "wrote results without any time, but ops/s: have it report times (JMH does with -bm avgt)" in said


def test_what_a_build_says_on_its_standard_output_is_quoted(repository: Path) -> None:
    (repository / "words").write_text("")
    commit(repository, "words")
    build = r"printf '\033[31mCOMPILATION ERROR\033[0m\n'; exit 1"
    said = run(repository, "gate", "--build", build, "true", status=2).stderr
    assert 'it said: "COMPILATION ERROR"' in said


@pytest.mark.parametrize(
    ("build", "benchmark", "builds", "why"),
    [
        ("true", "true", 2, "the build links no program or library, so that each revision is built once"),
        ("cp /bin/true prog", "./prog", 4, "each build of a revision is the same however often it is built"),
    ],
    ids=["nothing is linked", "the link order cannot be drawn"],
)
def test_a_build_is_repeated_only_as_often_as_that_can_show_something(
    repository: Path, build: str, benchmark: str, builds: int, why: str
) -> None:
    (repository / "words").write_text("")
    commit(repository, "words")
    count = f"{build} && echo built >>{repository.parent / 'builds'}"
    done = run(repository, "gate", "--within", "1s", "--alpha", "0.1%", "--build", count, benchmark)
    assert (repository.parent / "builds").read_text().split() == ["built"] * builds
    assert why in " ".join(done.stdout.split())


def test_what_cargo_builds_to_build_with_is_built_once(repository: Path) -> None:
    # As cargo does: a script and a macro, without which it compiles everything again.
    tools = (
        "target/release/build/crate-0123456789abcdef/build-script-build",
        "target/release/deps/libderive-0123456789abcdef.so",
        "target/release/deps/bench-0123456789abcdef",
    )
    made = repository.parent / "made"
    (repository / "Makefile").write_text(
        "prog: one.o two.o three.o main.o\n\t$(CC) -o $@ $^\n\tmkdir -p target/release/.fingerprint\n"
        "\tfor tool in "
        + " ".join(tools)
        + f"; do test -e $$tool || {{ mkdir -p $${{tool%/*}}; cp prog $$tool; echo $$tool >>{made}; }}; "
        "done\n"
        "%.o: %.c\n\t$(CC) -c -o $@ $<\n"
    )
    commit(repository, "a build like that of cargo")
    (repository / "words").write_text("")
    commit(repository, "words")
    asked = ("--within", "1s", "--alpha", "0.1%", "--build", "make", "--json", "./prog")
    told = json.loads(run(repository, "gate", "--base", "HEAD~1", *asked).stdout)
    assert told["builds_vary"]
    counts = {tool: made.read_text().split().count(tool) for tool in tools}
    assert [counts[tool] for tool in tools[:2]] == [2, 2]
    assert counts[tools[2]] > 2


def test_a_package_that_is_installed_from_the_repository_itself_is_told(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "environment"
    program = place / "bin" / "measure"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\n")
    program.chmod(0o755)
    about = place / "lib" / "python3.11" / "site-packages" / "mylib-1.0.dist-info" / "direct_url.json"
    about.parent.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    (repository / "words").write_text("")
    commit(repository, "words")

    def warn(editable: bool) -> bool:
        about.write_text(json.dumps({"url": repository.as_uri(), "dir_info": {"editable": editable}}))
        run(repository, "gate", "--within", "1s", "--alpha", "0.1%", "--out", "out", "measure")
        shown = (repository / "out" / "comment.md").read_text().partition("<details>")[0]
        return "mylib is installed in editable form" in shown

    assert warn(editable=True)
    assert not warn(editable=False)
