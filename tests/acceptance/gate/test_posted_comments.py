"""What `integrations/post-comment` does where a comment cannot be put, or not whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from acceptance.gate.review_platform import MARK, TOKEN, Platform

FOLDER = Path(__file__).parents[3] / "integrations"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"PULL_REQUEST": ""}, "there is no PULL_REQUEST"),
        ({"TOKEN": ""}, "there is no TOKEN"),
        ({"TOKEN": "wrong"}, "401"),
        ({"GITHUB_API_URL": "http://127.0.0.1:9"}, "failed: URLError"),
        ({"GITHUB_API_URL": "{address}/moved"}, "302"),
        ({"PULL_REQUEST": "7/../8"}, "invalid literal"),
    ],
)
def test_a_comment_that_cannot_be_put_is_shown(
    tmp_path: Path, platform: Platform, variables: dict[str, str], words: str
) -> None:
    (tmp_path / "comment.md").write_text(f"{MARK}\ntext\n")
    usual = {"PULL_REQUEST": "7", "TOKEN": TOKEN, "GITHUB_API_URL": platform.address}
    given = usual | {"GITHUB_REPOSITORY": "owner/name"} | variables
    told = subprocess.run(
        [sys.executable, FOLDER / "post-comment", "github", "comment.md"],
        cwd=tmp_path,
        env={name: value.format(address=platform.address) for name, value in given.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout == f"{MARK}\ntext\n"
    assert words in told.stderr
    assert TOKEN not in told.stdout + told.stderr
    assert platform.own == []


def test_a_long_comment_is_cut_and_its_fold_closed(tmp_path: Path, platform: Platform) -> None:
    (tmp_path / "comment.md").write_text(f"{MARK}\n<details>\n" + "a line\n" * 20_000 + "</details>\n")
    told = subprocess.run(
        [sys.executable, FOLDER / "post-comment", "github", "comment.md"],
        cwd=tmp_path,
        env={
            "PULL_REQUEST": "7",
            "TOKEN": TOKEN,
            "GITHUB_API_URL": platform.address,
            "GITHUB_REPOSITORY": "owner/name",
        },
        check=False,
    )
    assert told.returncode == 0
    (comment,) = platform.own
    assert len(comment) < 65_536
    assert comment.count("<details>") == comment.count("</details>") == 1
