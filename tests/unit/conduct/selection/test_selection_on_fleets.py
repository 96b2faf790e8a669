"""What a fleet is given of a history, and what of it comes home, without a fleet."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from made.selection.selection_records import make_function, make_profile, make_table

from datamill.conduct.selection.collecting.collect import CollectionQuestion
from datamill.conduct.selection.collecting.collected_versions import list_unprofiled
from datamill.conduct.selection.collecting.settings_file import Project
from datamill.conduct.selection.collecting.walked_history import GitHistory
from datamill.conduct.selection.fleet.collect_on_fleet import collect_on_fleet
from datamill.conduct.selection.fleet.fetched.fetched_archives import find_in_bundle, unpacked
from datamill.conduct.selection.fleet.fetched.fetched_counts import keep_counts
from datamill.conduct.selection.fleet.fetched.fetched_times import read_times
from datamill.conduct.selection.fleet.submitted.program_packages import (
    check_inputs_named,
    write_program_package,
)
from datamill.conduct.selection.fleet.submitted.version_packages import write_version_package
from datamill.conduct.selection.read_program import read_form
from datamill.conduct.selection.store.fleet_origin import (
    ORIGIN_FILE,
    SUBMITTED_FILE,
    FleetOrigin,
    PendingSubmission,
    check_collected_here,
    check_collected_on_fleet,
)
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.records import COUNTED_WAY, Program, Version, WorkCount
from datamill.selection.history.settings import BuildSetting, parse_settings

SETTINGS = """
binaries = ["bin/tool"]
inputs = ["data"]
[[benchmark]]
name = "it's quick"
command = "bin/tool {here}/data 'two words'"
[[benchmark]]
name = "piped"
command = "bin/tool <{here}/data | cat"
"""


def make_store(folder: Path, *, libraries: bool = False) -> tuple[SelectionStore, Program]:
    """A store with one program: a script that says with what it was started."""
    store = SelectionStore(folder)
    store.prepare()
    table = store.keep_table(make_table(make_function("work"), form=read_form()))
    paths = ["bin/tool", "lib/libwork.so"] if libraries else ["bin/tool"]
    program = Program("a" * 24, dict.fromkeys(paths, table))
    tool = store.place_programs(program.name) / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH" "$#" "$@"\ncat "${1:-/dev/stdin}"\n')
    tool.chmod(0o755)
    version = Version(commit="c" * 40, order=0, outcome="built", program=program.name)
    store.write_versions([version], [program])
    return store, program


def run(package: Path, script: str, **variables: str) -> str:
    told = subprocess.run(
        [package / script],
        cwd=package,
        env={"PATH": os.defpath, **variables},
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout


def test_a_program_is_executed_with_its_libraries_and_the_inputs_that_the_settings_name(
    tmp_path: Path,
) -> None:
    store, program = make_store(tmp_path / "store", libraries=True)
    here = tmp_path / "with space"
    here.mkdir()
    (here / "data").write_text("of the project\n")
    package = tmp_path / "package"
    settings = parse_settings(SETTINGS)
    write_program_package(package, program, settings, store, here, counted=["piped"], measure=True)
    place = f"{package}/selection"
    said = run(package, "run.sh", SELECTION_BENCHMARK="it's quick")
    assert said == f"{place}/program/lib 2 {place}/here/data two words\nof the project\n"
    assert run(package, "run.sh", SELECTION_BENCHMARK="piped").endswith(" 0\nof the project\n")
    # Profiles of the other benchmark are there already: what is counted again may fail.
    counted = [
        line for line in (package / "profile.sh").read_text().splitlines() if line.startswith("count ")
    ]
    assert len(counted) == 1
    assert counted[0].startswith("count 1 piped ")
    (here / "data").unlink()
    with pytest.raises(InputError, match="is not there"):
        write_program_package(tmp_path / "b", program, settings, store, here, counted=(), measure=True)


def test_what_a_build_made_comes_home_with_its_links_and_nothing_else(tmp_path: Path) -> None:
    history = make_repository(tmp_path / "repository")
    commit = history.resolve("HEAD")
    build = BuildSetting(
        "mkdir -p out/lib keep/deep && echo 1 >out/lib/libwork.so.1.2 && echo 2 >keep/deep/data"
        " && ln -s libwork.so.1.2 out/lib/libwork.so.1 && ln -s ../file out/tool"
    )
    package = tmp_path / "package"
    (tmp_path / "git").mkdir()
    settings = parse_settings('binaries = ["out/tool"]\nkeep = ["missing", "keep"]\n')
    write_version_package(package, history, commit, build, settings, tmp_path / "git", tmp_path)
    run(package, "setup.sh")
    run(package, "run.sh")
    archive = package / run(package, "collect.sh").strip()
    with unpacked(archive, tmp_path / "home") as folder:
        found = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
        assert found == {
            "file",
            "keep/deep/data",
            "out/lib/libwork.so.1",
            "out/lib/libwork.so.1.2",
            "out/tool",
        }
        assert (folder / "out/lib/libwork.so.1").samefile(folder / "out/lib/libwork.so.1.2")
        assert (folder / "out/tool").samefile(folder / "file")
    assert not (tmp_path / "home").exists()


def test_a_build_has_the_inputs_of_the_folder_of_the_settings(tmp_path: Path) -> None:
    history = make_repository(tmp_path / "repository")
    build = BuildSetting("cat \"{here}/driver.c\" file {here}/driver.c '{here}/driver.c' >tool")
    (tmp_path / "git").mkdir()
    (tmp_path / "driver.c").write_text("driver\n")
    settings = parse_settings('binaries = ["tool"]\ninputs = ["driver.c"]\n')
    package = tmp_path / "package"
    commit = history.resolve("HEAD")
    write_version_package(package, history, commit, build, settings, tmp_path / "git", tmp_path)
    run(package, "setup.sh")
    made = package / "selection" / "source" / "tool"
    assert made.read_text() == "driver\ncontent\ndriver\ndriver\n"


def test_a_build_that_needs_what_nothing_names_is_refused() -> None:
    text = 'binaries = ["tool"]\n[[build]]\ncommand = "cc {here}/driver.c"\n'
    with pytest.raises(InputError, match=r"the build needs files of \{here\}"):
        check_inputs_named(parse_settings(text), "selection.toml")
    # A set-up makes them on the machine that measures, after the build.
    with pytest.raises(InputError):
        check_inputs_named(parse_settings(f'setup = "make"\n{text}'), "selection.toml")
    check_inputs_named(parse_settings(f'inputs = ["driver.c"]\n{text}'), "selection.toml")


def make_repository(folder: Path) -> GitHistory:
    folder.mkdir()
    (folder / "file").write_text("content\n")
    (folder / "other").write_text("stays\n")
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("init", "--quiet"), ("add", "--all"), (*who, "commit", "--quiet", "--message", "first")):
        subprocess.run(["git", "-C", folder, *words], check=True)
    return GitHistory(folder)


CALLGRIND = (
    "events: Ir\nob=(1) /selection/program/bin/tool\nfn=(1) work\n1 70\ntotals: 75\n"
    "fn=(2) start\ncob=(1)\ncfn=(1)\ncalls=3 1\n2 70\n"
)


def pack_counts(folder: Path, parts: dict[str, dict[str, str]]) -> Path:
    """The archive of counts that a machine sends."""
    counts = folder / "counts"
    for number, files in parts.items():
        (counts / number).mkdir(parents=True)
        for name, text in files.items():
            (counts / number / name).write_text(text)
    (counts / "place").write_text("/selection/program\n")
    with tarfile.open(folder / "counts.tar.gz", "w:gz") as archive:
        archive.add(counts, arcname=".")
    return folder / "counts.tar.gz"


def test_a_program_that_is_counted_again_keeps_the_profiles_of_its_other_benchmarks(tmp_path: Path) -> None:
    store, program = make_store(tmp_path / "store")
    known = WorkCount(program.name, "it's quick", 900, machine="bench-1", way=COUNTED_WAY)
    store.write_counts([known])
    store.write_profiles(
        program.name, [msgspec.structs.replace(make_profile(work=(9, 900)), benchmark="it's quick")]
    )
    settings = parse_settings(SETTINGS)
    assert list_unprofiled(settings, store) == {program.name: ["piped"]}
    archive = pack_counts(
        tmp_path, {"1": {"benchmark": "piped", "status": "0\n", "said": "", "counts.1": CALLGRIND}}
    )
    keep_counts(archive, program, "bench-1", settings, store, tmp_path / "home")
    profiles = store.read_profiles(program.name)
    assert {name: item.functions["work"].instructions for name, item in profiles.items()} == {
        "it's quick": 900,
        "piped": 70,
    }
    assert known in store.read_counts()
    assert list_unprofiled(settings, store) == {}


def test_a_benchmark_that_could_not_be_counted_says_why_and_by_which_machine(tmp_path: Path) -> None:
    store, program = make_store(tmp_path / "store")
    archive = pack_counts(
        tmp_path,
        {
            "0": {"benchmark": "it's quick", "status": "0\n", "said": "", "counts.1": CALLGRIND},
            "1": {
                "benchmark": "piped",
                "status": "3\n",
                "said": "==1== valgrind\nno /selection/here/data for /selection/program/bin/tool\n",
            },
            "2": {"benchmark": "of other settings", "status": "0\n", "said": ""},
        },
    )
    settings = parse_settings(SETTINGS)
    keep_counts(archive, program, "bench-1", settings, store, tmp_path / "home")
    good, bad = store.read_counts()
    assert (good.benchmark, good.instructions, good.machine) == ("it's quick", 75, "bench-1")
    assert (bad.instructions, bad.machine) == (None, "bench-1")
    assert bad.failure.endswith('ends with status 3 under valgrind; it said: "no {here}/data for bin/tool"')
    profiles = store.read_profiles(program.name)
    assert set(profiles) == {"it's quick"}
    work = profiles["it's quick"].functions["work"]
    assert (work.calls, work.instructions) == (3, 70)


def test_executions_of_another_machine_are_left_out_and_stopped_programs_fail(tmp_path: Path) -> None:
    trials = [
        SimpleNamespace(trial_id=name, package=package, levels={"benchmark": "quick"})
        for name, package in (("t1", "a"), ("t2", "a"), ("t3", "a"), ("t4", "b"))
    ]
    ran = SimpleNamespace(
        started_unix_ns=5, wall_time_ns=10, user_time_ns=6, system_time_ns=3, peak_memory_bytes=99
    )
    failure = SimpleNamespace(
        phase="run", kind="exit_status", message="run.sh exited with status 3", remedy=""
    )
    outcomes = {"t1": ("completed", None), "t2": ("completed", None), "t3": ("failed", failure)}
    records = [
        SimpleNamespace(
            trial_id=name,
            attempt=1,
            package="a",
            levels={"benchmark": "quick"},
            outcome=outcome,
            failure=why,
            factors=(),
            run=ran,
            started_unix_ns=4,
        )
        for name, (outcome, why) in outcomes.items()
    ]
    (tmp_path / "attempts.jsonl").write_text(
        "".join(
            f'{{"trial_id": "{name}", "attempt": 1, "machine": "{machine}", "counts": true}}\n'
            for name, machine in (("t1", "bench-1"), ("t2", "bench-2"), ("t3", "bench-1"))
        )
    )
    taken = SimpleNamespace(
        bundle=SimpleNamespace(folder=tmp_path, design=SimpleNamespace(trials=trials)), records=records
    )
    found, left_out = read_times(taken, "s", "bench-1", {"b": "all failed alike"}, set())  # type: ignore[arg-type]
    assert [(item.program, item.place, item.wall_ns, item.machine) for item in found] == [
        ("a", 0, 10, "bench-1"),
        ("a", 2, None, "bench-1"),
        ("b", 3, None, "bench-1"),
    ]
    assert [item.failure for item in found] == ["", "run.sh exited with status 3", "all failed alike"]
    assert left_out == ["bench-2 executed a benchmark in place of bench-1"]


@pytest.mark.parametrize("name", ["/etc/counts.tar.gz", "artifacts/../../counts.tar.gz"])
def test_a_bundle_names_nothing_outside_of_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is not in it"):
        find_in_bundle(tmp_path, name)


def test_a_store_is_of_one_machine(tmp_path: Path) -> None:
    store, _ = make_store(tmp_path / "store")
    check_collected_here(store)
    with pytest.raises(InputError, match="was collected on this machine"):
        check_collected_on_fleet(store, None)
    store.write_json(ORIGIN_FILE, FleetOrigin("bench-1", "w1"))
    check_collected_on_fleet(store, None)
    check_collected_on_fleet(store, "bench-1")
    with pytest.raises(InputError, match="on bench-1, not on bench-2"):
        check_collected_on_fleet(store, "bench-2")
    with pytest.raises(InputError, match="on bench-1, a machine of a fleet"):
        check_collected_here(store)


class NoFleet:
    """A coordinator that knows no experiment."""

    url = "https://fleet.example"

    def find(self, name: str) -> None:
        self.sought = name


def test_an_experiment_that_never_arrived_is_forgotten_and_one_elsewhere_is_not(tmp_path: Path) -> None:
    history = make_repository(tmp_path / "repository")
    file = history.top / "selection.toml"
    file.write_text('binaries = ["file"]\n')
    store, program = make_store(tmp_path / "store")
    store.write_json(ORIGIN_FILE, FleetOrigin("bench-1", "w1"))
    (known,) = store.versions
    made = Version(commit=history.resolve("HEAD"), order=0, outcome="built", program=known.program)
    store.write_versions([made], [program])
    project = Project(history, parse_settings(file.read_text()), file, store)
    fleet = NoFleet()
    store.write_json(SUBMITTED_FILE, PendingSubmission("build", "build-x-1", "https://other.example", 7))
    with pytest.raises(InputError, match=r"under way at https://other\.example"):
        collect_on_fleet(CollectionQuestion(), project, history, fleet, None)  # type: ignore[arg-type]
    store.write_json(SUBMITTED_FILE, PendingSubmission("build", "build-x-1", fleet.url))
    outcome = collect_on_fleet(CollectionQuestion(), project, history, fleet, None)  # type: ignore[arg-type]
    assert fleet.sought == "build-x-1"
    assert not (store.folder / SUBMITTED_FILE).exists()
    assert (outcome.finished, outcome.fresh, outcome.machine) == (True, 0, "bench-1")
