"""How far the stages of an experiment are: builds, profiles of them, and trials that measure."""

from __future__ import annotations

from typing import Literal

import msgspec

Stage = Literal["build", "profile", "measure"]


class StageLine(msgspec.Struct, frozen=True):
    """A stage of an experiment, by how far its trials are.

    `waits_for` is the stage that those `waiting` wait for; empty where none wait, or for something else:
    debug trials, a look at a batch, a person. `given_up` are those that get no attempt any more.
    """

    stage: Stage
    done: int
    under_way: int
    ready: int
    waiting: int
    given_up: int
    cancelled: int
    waits_for: str
