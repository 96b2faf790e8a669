"""The options of `datamill serve` read and look as those of the other verbs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from datamill.cli.main import datamill
from datamill.service.serving.options import parse_options


def test_the_help_of_serve_has_the_style_of_the_other_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_options(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    other = CliRunner().invoke(datamill, ["run", "--help"], prog_name="datamill").output
    assert other.startswith("Usage: datamill run [OPTIONS]")
    assert shown.startswith("Usage: datamill serve [OPTIONS]")
    for line in ("Options:", "-h, --help", "Show this message and exit."):
        assert line in shown, line
        assert line in other, line
    options = [line.split() for line in shown.splitlines() if line.startswith("  --")]
    assert all(words[-1] not in ("MULTIPLE", "TEXT") for words in options)


def test_an_unknown_option_of_serve_is_refused_with_the_nearest_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_options(["--lissten", "0.0.0.0:1"])
    assert ended.value.code == 2
    assert "--listen" in capsys.readouterr().err


def test_a_bucket_for_files_is_an_option_or_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_options([]).files == ""
    monkeypatch.setenv("DATAMILL_FILES", "s3://lab")
    assert parse_options([]).files == "s3://lab"
    assert parse_options(["--files", "s3://other"]).files == "s3://other"


def test_options_that_may_be_repeated_are_all_kept() -> None:
    options = parse_options(
        [
            "--data",
            "~/x",
            "--public-name",
            "a",
            "--public-name",
            "b",
            "--proxy",
            "127.0.0.1",
            "--nats-port",
            "7",
        ]
    )
    assert options.public_names == ("a", "b")
    assert options.proxies == ("127.0.0.1",)
    assert options.nats_port == 7
    assert options.data == Path.home() / "x"
    assert options.nats_replicas == 1
