"""What an experiment file names and is not there, and factors that change nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from acceptance.conftest import EXPERIMENT, Command, assert_refused

LOADED = '[nuisance]\nbackground_load = { fix = "busy" }'
LOAD = '\n[[load]]\nname = "busy"\npath = "nowhere"\n'
FACTOR = '\n[[factor]]\npath = "nowhere"\n'


@pytest.mark.parametrize(
    ("change", "said", "line"),
    [
        (('path = "b"', 'path = "nowhere"'), 'package "b" is not there', 12),
        (("[limits]", LOADED + LOAD + "[limits]"), 'load "busy" is not there', 23),
        (("[limits]", FACTOR + "[limits]"), "the factor is not there", 21),
    ],
)
def test_what_is_not_there_is_named_with_the_line_that_names_it(
    datamill: Command,
    make_experiment: Callable[..., Path],
    change: tuple[str, str],
    said: str,
    line: int,
) -> None:
    make_experiment(text=EXPERIMENT.replace(*change))
    assert_refused(datamill("check", "experiment.toml"), said, f"experiment.toml:{line}:", "nowhere")


def test_a_load_without_run_sh_is_called_a_load(
    datamill: Command, make_experiment: Callable[..., Path], tmp_path: Path
) -> None:
    make_experiment(text=EXPERIMENT.replace("[limits]", LOADED + LOAD + "[limits]"))
    (tmp_path / "nowhere").mkdir()
    assert_refused(datamill("check", "experiment.toml"), 'load "busy" has no run.sh')


def test_factors_that_change_nothing_are_told(
    datamill: Command, make_experiment: Callable[..., Path], tmp_path: Path
) -> None:
    factors = (
        'link_order = ["default", "reverse"]\nsession = ["same", "different"]\n'
        'background_load = ["none", "busy"]\n[[load]]\nname = "busy"\npath = "a"\n[responses.rate]'
    )
    make_experiment(text=EXPERIMENT.replace("[responses.rate]", factors))
    setup = tmp_path / "a" / "setup.sh"
    setup.write_text("#!/bin/sh\n")
    setup.chmod(0o755)
    checked = datamill("check", "experiment.toml")
    said = " ".join((checked.stdout + checked.stderr).split())
    assert "link_order changes nothing for b, which has no setup.sh" in said
    assert "session changes nothing where background_load is none" in said
    setup.rename(tmp_path / "b" / "setup.sh")
    assert "link_order changes nothing for a" in " ".join(datamill("check", "experiment.toml").stdout.split())


def test_a_journal_that_cannot_be_kept_is_refused_before_there_is_a_bundle(
    datamill: Command, make_experiment: Callable[..., Path], tmp_path: Path
) -> None:
    make_experiment(text=EXPERIMENT.replace('aslr = ["on", "off"]', 'nmi_watchdog = "off"'))
    (tmp_path / "file").write_text("")
    datamill.environment["DATAMILL_STATE_DIR"] = str(tmp_path / "file" / "state")
    refused = datamill("run", "experiment.toml", "--out", "bundle")
    if "nmi_watchdog" in refused.stderr and "not" in refused.stderr and "journal" not in refused.stderr:
        pytest.skip("this machine does not let nmi_watchdog be set")
    assert_refused(refused, "journal", "DATAMILL_STATE_DIR")
    assert not (tmp_path / "bundle").exists()
