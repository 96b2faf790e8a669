"""Texts of users, packages and workers reach pages, feeds, tables and files as texts, and act nowhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from integration.hostile.texts.told.bodies import find_bodies
from integration.hostile.texts.told.outcomes import OUTCOMES
from integration.hostile.texts.told.reports import list_fields_of_reports
from integration.hostile.texts.told.scene import Scene
from integration.hostile.texts.told.walked_records import list_text_fields
from integration.hostile.users.built_place import building_place
from integration.hostile.users.samples import CHANGES


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """All texts sent, those that were taken kept, and everything read that may show them."""
    with building_place(tmp_path_factory.mktemp("place"), plays_archives=False) as place:
        scene = Scene(place)
        scene.try_bodies()
        scene.try_reports()
        number, again = scene.keep_all()
        scene.publish(number)
        assert scene.read_all(number, again) > 150
        yield scene


def test_no_text_acts_in_what_is_shown(scene: Scene) -> None:
    assert scene.problems == []


def test_each_field_has_a_line_that_says_what_becomes_of_its_text(scene: Scene) -> None:
    found = scene.list_outcomes()
    assert found == OUTCOMES, (
        "say in told/outcomes.py whether a text is refused, shown or unseen, once that is right"
    )


def test_each_field_of_a_request_and_of_a_report_was_tried() -> None:
    fields = list_fields_of_reports()
    for record in find_bodies().values():
        fields |= list_text_fields(record)
    assert fields - set(OUTCOMES) == set()
    assert set(find_bodies()) <= set(CHANGES)
