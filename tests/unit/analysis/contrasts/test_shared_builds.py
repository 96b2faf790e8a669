"""Design points that measure the same builds: contrasts know it, and verbs that do not say so."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made.nested_study import make_nested_study

import datamill
from datamill.analysis.contrasts.contrast import bound_percent, estimate_contrast, use_own_errors
from datamill.analysis.model_data.builds import find_shared_builds
from datamill.analysis.model_data.cells import Cells, ModelFactor, gather_cells
from datamill.analysis.model_data.observations import select_response


def make_cells(rng: np.random.Generator, builds: int = 6, points: int = 2) -> Cells:
    """One package at several points, all with the same builds."""
    effects = 5.0 * rng.standard_normal(builds)
    codes = np.repeat(np.arange(points), builds)
    values = 100 + np.tile(effects, points) + 0.1 * rng.standard_normal(builds * points)
    factor = ModelFactor("aslr", tuple(f"l{at}" for at in range(points)))
    cells = gather_cells([factor], [codes], values)
    return replace(cells, builds=np.tile(np.arange(builds), points))


def test_the_mean_over_points_has_the_variance_of_build_means() -> None:
    cells = make_cells(np.random.default_rng(1))
    contrast = estimate_contrast(cells, np.array([0.5, 0.5]), use_own_errors(cells))
    means = (cells.values[:6] + cells.values[6:]) / 2
    assert contrast.variance == pytest.approx(np.var(means, ddof=1) / 6)
    assert contrast.df == pytest.approx(5)


def test_a_difference_within_builds_has_the_variance_of_paired_differences() -> None:
    cells = make_cells(np.random.default_rng(2))
    contrast = estimate_contrast(cells, np.array([-1.0, 1.0]), use_own_errors(cells))
    assert contrast.variance == pytest.approx(np.var(cells.values[6:] - cells.values[:6], ddof=1) / 6)
    blind = estimate_contrast(
        replace(cells, builds=None), np.array([-1.0, 1.0]), use_own_errors(replace(cells, builds=None))
    )
    assert blind.variance > 20 * contrast.variance


def test_a_percentage_of_the_mean_knows_that_both_are_of_the_same_builds() -> None:
    cells = make_cells(np.random.default_rng(3))
    errors = use_own_errors(cells)
    percent = bound_percent(cells, np.array([-0.5, 0.5]), np.array([0.5, 0.5]), errors, 0.95)
    assert percent is not None
    assert percent.high - percent.low < 0.5


def test_builds_that_lack_a_point_still_count_once() -> None:
    rng = np.random.default_rng(4)
    full = make_cells(rng)
    rows = np.r_[0:12][np.r_[0:12] != 9]
    assert full.builds is not None
    part = gather_cells(full.factors, [full.codes[full.of_row, 0][rows]], full.values[rows])
    part = replace(part, builds=full.builds[rows])
    contrast = estimate_contrast(part, np.array([0.5, 0.5]), use_own_errors(part))
    assert contrast.df == pytest.approx(5)
    assert contrast.variance > 0


def test_builds_of_single_points_and_single_builds_are_not_shared() -> None:
    of_row = np.array([0, 0, 1, 1], dtype=np.uint32)
    assert find_shared_builds(of_row, np.array([0, 1, 2, 3])) is None
    assert find_shared_builds(of_row, np.array([0, 0, 0, 0])) is None
    assert find_shared_builds(of_row, None) is None
    found = find_shared_builds(of_row, np.array([7, 9, 7, 9]))
    assert found is not None
    assert found.tolist() == [0, 1, 0, 1]


def test_the_table_of_a_nested_bundle_tells_which_builds_points_share() -> None:
    _, _, table, _ = make_nested_study(shape=(4, 2, 2), aslr=("on", "off"))
    cells = select_response(table, "latency", ("package", "aslr")).cells
    assert cells.n == 16
    assert cells.builds is not None
    assert len(set(cells.builds.tolist())) == 8
    _, _, alone, _ = make_nested_study(shape=(4, 2, 2))
    assert select_response(alone, "latency", ("package",)).cells.builds is None


def test_verbs_that_take_shared_builds_for_independent_say_so(tmp_path: Path) -> None:
    _, _, table, _ = make_nested_study(shape=(4, 2, 2), aslr=("on", "off"))
    file = tmp_path / "table.parquet"
    table.write_parquet(file)
    assert any("share builds" in item for item in datamill.anova(file, response="latency").warnings)
    asked = {"response": "latency", "factors": ["package", "aslr"]}
    assert any("share builds" in item for item in datamill.tests(file, assume="normal", **asked).warnings)  # type: ignore[arg-type]
    with pytest.raises(datamill.InputError, match="versions are the levels of one"):
        datamill.compare(file)
    chosen = datamill.compare(file, where={"aslr": "on"})
    assert [mean.version for mean in chosen.comparison.means] == ["new", "old"]
