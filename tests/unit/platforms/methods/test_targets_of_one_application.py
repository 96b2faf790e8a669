"""Suites that differ on targets alone are predicted at once."""

from __future__ import annotations

import numpy as np
import pytest
from made.suites import make_logs

from datamill.platforms.ensemble.members import MEMBERS
from datamill.platforms.methods.centred import center_applications
from datamill.platforms.strategies.from_methods import find_methods
from datamill.platforms.strategies.registry import find_strategy

METHODS = {**MEMBERS, "best single": find_methods(find_strategy("best-single"), {})[0]}


@pytest.mark.parametrize("name", METHODS)
def test_one_application_beside_many_suites_is_as_if_it_were_repeated(name: str) -> None:
    logs = make_logs(9, 7, 5, own=0.05)
    times, suites = logs[None, :4, 0], np.repeat(logs[None, :, 1:], 3, axis=0)
    suites[1, 4:] += 0.01
    suites[2, 6, 2] -= 0.02
    once = METHODS[name](center_applications(suites, times))
    repeated = METHODS[name](center_applications(suites, np.repeat(times, 3, axis=0)))
    assert once == pytest.approx(repeated, rel=1e-12, abs=1e-12)
    assert not np.allclose(once[0], once[1])
