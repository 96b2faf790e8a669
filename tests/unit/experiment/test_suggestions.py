from __future__ import annotations

from datamill.experiment.messages.suggestions import suggest_name


def test_a_name_is_suggested_or_all_are_listed_or_it_is_said_that_there_are_no_names():
    assert suggest_name("binary", ["binaries", "name"]) == 'Did you mean "binaries"?'
    assert suggest_name("xyz", ["name", "binaries"]) == "Known: binaries, name."
    assert suggest_name("xyz", []) == "No name is known."
