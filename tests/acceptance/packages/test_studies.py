"""The studies: that what `prepare` makes is sound, without any download, and what comes with them works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from running.free_ports import find_free_port

from datamill.experiment.file.parse import parse_experiment

ROOT = Path(__file__).resolve().parents[3]
STUDIES = ROOT / "studies"
#: Stands in for `datamill new FOLDER --from PACKAGE …`: packages of these names, without sources.
STAND_IN = """#!/bin/sh
set -eu
[ "$1" = new ]
folder=$2
shift 2
while [ $# -gt 0 ]; do
    [ "$1" = --from ]
    mkdir -p "$folder/packages/$2"
    for script in setup run collect; do
        printf '#!/bin/sh\\ntrue\\n' >"$folder/packages/$2/$script.sh"
        chmod +x "$folder/packages/$2/$script.sh"
    done
    shift 2
done
"""
EXPERIMENTS = {
    "memory-layout": {
        "experiment-1.toml": "40 = 10 x 2 x 2",
        "experiment-2.toml": "40 = 10 x 2 x 2",
        "experiment-3.toml": "40 = 10 x 2 x 2",
    },
    "compilation": {"experiment.toml": "150 = 30 builds x 5 executions of each"},
    "link-order": {"experiment.toml": "12 = 6 x 2"},
    "autogroup": {"experiment.toml": "4 = 2 x 2"},
    "scheduler-latency": {"experiment.toml": "16 = 2 x 2 x 2 x 2"},
}


def prepare(study: str, target: Path, stand_in: str = STAND_IN) -> subprocess.CompletedProcess[str]:
    command = target.parent / "stand-in"
    command.write_text(stand_in)
    command.chmod(0o755)
    return subprocess.run(
        [STUDIES / study / "prepare", target],
        env={**os.environ, "DATAMILL": str(command)},
        capture_output=True,
        text=True,
        check=False,
    )


def can_set_autogroup() -> bool:
    return os.access("/proc/sys/kernel/sched_autogroup_enabled", os.W_OK) and os.geteuid() == 0


@pytest.mark.parametrize("study", EXPERIMENTS)
def test_what_prepare_makes_is_sound_and_of_the_size_that_is_told(
    datamill, tmp_path: Path, study: str
) -> None:
    if study in ("autogroup", "scheduler-latency") and not can_set_autogroup():
        pytest.skip("autogroup cannot be set here, which needs root and a kernel that has it")
    if study == "scheduler-latency" and shutil.which("vmstat") is None:
        pytest.skip("vmstat is not installed here")
    for _ in range(2):  # what is there already is no obstacle
        done = prepare(study, tmp_path / "study")
        assert done.returncode == 0, done.stdout + done.stderr
    for file, points in EXPERIMENTS[study].items():
        result = datamill("check", tmp_path / "study" / file)
        assert result.returncode == 0, result.stdout + result.stderr
        assert points in result.stdout
        assert "is sound" in result.stdout


@pytest.mark.parametrize("study", EXPERIMENTS)
def test_prepare_does_not_write_into_a_folder_of_something_else(tmp_path: Path, study: str) -> None:
    target = tmp_path / "taken"
    target.mkdir()
    (target / "mine.txt").write_text("mine")
    done = prepare(study, target)
    assert done.returncode == 2
    assert "holds something else" in done.stderr
    assert [path.name for path in target.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("study", ["memory-layout", "link-order"])
def test_a_download_that_fails_leaves_nothing_behind(tmp_path: Path, study: str) -> None:
    done = prepare(study, tmp_path / "study", "#!/bin/sh\necho no network >&2\nexit 2\n")
    assert done.returncode == 2
    assert "no network" in done.stderr
    assert not (tmp_path / "study").exists()


def test_every_figure_of_the_readmes_has_a_place_where_it_is_recorded() -> None:
    marks = {
        "memory-layout": ("experiment-1", "experiment-2", "experiment-3", "experiment-3-guests"),
        "compilation": ("figures",),
        "link-order": ("figures",),
        "autogroup": ("figures",),
        "scheduler-latency": ("figures",),
    }
    for study, names in marks.items():
        text = (STUDIES / study / "README.md").read_text()
        for name in names:
            assert text.count(f"<!-- {name} -->") == text.count(f"<!-- /{name} -->") == 1
            assert text.index(f"<!-- {name} -->") < text.index(f"<!-- /{name} -->")


def test_the_observer_is_a_variable_of_latt_and_says_when_vmstat_is_missing(tmp_path: Path) -> None:
    folder = STUDIES / "scheduler-latency" / "observer"
    (tmp_path / "vmstat").write_text("#!/bin/sh\n")
    (tmp_path / "vmstat").chmod(0o755)
    # A folder with a vmstat first, then one with a shell and nothing else.
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "sh").symlink_to("/bin/sh")

    def ask(verb: str, *level: str, path: str, **variables: str) -> tuple[int, str, str]:
        done = subprocess.run(
            ["/bin/sh", folder / verb, *level],
            env={"PATH": path, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    here, bare = f"{tmp_path}", f"{tmp_path / 'bare'}"
    assert ask("levels", path=here) == (0, "none\nvmstat\n", "")
    assert ask("set", "vmstat", path=here) == (0, "OBSERVER=vmstat\n", "")
    assert ask("set", "none", path=here) == (0, "OBSERVER=\n", "")
    assert ask("verify", path=here, OBSERVER="vmstat") == (0, "vmstat\n", "")
    assert ask("verify", path=here, OBSERVER="") == (0, "none\n", "")
    status, levels, said = ask("levels", path=bare)
    assert (status, levels) == (0, "none\n")
    assert "Debian: procps" in said
    status, _, said = ask("set", "vmstat", path=bare)
    assert status == 1
    assert "not installed" in said
    assert ask("set", "top", path=here)[0] == 1


def test_the_client_gets_every_answer_of_the_server_whole_and_times_them(tmp_path: Path) -> None:
    port = str(find_free_port())
    for name in ("web-server", "web-client"):
        shutil.copytree(STUDIES / "autogroup" / name, tmp_path / name)
        subprocess.run([tmp_path / name / "setup.sh"], cwd=tmp_path / name, check=True)
    client = tmp_path / "web-client" / "web-bench"
    alone = subprocess.run(
        [client / "client", port, "1", "1", "0"], cwd=client, capture_output=True, text=True, check=False
    )
    assert alone.returncode == 1
    assert "no server answers" in alone.stderr
    server = subprocess.Popen([tmp_path / "web-server" / "web-bench" / "server", port, "3", "20000"])
    try:
        start = time.monotonic()
        subprocess.run([client / "client", port, "300", "4", "10"], cwd=client, check=True, timeout=300)
        took = time.monotonic() - start
    finally:
        server.kill()
        server.wait()
    metrics = json.loads((client / "metrics.json").read_text())
    assert metrics["requests"] == 300
    assert 0 < metrics["slowest_s"] <= metrics["time_s"] <= took


#: Stands in for `datamill new FOLDER --from xz`: sources that are configured and made at once.
XZ_STAND_IN = """#!/bin/sh
set -eu
[ "$1 $3 $4" = "new --from xz" ]
mkdir -p "$2/packages/xz/xz-bench/source"
cd "$2/packages/xz/xz-bench/source"
printf '#!/bin/sh\\nprintf "all:\\\\n\\\\ttouch made\\\\ndistclean:\\n" >Makefile\\n' >configure
chmod +x configure
"""


def test_the_loads_of_the_scheduler_study_are_put_together_and_build_xz_anew_each_time(
    datamill, tmp_path: Path
) -> None:
    if shutil.which("vmstat") is None:
        pytest.skip("vmstat is not installed here")
    done = prepare("scheduler-loads", tmp_path / "study", XZ_STAND_IN)
    assert done.returncode == 0, done.stdout + done.stderr
    for file, points in (("figure-2.toml", "10 = 5 x 2"), ("table-3.toml", "8 = 2 x 2 x 2")):
        result = datamill("check", tmp_path / "study" / file)
        assert result.returncode == 0, result.stdout + result.stderr
        assert points in result.stdout
    package = tmp_path / "study" / "packages" / "compile" / "latt-bench"
    (package / "xz-build").mkdir()
    (package / "xz-build" / "of the last trial").touch()
    subprocess.run(["sh", "./build-xz"], cwd=package, check=True)
    assert (package / "xz-build" / "made").exists()
    assert not (package / "xz-build" / "of the last trial").exists()


def test_all_five_factors_of_memory_layout_are_crossed_in_one_file() -> None:
    text = (STUDIES / "memory-layout" / "experiment-4.toml").read_text()
    experiment = parse_experiment(text, name="experiment-4.toml")
    levels = {choice.name: len(choice.levels) for choice in experiment.factors}
    assert levels == dict.fromkeys(("aslr", "env_padding", "pie", "warmups", "reboot"), 2)
    assert not experiment.nuisance
    assert experiment.interaction_order == len(levels)


#: A benchmark as pyperformance has them: what it makes before it reads the clock is not measured.
BENCHMARK = """\
import sys
import pyperf
def grow(loops):
    before = []
    for number in range(1000):
        before.append(number)
    begin = pyperf.perf_counter()
    items = []
    for number in range(100):
        items.append(number)
    return pyperf.perf_counter() - begin
pyperf.Runner().bench_time_func("grow", grow)
"""
#: Stands in for the package pyperf.
PYPERF = "from time import perf_counter\nclass Runner:\n    pass\n"


def test_the_study_of_allocators_counts_the_measured_part_alone_and_says_it_beside_what_was_published(
    tmp_path: Path,
) -> None:
    study = STUDIES / "allocators"
    found = tmp_path / "found"
    found.mkdir()
    (tmp_path / "pyperf.py").write_text(PYPERF)
    (tmp_path / "run_benchmark.py").write_text(BENCHMARK)
    traced = subprocess.run(
        [
            *(sys.executable, "-c", "from datamill.cli.main import main; raise SystemExit(main())"),
            *("allocators", "trace", "--quiet", "--regions", "--json", found / "table-go-0.json", "--"),
            *(sys.executable, study / "programs" / "once.py", tmp_path / "run_benchmark.py"),
        ],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert traced.returncode == 0, traced.stderr
    program = study / "programs" / "insertions.py"
    subprocess.run([sys.executable, program, "set", "3000", found / "insertions-set.csv"], check=True)
    told = subprocess.run(
        [sys.executable, study / "summarize", tmp_path], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    rows = {line.split("|")[1].strip(): line for line in told.stdout.splitlines() if line.startswith("|")}
    # 11 reallocations of a list of 100 items, and none of the thousand that came before.
    assert [cell.strip() for cell in rows["Go"].split("|")][4] == "7728 / 11"
    assert [cell.strip() for cell in rows["Raytrace"].split("|")][4] == "45789 / –"
    assert "of 3000" in rows["set, insertions"]
    assert "not measured" in rows["Redis, LPUSH (Figure 2.3)"]
