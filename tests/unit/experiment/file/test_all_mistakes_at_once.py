"""All independent mistakes of an experiment file are named in one refusal, each with line and remedy."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from datamill.conduct.question.read_files import read_experiment_file
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.messages.mistakes import SeveralMistakesError

MANY = """\
[experiment]
name = "many"
replicates = 0
order = "rondom"
baseline = "b"
[[package]]
name = "a"
path = "nowhere-a"
netwrk = true
[[package]]
name = "b"
[[package]]
name = "c"
path = "nowhere-c"
[factors]
optimisation = ["-O1"]
aslr = ["onn", "offf"]
[nuisance]
policy = "rnd"
env_padding = { fix = -5 }
[responses.x]
formula = "1 +"
direction = "up"
[limits]
run_timeout = "5 foo"
memory = "x"
[fleet]
reboot = "x"
redundancy = -1
[whatever]
"""


def refuse(text: str) -> InputError:
    with pytest.raises(InputError) as refused:
        parse_experiment(text, name="e.toml")
    return refused.value


def test_every_mistake_is_named_with_its_line_in_the_order_of_lines() -> None:
    problem = refuse(MANY)
    assert isinstance(problem, SeveralMistakesError)
    lines = [int(mistake.where.split(":")[1]) for mistake in problem.each]
    assert lines == sorted(lines)
    assert set(lines) == {3, 4, 9, 10, 16, 17, 19, 20, 21, 22, 23, 25, 26, 28, 29, 30}
    assert lines.count(17) == 2, "both unknown levels of a factor"
    assert 'Did you mean "random"?' in str(problem)
    assert str(problem).count("e.toml:") == len(problem.each)


def test_what_follows_from_a_mistake_is_not_called_another_one() -> None:
    """The baseline names a package of which something else is wrong."""
    text = '[experiment]\nname = "m"\nbaseline = "b"\n[[package]]\nname = "b"\n'
    problem = refuse(text)
    assert not isinstance(problem, SeveralMistakesError)
    assert problem.message == 'package "b" needs a path or a command'
    assert problem.where == "e.toml:4: [package] path"


def test_missing_folders_are_named_beside_other_mistakes(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(MANY)
    with pytest.raises(InputError) as refused:
        read_experiment_file(tmp_path)
    shown = str(refused.value)
    assert 'package "a" is not there' in shown
    assert 'package "c" is not there' in shown
    assert 'unknown section "[whatever]"' in shown


def test_two_missing_folders_of_a_sound_file_are_both_named(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(
        '[experiment]\nname = "m"\n[[package]]\nname = "a"\npath = "x"\n[[package]]\nname = "b"\npath = "y"\n'
    )
    with pytest.raises(InputError) as refused:
        read_experiment_file(tmp_path)
    assert str(refused.value).count("is not there") == 2


def test_a_refusal_names_twenty_mistakes_and_how_many_more_there_are() -> None:
    text = '[experiment]\nname = "m"\n[[package]]\nname = "a"\npath = "a"\n[limits]\n'
    problem = refuse(text + "".join(f"wrong{number} = 1\n" for number in range(25)))
    assert str(problem).count("unknown key") == 20
    assert "and 5 more mistakes" in str(problem)


def test_several_mistakes_cross_from_one_process_to_another_whole() -> None:
    problem = refuse(MANY)
    assert str(pickle.loads(pickle.dumps(problem))) == str(problem)


def test_a_parameter_is_not_missed_in_a_command_whose_package_lacks_a_name() -> None:
    text = (
        '[experiment]\nname = "e"\n[[package]]\ncommand = "gzip -{level} f"\n'
        '[factors.level]\nargument = "{level}"\nlevels = [1, 9]\n'
    )
    problem = refuse(text)
    assert "a package needs a name" in problem.message
    assert "stands in no command" not in str(problem)
    assert problem.remedy == 'Write name = "package-1", or what you call it.'
