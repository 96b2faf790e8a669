from __future__ import annotations

import pytest
from made.selection.selection_records import make_function, make_profile, make_table

from datamill.conduct.selection.collecting.build_version import describe_refusal
from datamill.conduct.selection.store.kept_commands import keep_commands
from datamill.conduct.selection.store.packed_store import pack_store
from datamill.conduct.selection.store.selection_store import SelectionStore
from datamill.experiment.errors import InputError
from datamill.selection.history.records import COUNTED_WAY, Program, Version, WorkCount
from datamill.selection.history.settings import parse_settings


def test_a_version_with_one_binary_is_named_as_those_with_several(tmp_path):
    store = SelectionStore(tmp_path)
    table = make_table(make_function("work"))
    store.prepare()
    kept = store.keep_table(table)
    programs = [Program("one", {"tool": kept}), Program("two", {"tool": kept, "libwork.so": kept})]
    store.write_versions([], programs)
    store.write_profiles("one", [make_profile(work=(1, 10))])
    assert [item.name for item in store.read_table("one").functions] == ["tool: work"]
    assert set(store.read_profiles("one")["bench"].functions) == {"tool: work"}
    # Where all have one, there is nothing to tell apart.
    store.write_versions([], programs[:1])
    assert set(store.read_profiles("one")["bench"].functions) == {"work"}


def test_who_locks_a_store_sees_what_others_wrote_before(tmp_path):
    mine, other = SelectionStore(tmp_path), SelectionStore(tmp_path)
    mine.write_versions([], [])
    assert not other.versions
    assert not other.programs
    mine.write_versions([Version("c1", 0, "built", program="one")], [Program("one", {})])
    with other.locked():
        assert [item.commit for item in other.versions] == ["c1"]
        assert set(other.programs) == {"one"}


def test_a_store_is_not_packed_below_a_file(tmp_path):
    store = SelectionStore(tmp_path / "store")
    store.prepare()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as refused:
        pack_store(store, tmp_path / "selection.toml", tmp_path / "file" / "packed")
    assert refused.value.message == "cannot be made: Not a directory"


def test_a_packed_store_still_refuses_another_command(tmp_path):
    text = 'binaries = ["tool"]\n[[benchmark]]\nname = "bench"\ncommand = "./tool {}"\n'
    store = SelectionStore(tmp_path / "store")
    store.write_versions([], [])
    keep_commands(parse_settings(text.format("a")), store)
    store.write_counts([WorkCount("one", "bench", 1000, way=COUNTED_WAY)])
    (tmp_path / "selection.toml").write_text(text.format("a"))
    pack_store(store, tmp_path / "selection.toml", tmp_path / "packed")
    with pytest.raises(InputError, match="was measured by another command"):
        keep_commands(parse_settings(text.format("b")), SelectionStore(tmp_path / "packed"))


def test_why_a_version_was_refused_is_told_in_sentences():
    refused = InputError("the submodule lib is not here", remedy="Get it: git submodule update --init.")
    assert describe_refusal(refused) == "the submodule lib is not here. Get it: git submodule update --init"
