"""A zero character in any field is refused or replaced: a database of a lab cannot keep one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from integration.hostile.texts.marked_texts import Zeros
from integration.hostile.texts.told.bodies import find_bodies
from integration.hostile.texts.told.reports import say_plain
from integration.hostile.texts.told.scene import Scene
from integration.hostile.texts.told.walked_records import vary_texts
from integration.hostile.users.built_place import building_place
from integration.hostile.users.place import read_tables
from integration.hostile.users.samples import CHANGES
from integration.service.fleets import START_S


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with building_place(tmp_path_factory.mktemp("place")) as place:
        yield Scene(place)


def find_zeros() -> list[str]:
    """Return the tables that hold a zero character in a text, or in a column of JSON as that writes it."""
    return [
        name
        for name, rows in read_tables().items()
        if any("\0" in text or "\\u0000" in text for row in rows for text in _list_texts(row))
    ]


def _list_texts(row: object) -> Iterator[str]:
    assert isinstance(row, tuple)
    yield from (value for value in row if isinstance(value, str))


def test_no_request_brings_a_zero_into_the_database(scene: Scene) -> None:
    wrong, tried = [], 0
    for route, record in find_bodies().items():
        asked = CHANGES[route][0]
        for field, body in vary_texts(record, scene.fill_body(asked), Zeros().write):
            answer = scene.send(route, body, asked.to)
            wrong += [f"{field}: {answer.status_code}"] if answer.status_code >= 500 else []
            wrong += [f"{field}: in {name}" for name in find_zeros()]
            scene.place.restore()
            tried += 1
    assert not wrong, "\n".join(wrong)
    assert tried > 50


def test_no_report_of_a_worker_brings_a_zero_into_the_database(scene: Scene) -> None:
    wrong, tried = [], 0
    worker_id = scene.find_worker()
    for field, report in scene.vary_reports(Zeros()):
        say_plain(worker_id, report, START_S + 1000.0)
        wrong += [f"{field}: in {name}" for name in find_zeros()]
        scene.place.restore()
        tried += 1
    assert not wrong, "\n".join(wrong)
    assert tried > 90
