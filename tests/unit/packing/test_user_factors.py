"""Factors that an experiment brings along: which folders are accepted, and what is said of the others."""

import tarfile
from pathlib import Path

import pytest

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import FactorChoice
from datamill.experiment.file.parse_factors import check_user_names
from datamill.packing.members import pack_members
from datamill.packing.user_factors import read_user_factor

FILE = 'name = "governor_of_mine"\nsummary = "what it sets"\nscope = "host"\n'
VERBS = ("levels", "set", "verify", "restore")


def make_factor(folder: Path, *, text: str = FILE, verbs: tuple[str, ...] = VERBS) -> Path:
    folder.mkdir(parents=True)
    (folder / "factor.toml").write_text(text)
    for verb in verbs:
        (folder / verb).write_text("#!/bin/sh\necho on\n")
        (folder / verb).chmod(0o755)
    return folder


def test_a_sound_folder_is_accepted_and_so_is_its_archive(tmp_path: Path) -> None:
    factor = read_user_factor(make_factor(tmp_path / "f"))
    assert (factor.name, factor.summary, factor.scope) == ("governor_of_mine", "what it sets", "host")
    packed = pack_members(factor.path, tmp_path / "f.tar.gz")
    again = read_user_factor(packed.archive)
    assert (again.name, again.summary) == (factor.name, factor.summary)


def test_an_environment_factor_needs_no_restore(tmp_path: Path) -> None:
    text = FILE.replace('"host"', '"environment"')
    assert read_user_factor(make_factor(tmp_path / "f", text=text, verbs=VERBS[:3])).scope == "environment"


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_is_missing_or_cannot_be_executed_is_named(tmp_path: Path, verb: str) -> None:
    others = tuple(name for name in VERBS if name != verb)
    with pytest.raises(InputError, match=f"has no {verb}"):
        read_user_factor(make_factor(tmp_path / "f", verbs=others))
    whole = make_factor(tmp_path / "g")
    (whole / verb).chmod(0o644)
    with pytest.raises(InputError, match=f"{verb} is not executable"):
        read_user_factor(whole)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"governor_of_mine"', '"my factor"', "needs a name"),
        ('"governor_of_mine"', '"Mine"', "needs a name"),
        ('name = "governor_of_mine"', "", "needs a name"),
        ('summary = "what it sets"', "", "needs a summary"),
        ('"host"', '"planet"', "needs a scope"),
        ("scope", "scop", 'Did you mean "scope"?'),
        ('"host"', '"host"\ntimeout_s = 0', "from 1 to 600"),
        ('"host"', '"host', "not valid TOML"),
    ],
)
def test_a_mistake_in_the_factors_file_is_named(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_user_factor(make_factor(tmp_path / "f", text=FILE.replace(old, new)))
    assert words in str(caught.value)
    assert "factor.toml" in caught.value.where


def test_a_folder_that_is_none_of_a_factor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there"):
        read_user_factor(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no factor\.toml"):
        read_user_factor(tmp_path / "empty")
    (tmp_path / "text.tar.gz").write_text("no archive")
    with pytest.raises(InputError, match="not a readable"):
        read_user_factor(tmp_path / "text.tar.gz")


def test_a_link_that_leads_outside_is_refused(tmp_path: Path) -> None:
    folder = make_factor(tmp_path / "f")
    (folder / "out").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="leads outside"):
        read_user_factor(folder)
    archive = tmp_path / "f.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname=".")
    with pytest.raises(InputError, match="leads outside"):
        read_user_factor(archive)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("aslr",), 'name of a built-in factor: "aslr"'),
        (("rate",), 'name of a response: "rate"'),
        (("mine", "mine"), 'two factors that the experiment brings along are called "mine"'),
    ],
)
def test_names_that_are_taken_are_refused(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_user_names((), names, {"rate": "response"})


def test_a_name_that_no_factor_bears_is_refused_with_the_nearest_one() -> None:
    choice = FactorChoice("mime", ("1",), where="experiment.toml:9")
    with pytest.raises(InputError, match='Did you mean "mine"') as caught:
        check_user_names((choice,), ("mine",), {})
    assert caught.value.where == "experiment.toml:9"
    check_user_names((FactorChoice("mine", ("1",)), FactorChoice("aslr", ("on",))), ("mine",), {})
