"""Comparisons of versions against R: t.test and Fieller's ratio on build means."""

import numpy as np
import pytest
from made.nested_draws import draw_version
from reference.groups.test_groups_against_r import compute_in_r, spell

from datamill.analysis.random_effects.nested_data.nested_values import NestedValues
from datamill.analysis.versions.compare import compare_versions


def average_builds(values: NestedValues) -> np.ndarray:
    executions = [
        values.values[start:end].mean()
        for start, end in zip(values.executions, values.executions[1:], strict=False)
    ]
    return np.array(
        [np.mean(executions[start:end]) for start, end in zip(values.builds, values.builds[1:], strict=False)]
    )


def test_difference_and_p_are_those_of_the_welch_test_on_build_means() -> None:
    rng = np.random.default_rng(11)
    old = draw_version(rng, "old", (7, 3, 4))
    new = draw_version(rng, "new", (12, 2, 5), mean=103.0, spreads=(0.8, 0.5, 1.0))
    expected = compute_in_r(
        f"""
        test <- t.test({spell(average_builds(new))}, {spell(average_builds(old))}, conf.level = 0.9)
        out <- list(p = test$p.value, interval = test$conf.int, df = test$parameter,
                    estimate = test$estimate[1] - test$estimate[2])
        """
    )
    change = compare_versions([old, new], confidence=0.9).changes[0]
    assert change.p == pytest.approx(expected["p"][0], rel=1e-10)
    assert change.df == pytest.approx(expected["df"][0], rel=1e-10)
    assert [change.difference.low, change.difference.high] == pytest.approx(expected["interval"], rel=1e-10)
    assert change.difference.estimate == pytest.approx(expected["estimate"][0], rel=1e-10)


def test_the_ratios_bounds_solve_fiellers_equation_in_r() -> None:
    rng = np.random.default_rng(12)
    old = draw_version(rng, "old", (6, 3, 4))
    new = draw_version(rng, "new", (9, 3, 4), mean=104.0)
    # The bounds are the ratios r at which Welch's statistic of new − r old reaches its critical value.
    expected = compute_in_r(
        f"""
        a <- {spell(average_builds(new))}; b <- {spell(average_builds(old))}
        df <- t.test(a, b)$parameter
        gap <- function(r) (mean(a) - r * mean(b))^2 -
          qt(0.975, df)^2 * (var(a) / length(a) + r^2 * var(b) / length(b))
        middle <- mean(a) / mean(b)
        out <- list(low = uniroot(gap, c(0.5, middle), tol = 1e-14)$root,
                    high = uniroot(gap, c(middle, 2), tol = 1e-14)$root)
        """
    )
    ratio = compare_versions([old, new]).changes[0].ratio
    assert ratio is not None
    assert ratio.low == pytest.approx(expected["low"][0], rel=1e-9)
    assert ratio.high == pytest.approx(expected["high"][0], rel=1e-9)


def test_p_values_of_several_versions_are_adjusted_as_in_r() -> None:
    rng = np.random.default_rng(13)
    versions = [draw_version(rng, f"v{at}", (6, 2, 2), mean=100.0 + at) for at in range(5)]
    tests = ", ".join(
        f"t.test({spell(average_builds(item))}, {spell(average_builds(versions[0]))})$p.value"
        for item in versions[1:]
    )
    expected = compute_in_r(
        f"p <- c({tests}); out <- list(holm = p.adjust(p, 'holm'), bonferroni = p.adjust(p, 'bonferroni'))"
    )
    for adjustment in ("holm", "bonferroni"):
        found = [change.p for change in compare_versions(versions, adjustment=adjustment).changes]  # type: ignore[arg-type]
        assert found == pytest.approx(expected[adjustment], rel=1e-9)
