"""Files that answers go to, refused before anything is measured."""

import os
from pathlib import Path

import pytest

from datamill.cli.timing.time_options import check_writable
from datamill.experiment.errors import InputError


def test_a_file_is_refused_that_the_user_may_not_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, new = tmp_path / "there", tmp_path / "new"
    there.write_text("")
    check_writable(there)
    check_writable(new)
    assert not new.exists()
    # Root may write all files: here one may write the folder, and not what lies in it.
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) == tmp_path)
    check_writable(new)
    with pytest.raises(InputError, match="you may not write this file"):
        check_writable(there)


def test_a_folder_and_a_file_in_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match="there is no folder"):
        check_writable(tmp_path / "nowhere" / "t.csv")
