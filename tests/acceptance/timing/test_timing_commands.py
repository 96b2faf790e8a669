"""`datamill time`, as people type it."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from acceptance.conftest import BIN, Command

from datamill.cli.timing.time_display import TimeDisplay
from datamill.conduct.timing import warm_up
from datamill.conduct.timing.question import TimingQuestion
from datamill.execution.command_session import CommandSession
from datamill.execution.worker import find_worker
from datamill.experiment.command_lines import read_commands
from datamill.experiment.errors import InputError


def type_time(
    folder: Path, *arguments: str, status: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    datamill = Command(folder)
    datamill.environment.update(variables)
    result = datamill("time", *arguments, timeout_s=300)
    assert result.returncode == status, result.stderr + result.stdout
    return result


def time_json(folder: Path, *arguments: str, **variables: str) -> dict:
    return json.loads(type_time(folder, "--json", *arguments, **variables).stdout)


#: As many executions as the machine takes to tell commands far apart: few on a quiet one.
UNTIL_TOLD = ("--within", "90s", "--precision", "20%")
#: The same for more than two, of which no ratio is looked at.
UNTIL_ALL_ARE_TOLD = ("--within", "90s", "--precision", "40%")


def test_a_command_that_takes_twice_as_long_is_slower_and_the_bundle_says_the_same(tmp_path: Path) -> None:
    told = time_json(tmp_path, "--out", "bundle", *UNTIL_TOLD, "sleep 0.02", "sleep 0.05")
    (pair,) = told["comparisons"]
    assert pair["verdict"] == "slower"
    assert pair["low"] < pair["ratio"] < pair["high"]
    assert 1.3 < pair["ratio"] < 3
    assert [item["name"] for item in told["commands"]] == ["sleep 0.02", "sleep 0.05"]
    assert all(item["low"] < item["mean_s"] < item["high"] and item["n"] >= 6 for item in told["commands"])
    answer = json.loads(Command(tmp_path)("report", "--json", "bundle").stdout)
    last = answer["decisions"][-1]
    assert last["decision"] == "stop"
    assert last["intervals"][0]["estimate"] == pytest.approx(pair["ratio"] - 1)
    assert [mean["estimate"] for mean in last["means"]] == [item["mean_s"] for item in told["commands"]]
    assert "sleep-0.02 is better than sleep-0.05" in " ".join(answer["answer"])


def test_the_answer_begins_with_the_verdict(tmp_path: Path) -> None:
    result = type_time(tmp_path, *UNTIL_TOLD, "sleep 0.05", "sleep 0.02")
    first, *rest = result.stdout.splitlines()
    assert first.startswith("sleep 0.02 is ")
    assert "as fast as sleep 0.05" in first or "faster than sleep 0.05" in first
    assert any("●" in line and "sleep 0.02" in line for line in rest)


def test_alike_commands_are_not_told_apart(tmp_path: Path) -> None:
    verdicts = []
    # One timing in twenty may err, three in a row do not.
    for _ in range(3):
        told = time_json(tmp_path, "--within", "2s", "--name", "a", "--name", "b", "sleep 0.01", "sleep 0.01")
        verdicts.append(told["comparisons"][0]["verdict"])
        if verdicts[-1] in ("unchanged", "cannot tell"):
            return
    assert verdicts == []


def test_one_command_has_a_time_and_no_comparison(tmp_path: Path) -> None:
    told = time_json(tmp_path, "--runs", "8", "sleep 0.01")
    assert told["comparisons"] == []
    assert told["answer"][0].startswith("sleep 0.01 takes ")
    assert told["commands"][0]["mean_s"] > 0.01


def test_a_scan_times_a_command_for_each_value(tmp_path: Path) -> None:
    told = time_json(tmp_path, *UNTIL_ALL_ARE_TOLD, "-L", "s", "0.01,0.03,0.09", "sleep {s}")
    assert [item["parameters"] for item in told["commands"]] == [{"s": "0.01"}, {"s": "0.03"}, {"s": "0.09"}]
    assert len(told["comparisons"]) == 3
    first = told["answer"][0]
    assert first.startswith("sleep 0.01 is the fastest of 3. sleep 0.03 takes ")


def test_check_slower_makes_the_status_one_and_nothing_else_does(tmp_path: Path) -> None:
    type_time(tmp_path, *UNTIL_TOLD, "--check", "slower", "sleep 0.02", "sleep 0.06", status=1)
    type_time(tmp_path, *UNTIL_TOLD, "--check", "slower", "sleep 0.06", "sleep 0.02", status=0)


def test_a_command_that_fails_is_refused_with_its_last_words(tmp_path: Path) -> None:
    result = type_time(tmp_path, "true", "sh -c 'echo no such thing >&2; exit 3'", status=2)
    assert "ended with status 3" in result.stderr
    assert "no such thing" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_failure_can_be_allowed_or_ignored(tmp_path: Path) -> None:
    for options in (["--allow-status", "0,3"], ["--ignore-failure"]):
        told = time_json(tmp_path, "--runs", "3", "--out", options[0], *options, "sh -c 'exit 3'")
        assert told["commands"][0]["n"] == 3


def test_a_command_that_fails_now_and_then_is_told(tmp_path: Path) -> None:
    (tmp_path / "flaky.sh").write_text(
        "#!/bin/sh\nn=$(cat n 2>/dev/null || echo 0)\necho $((n + 1)) >n\n[ $((n % 10)) != 7 ]\n"
    )
    (tmp_path / "flaky.sh").chmod(0o755)
    told = time_json(tmp_path, "--within", "8s", "--runs", "30", "./flaky.sh")
    assert any("failed in" in warning for warning in told["warnings"])


def test_each_command_has_its_own_output_preparation_and_number(tmp_path: Path) -> None:
    options = ["--output", "A", "--output", "B", "-p", "echo a >>p", "-p", "echo b >>p", "--export-json", "-"]
    result = type_time(tmp_path, "-r", "3", "-w", "1", *options, "echo $HYPERFINE_ITERATION", "echo b | cat")
    exported = json.loads(result.stdout.split("\n\n")[-1])
    assert [len(item["times"]) for item in exported["results"]] == [3, 3]
    assert set(exported["results"][0]) == {
        "command", "mean", "stddev", "median", "user", "system", "min", "max", "times", "memory_usage_byte",
        "exit_codes",
    }  # fmt: skip
    assert (tmp_path / "A").read_text() == "2\n"
    assert (tmp_path / "B").read_text() == "b\n"
    prepared = (tmp_path / "p").read_text().split()
    assert (prepared.count("a"), prepared.count("b")) == (4, 4)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    result = type_time(tmp_path, "no-such-program-anywhere", status=2)
    assert "no-such-program-anywhere" in result.stderr


def test_preparations_run_before_each_execution_and_are_not_measured(tmp_path: Path) -> None:
    told = time_json(
        tmp_path, "--within", "20s", "--runs", "15", "--prepare", "sleep 0.1; echo x >>log", "sleep 0.01"
    )
    assert told["commands"][0]["mean_s"] < 0.09
    assert len((tmp_path / "log").read_text().split()) >= told["commands"][0]["n"]


def test_setup_and_cleanup_run_once(tmp_path: Path) -> None:
    type_time(
        tmp_path,
        "--runs", "3", "--setup", "echo s >>log", "--cleanup", "echo c >>log", "sleep 0.01",
    )  # fmt: skip
    assert (tmp_path / "log").read_text().split() == ["s", "c"]


def test_input_and_output_go_where_they_are_sent(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("hello\n")
    type_time(tmp_path, "--runs", "3", "--input", "in", "--output", "out", "cat")
    assert (tmp_path / "out").read_text() == "hello\n"


def test_unlike_outputs_are_told(tmp_path: Path) -> None:
    told = time_json(tmp_path, "--runs", "3", "echo a", "echo bcd")
    assert any("do not write the same output" in warning for warning in told["warnings"])


def test_commands_see_the_environment_and_the_folder_of_their_user(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("a-secret")
    told = time_json(tmp_path, "--runs", "3", 'test "$MINE" = "$(cat here)"', MINE="a-secret")
    assert told["commands"][0]["n"] == 3
    kept = [file.read_bytes() for file in Path(told["bundle"]).rglob("*") if file.is_file()]
    assert not any(b"a-secret" in content for content in kept)


def test_results_are_exported_in_three_forms(tmp_path: Path) -> None:
    type_time(
        tmp_path,
        "--runs", "8", "--export-json", "h.json", "--export-markdown", "t.md", "--export-csv", "t.csv",
        "sleep 0.01", "sleep 0.02",
    )  # fmt: skip
    exported = json.loads((tmp_path / "h.json").read_text())["results"]
    assert [item["command"] for item in exported] == ["sleep 0.01", "sleep 0.02"]
    assert all(len(item["times"]) >= 6 and item["mean"] > 0.01 for item in exported)
    assert "| `sleep 0.02` |" in (tmp_path / "t.md").read_text()
    assert (tmp_path / "t.csv").read_text().count("\n") == 3
    imported = Command(tmp_path)("import", "h.json", "--out", "h.csv")
    assert imported.returncode == 0, imported.stderr


def test_other_responses_than_time_can_be_compared(tmp_path: Path) -> None:
    large = f"{sys.executable} -S -c 'x = bytearray(60_000_000)'"
    small = f"{sys.executable} -S -c 'x = 1'"
    told = time_json(tmp_path, "--within", "20s", "--runs", "15", "--response", "peak_memory", small, large)
    (pair,) = told["comparisons"]
    assert pair["verdict"] == "slower"
    assert pair["ratio"] > 3
    assert told["commands"][1]["mean"] > 60e6


def test_an_interruption_ends_with_an_answer_from_what_was_measured(tmp_path: Path) -> None:
    with subprocess.Popen(
        [
            BIN / "datamill",
            "time",
            "--json",
            "--out",
            "bundle",
            "--within",
            "600s",
            "--precision",
            "0.01%",
            "sleep 0.01",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 120
        while not (tmp_path / "bundle" / "bundle.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    told = json.loads(out)
    assert told["interrupted"]
    assert told["commands"][0]["n"] >= 2


def test_a_signal_that_ends_timing_says_where_the_executions_are_kept(tmp_path: Path) -> None:
    asked = ("time", "--out", "bundle", "--within", "600s", "--precision", "0.01%", "sleep 0.01")
    with subprocess.Popen(
        [BIN / "datamill", *asked], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: (tmp_path / "bundle" / "bundle.json").exists())
        time.sleep(1)
        process.terminate()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (143, "")
    assert "ended by a signal; what was measured is kept: " in err
    assert err.strip().endswith(" report bundle")
    told = Command(tmp_path)("report", "bundle")
    assert told.returncode == 0, told.stderr
    assert "Mean wall_time of sleep-0.01: " in told.stdout


def test_a_terminal_that_lacks_a_character_does_not_cost_the_answer(tmp_path: Path) -> None:
    told = type_time(tmp_path, "--runs", "3", "sleep 0.01", PYTHONIOENCODING="ascii").stdout
    assert told.startswith("sleep 0.01 takes ")
    assert ", n = 3" in told


def test_a_killed_timing_leaves_no_command_behind(tmp_path: Path) -> None:
    with subprocess.Popen(
        [BIN / "datamill", "time", "--within", "60s", "sleep 31.4159"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for(lambda: is_running("sleep 31.4159"))
        process.kill()
    wait_for(lambda: not is_running("sleep 31.4159"))


def is_running(text: str) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().replace(b"\0", b" ").strip() == text.encode():
                return True
        except OSError:
            continue
    return False


def wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_cannot_be_asked_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for arguments, words in (
        (["--response", "speed", "true"], 'no response "speed"'),
        (["--within", "soon", "true"], "is not a duration"),
        (["--name", "a", "--name", "b", "true"], "2 names for 1 commands"),
        (["-L", "x", "1,2", "true"], 'no command has the parameter "x"'),
        (["--export-csv", "nowhere/t.csv", "true"], "there is no folder"),
        (["--input", "nowhere", "true"], "there is no file nowhere"),
        (["--runs", "5", "--min-runs", "3", "true"], "none are left to bound"),
        (["-m", "9", "-M", "3", "true"], "9 executions at least are more than 3 at most"),
        (["--shell", "nosuchshell", "true"], "there is no shell 'nosuchshell'"),
        (["-N", "--shell", "default", "true"], "--no-shell for none"),
        (["--show-output", "--output", "null", "true"], "cannot be shown and go elsewhere"),
    ):
        result = type_time(tmp_path, *arguments, status=2)
        assert words in result.stderr, result.stderr
        assert "Traceback" not in result.stderr


def test_an_interruption_ends_a_command_that_still_runs(tmp_path: Path) -> None:
    with subprocess.Popen(
        [BIN / "datamill", "time", "sleep 297.531"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(lambda: is_running("sleep 297.531"))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert not is_running("sleep 297.531")


def test_what_fails_at_the_end_does_not_lose_the_answer(tmp_path: Path) -> None:
    told = time_json(tmp_path, "--within", "2s", "--runs", "5", "--cleanup", "exit 9", "sleep 0.01")
    assert told["commands"][0]["n"] == 5
    assert any("status 9" in warning for warning in told["warnings"])


def test_output_is_read_and_neither_hashed_nor_lost_where_it_counts(tmp_path: Path) -> None:
    told = time_json(tmp_path, "--runs", "5", "head -c 3000000 /dev/zero")
    records = [json.loads(line) for line in Path(told["bundle"], "log.jsonl").read_text().splitlines()]
    sizes = {record["run"]["stdout_bytes"] for record in records}
    assert sizes == {3_000_000}


def test_a_folder_that_is_not_empty_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "mine").write_text("")
    result = type_time(tmp_path, "--out", "bundle", "touch ran", status=2)
    assert "not empty" in result.stderr
    assert "--out" in result.stderr
    assert not (tmp_path / "ran").exists()


def test_executions_are_as_many_as_was_asked_for(tmp_path: Path) -> None:
    for bounds, right in (
        (("--runs", "17"), lambda n: n == 17),
        (("--max-runs", "4"), lambda n: n == 4),
        # Also where others disturb it, sleeping is so regular that far fewer would be enough.
        (("--min-runs", "40", "--precision", "90%"), lambda n: 40 <= n < 100),
    ):
        told = time_json(tmp_path, *bounds, "--out", f"bundle{bounds[0]}", "sleep 0.01")
        assert right(told["commands"][0]["n"]), (bounds, told)


def test_a_named_shell_runs_commands_and_what_is_beside_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shell = ("--shell", "bash --norc", "--prepare", "[[ b == b ]]")
    scan = ("-L", "x", r"p\,q,r", "[[ a == a ]] && echo {x}")
    result = type_time(tmp_path, *shell, "--show-output", "-r", "2", "-w", "1", "--out", "bundle", *scan)
    shown = capfd.readouterr().err.splitlines()
    assert sorted(line for line in shown if line in ("p,q", "r")) == ["p,q"] * 3 + ["r"] * 3
    assert "p,q" not in [line.strip() for line in result.stdout.splitlines()]
    again = Command(tmp_path)("report", "--json", "bundle")
    assert again.returncode == 0, again.stderr


def test_no_execution_begins_that_the_time_allowed_does_not_hold(tmp_path: Path) -> None:
    began = time.monotonic()
    told = time_json(tmp_path, "--within", "3s", "--warmup", "1", "--precision", "0.001%", "sleep 0.6")
    # A batch would take longer than the time that is left for single executions.
    assert told["measured_s"] < 3.2
    assert 2 <= told["commands"][0]["n"] <= 4
    assert not [warning for warning in told["warnings"] if "allowed" in warning]
    assert time.monotonic() - began < 30


def test_a_time_too_short_for_any_interval_is_overrun_and_that_is_told(tmp_path: Path) -> None:
    told = time_json(tmp_path, "--within", "1s", "sleep 0.8")
    assert told["commands"][0]["n"] == 2
    before, after = (
        next(warning for warning in told["warnings"] if words in warning)
        for words in ("s are short", "s allowed")
    )
    assert "the fewest executions that have an interval, 2 of each command" in before
    assert "the fewest that have an interval, take that long" in after


def test_a_command_that_takes_longer_than_is_allowed_ends_with_what_it_would_take(tmp_path: Path) -> None:
    result = type_time(tmp_path, "--within", "300ms", "sleep 0.7", status=2)
    assert "sleep 0.7 takes 7" in result.stderr
    assert "more than were allowed" in result.stderr
    assert "or more with --within" in result.stderr


def test_a_command_of_hours_is_ended_soon_after_the_time_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up, "_PATIENCE_S", 0.3)
    question = TimingQuestion(read_commands(["sleep 3600", "true"]), tmp_path, within_s=0.2)
    began = time.monotonic()
    with (
        CommandSession(find_worker()) as session,
        TimeDisplay(quiet=True) as display,
        pytest.raises(InputError, match=r"sleep 3600 had not ended after .*, when the 200 ms allowed"),
    ):
        warm_up.warm_up_commands(session, question, display)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("kill -9 $$", "Run it alone to see why."),
        ("stty size", "script -qec 'COMMAND' /dev/null."),
        ("exit 3", "Allow other exit statuses with --allow-status."),
        ("no-such-program-anywhere-else", "or name it by its path."),
    ],
)
def test_what_helps_follows_from_how_a_command_failed(tmp_path: Path, command: str, remedy: str) -> None:
    assert type_time(tmp_path, command, status=2).stderr.strip().endswith(remedy)


def test_the_report_of_several_commands_begins_with_what_was_told(tmp_path: Path) -> None:
    commands = ("sleep 0.01", "sleep 0.02", "sleep 0.05")
    told = time_json(tmp_path, *UNTIL_ALL_ARE_TOLD, "--out", "bundle", *commands)
    pair = next(item for item in told["comparisons"] if item["b"] == "sleep 0.02")
    assert told["answer"][0].startswith("sleep 0.01 is the fastest of 3")
    answer = json.loads(Command(tmp_path)("report", "--json", "bundle").stdout)
    first = next(text for text in answer["answer"] if "best of" in text)
    assert first.startswith("sleep-0.01 is the best of 3 packages: the wall_time of sleep-0.02 differs from")
    last = answer["decisions"][-1]
    kept = next(item for item in last["pairs"] if item["name"] == "sleep-0.02 against sleep-0.01")
    assert [kept[key] for key in ("estimate", "low", "high")] == pytest.approx(
        [pair[key] - 1 for key in ("ratio", "low", "high")]
    )
    shown = re.search(r" by \+([\d.]+)% ", first)
    assert shown is not None
    # It is told with two figures of its error, which is known to a few percent.
    assert float(shown[1]) == pytest.approx(100 * kept["estimate"], abs=0.51)
    assert "sequential interval" in first
    # Else intervals that time never gave would stand beside them.
    assert not [text for text in answer["answer"] if "is better: its" in text]


@pytest.mark.parametrize(
    "verb", ["anova", "quantiles", "tests", "summary", "variability", "variance", "compare", "plan"]
)
def test_intervals_that_do_not_heed_stopping_are_said_to_be_too_sure(verb: str, stopped_bundle: Path) -> None:
    factors = [] if verb in ("compare", "plan", "variance") else ["--factors", "package"]
    typed = [verb] if verb in ("compare", "plan") else ["analyze", verb]
    shown = Command(stopped_bundle)(*typed, "bundle", *factors, "--json")
    assert shown.returncode == 0, shown.stderr
    (warning,) = [text for text in json.loads(shown.stdout)["warnings"] if "fixed number of trials" in text]
    assert "datamill report bundle" in warning


@pytest.fixture(scope="module")
def stopped_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stopped")
    type_time(folder, "--runs", "25", "--out", "bundle", "sleep 0.01", "sleep 0.02")
    return folder


def test_memory_below_what_starts_a_command_is_told_as_a_bound(tmp_path: Path) -> None:
    asked = ("--response", "peak_memory", "--runs", "6")
    alone = type_time(tmp_path, *asked, "--out", "alone", "true").stdout
    assert alone.startswith("The peak_memory of true is at most ")
    assert "Warning: peak_memory of true is known only as an upper bound" in alone
    large = f"{sys.executable} -c pass"
    told = time_json(tmp_path, "--response", "peak_memory", "-r", "40", "--out", "both", "true", large)
    assert told["answer"][0].endswith("at least.")
    assert [item["upper_bound_only"] for item in told["commands"]] == [True, False]
    refused = type_time(tmp_path, *asked, "true", "sleep 0.001", status=2).stderr
    assert "cannot be compared: any program begins with the" in refused
