"""`datamill time --git`: one command in several revisions, each built several times."""

import json
from pathlib import Path

import pytest
from acceptance.gate.scratch_repositories import commit, git, make_repository, write_main
from acceptance.gate.scratch_repositories import type_datamill as run


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    state = tmp_path / "state"
    monkeypatch.setenv("DATAMILL_STATE_DIR", str(state))
    return state


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


def test_a_commit_that_is_slower_is_told_and_the_bundle_says_the_same(
    repository: Path, own_state: Path
) -> None:
    write_main(repository, loops=8_000_000)
    commit(repository, "slower")
    before = git(repository, "count-objects", "-v")
    told = json.loads(
        run(
            repository, "time", "--git", "HEAD~1..HEAD", "--build", "make", "--within", "12s", "--json",
            "--", "./prog",
        ).stdout
    )  # fmt: skip
    (pair,) = told["comparisons"]
    assert pair["verdict"] == "slower"
    assert 1.5 < pair["ratio"] < 6
    assert told["executions_per_build"] >= 1
    assert all(item["n"] >= 8 for item in told["commands"])
    bundle = Path(told["bundle"])
    report = json.loads(run(repository, "report", "--json", str(bundle)).stdout)
    assert report["decisions"][-1]["intervals"][0]["estimate"] == pytest.approx(pair["ratio"] - 1)
    records = [json.loads(line) for line in (bundle / "log.jsonl").read_text().splitlines()]
    digests = {record["build"]["executables_sha256"] for record in records}
    assert len(digests) > 2, "builds of one revision differ"
    assert {fact["observed"] for record in records for fact in record["factors"]} >= {"random"}
    # Nothing is left of the checkouts, and nothing was put into the repository.
    assert list(own_state.glob("timings/datamill-revisions-*")) == []
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "count-objects", "-v") == before


def test_what_is_not_committed_is_compared_with_the_last_commit(repository: Path) -> None:
    write_main(repository, loops=8_000_000)
    (repository / "new.txt").write_text("a file that git does not know\n")
    result = run(
        repository, "time", "--git", "--build", "make", "--within", "12s", "--", "test -e new.txt; ./prog"
    )
    first = result.stdout.splitlines()[0]
    assert first.startswith(("uncommitted takes ", "uncommitted is slower than HEAD"))
    assert "builds of each, linked in another order every time" in result.stdout
    assert git(repository, "status", "--porcelain") == " M main.c\n?? new.txt\n"


def test_a_series_has_every_commit_between_two(repository: Path) -> None:
    for loops in (2_000_001, 2_000_002):
        write_main(repository, loops=loops)
        commit(repository, str(loops))
    told = json.loads(
        run(
            repository, "time", "--git", "HEAD~2..HEAD", "--series", "--build", "make", "--within", "4s",
            "--json", "--", "./prog",
        ).stdout
    )  # fmt: skip
    assert len(told["commands"]) == len(told["comparisons"]) == 3
    assert told["commands"][0]["name"].startswith("HEAD~2 (")


def test_scripts_that_need_no_build_are_executed_as_they_are(repository: Path) -> None:
    (repository / "script").write_text("#!/bin/sh\nsleep 0.02\n")
    (repository / "script").chmod(0o755)
    commit(repository, "a script")
    (repository / "script").write_text("#!/bin/sh\nsleep 0.06\n")
    told = json.loads(run(repository, "time", "--git", "--within", "25s", "--json", "--", "./script").stdout)
    assert told["comparisons"][0]["verdict"] == "slower"
    assert told["executions_per_build"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--git", "nothing..HEAD", "--", "./prog"), 'there is no revision "nothing"'),
        (("--git", "HEAD..HEAD", "--", "./prog"), "has the same files as HEAD"),
        (("--git", "--", "./prog"), "nothing has changed since HEAD"),
        (("--git", "HEAD~1..HEAD", "--", "./prog"), "if it must be built, say how with --build"),
        (("--git", "HEAD~1..HEAD", "--build", "make nothing", "--", "./prog"), "HEAD~1"),
        (("--build", "make", "./prog"), "--build: it goes with revisions"),
        (("--git", "HEAD~1..HEAD", "./prog", "./prog b"), "--git times one command"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_way_out(
    repository: Path, arguments: tuple[str, ...], message: str
) -> None:
    (repository / "README").write_text("changed\n")
    commit(repository, "words")
    said = " ".join(run(repository, "time", *arguments, status=2).stderr.split())
    assert message in said
    assert "Traceback" not in said
