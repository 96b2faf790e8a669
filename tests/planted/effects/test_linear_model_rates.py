"""How often the linear model's tests and intervals err on data whose truth is known."""

from collections.abc import Callable

import numpy as np
import pytest
from running.nightly import choose_count
from scipy.stats import binom

from datamill.analysis.assumptions.check import check_assumptions
from datamill.analysis.levels.packages import compare_packages
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import Cells, FloatArray, ModelFactor, gather_cells
from datamill.analysis.model_data.coding import list_formula_terms
from datamill.analysis.model_data.observations import Covariate, Observations
from datamill.analysis.model_data.question import ModelData
from datamill.analysis.quantile.model import fit_quantiles

FACTORS = [
    ModelFactor("sched", ("bfs", "cfs")),
    ModelFactor("flag", ("-O0", "-O2", "-O3")),
    ModelFactor("load", ("no", "yes")),
]
REPLICATIONS = choose_count(400, 1000)

Draw = Callable[[np.random.Generator, int], FloatArray]
NOISE: dict[str, Draw] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "log-normal": lambda rng, n: np.exp(0.8 * rng.standard_normal(n)),
    "bimodal": lambda rng, n: 5.0 * (rng.random(n) < 0.4) + 0.3 * rng.standard_normal(n),
    "discrete": lambda rng, n: rng.integers(0, 4, n).astype(float),
}


def lay_out(replicates: int) -> np.ndarray:
    axes = [range(len(factor.levels)) for factor in FACTORS] + [range(replicates)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)[:, :3]


def assert_rate(hits: int, expected: float, trials: int) -> None:
    """The count must lie where the binomial distribution puts it but for one time in 10 000."""
    low, high = binom.interval(0.9999, trials, expected)
    assert low <= hits <= high, f"{hits} of {trials} is {hits / trials:.4f}, expected {expected}"


@pytest.mark.parametrize("kind", NOISE)
def test_terms_of_data_without_any_effect_have_small_p_values_as_often_as_alpha_says(kind: str) -> None:
    rng = np.random.default_rng(21)
    codes = lay_out(6)
    raw, adjusted, count, trials = 0, 0, 0, REPLICATIONS
    for _ in range(trials):
        model = fit_linear_model(gather_cells(FACTORS, codes, 100 + NOISE[kind](rng, len(codes))), order=2)
        raw += sum(row.p is not None and row.p < 0.05 for row in model.terms)
        count += len(model.terms)
        adjusted += any(row.p_holm is not None and row.p_holm < 0.05 for row in model.terms)
    # Terms of one fit share its error, so that hits cluster a little: allow the spread of half as many.
    assert_rate(raw // 2, 0.05, count // 2)
    assert adjusted <= binom.ppf(0.9999, trials, 0.05)


@pytest.mark.parametrize("kind", ["normal", "log-normal", "bimodal", "discrete"])
def test_intervals_of_effects_slopes_and_level_means_cover_the_truth(kind: str) -> None:
    rng = np.random.default_rng(22)
    codes = lay_out(5)
    terms = list_formula_terms(
        FACTORS, ["size"], [("load",), ("sched",), ("flag",), ("size",), ("sched", "size")]
    )
    hits = np.zeros(4, dtype=int)
    for _ in range(REPLICATIONS):
        size = rng.uniform(0, 100, len(codes))
        size -= size.mean()
        truth = 50 + 1.5 * (2 * codes[:, 0] - 1) + np.array([2.0, -0.5, -1.5])[codes[:, 1]] + 0.04 * size
        block = 3.0 * codes[:, 2]
        noise = NOISE[kind](rng, len(codes))
        cells = gather_cells(FACTORS, codes, truth + block + noise)
        model = fit_linear_model(
            cells, terms=terms, covariates=[Covariate("size", 1e9 + size)], blocks=["load"], confidence=0.95
        )
        value = {item.name: item.value for item in model.coefficients}
        level = next(row for row in model.terms if row.term.name == "flag").effects[2].value
        checked = ((value["sched"], 1.5), (value["size"], 0.04), (value["sched:size"], 0.0), (level, -1.5))
        hits += [interval.low <= true <= interval.high for interval, true in checked]
    for count in hits:
        assert_rate(int(count), 0.95, REPLICATIONS)


def test_blocks_take_their_spread_out_of_the_error() -> None:
    rng = np.random.default_rng(23)
    codes = lay_out(6)
    values = 10 + 6.0 * codes[:, 2] + rng.standard_normal(len(codes))
    cells = gather_cells(FACTORS, codes, values)
    terms = list_formula_terms(FACTORS, [], [("load",), ("sched",), ("flag",)])
    model = fit_linear_model(cells, terms=terms, blocks=["load"])
    assert model.block_gain is not None
    assert model.block_gain.efficiency == pytest.approx(10.0, rel=0.35)
    without = fit_linear_model(cells, terms=terms[1:])
    assert model.block_gain.error_ms_without == pytest.approx(without.error_ms, rel=1e-9)


def make_latencies(rng: np.random.Generator, replicates: int) -> Cells:
    """Latencies shaped as the paper's: a heavy tail whose weight, not the bulk, the scheduler changes."""
    codes = lay_out(replicates)
    bulk = 100 * np.exp(0.2 * rng.standard_normal(len(codes)))
    stalled = rng.random(len(codes)) < np.where(codes[:, 0] == 1, 0.06, 0.03)
    long = 400 * np.where(codes[:, 0] == 1, 3.0, 1.0) * rng.pareto(2.2, len(codes))
    return gather_cells(FACTORS, codes, bulk + np.where(stalled, long, 0.0))


def test_the_mean_understates_what_the_scheduler_does_to_the_slowest_and_the_quantile_does_not() -> None:
    cells = make_latencies(np.random.default_rng(24), 3000)
    terms = list_formula_terms(FACTORS, [], [("sched",), ("flag",), ("load",)])
    model = fit_linear_model(cells, terms=terms)
    checks = check_assumptions(cells, model)
    assert checks.trust in ("quantiles", "both")
    assert next(check for check in checks.checks if check.assumption == "normal errors").state != "held"
    assert model.r_squared < 0.2
    data = ModelData(Observations("latency", "us", cells, 0, 0), terms)
    slowest = fit_quantiles(data, [0.99]).fits[0]
    effect = next(item.value for item in slowest.coefficients if item.name == "sched")
    # The truth, from far more data than were analysed.
    many = make_latencies(np.random.default_rng(25), 60_000)
    at = [np.quantile(many.values[many.codes[many.of_row, 0] == level], 0.99) for level in (0, 1)]
    truth = (at[1] - at[0]) / 2
    mean = next(item.value for item in model.coefficients if item.name == "sched")
    assert mean.high < truth / 3
    assert effect.low <= truth <= effect.high


def test_a_drift_and_likeness_of_neighbours_are_found_and_seldom_imagined() -> None:
    rng = np.random.default_rng(26)
    base = lay_out(8)
    accused, trials = np.zeros(2, dtype=int), choose_count(200, 400)
    for _ in range(trials):
        codes = rng.permutation(base)
        model, cells = _fit(codes, rng.standard_normal(len(codes)))
        checks = check_assumptions(cells, model, when=np.arange(float(cells.n))).checks
        p = {check.assumption: check.p for check in checks}
        accused += [p["independent errors: trend"] < 0.05, p["independent errors: neighbours"] < 0.05]
    for count in accused:
        assert_rate(int(count), 0.05, trials)
    codes = rng.permutation(base)
    noise = rng.standard_normal(len(codes))
    for errors, name in (
        (noise + np.linspace(0, 4, len(codes)), "independent errors: trend"),
        (np.convolve(noise, 0.8 ** np.arange(20))[: len(codes)], "independent errors: neighbours"),
    ):
        model, cells = _fit(codes, errors)
        known = check_assumptions(cells, model, when=np.arange(float(cells.n)))
        found = next(check for check in known.checks if check.assumption == name)
        assert found.state == "failed"
        assert any(found.words in warning for warning in known.warnings)
        # Where nobody says when the observations came, the same is no verdict.
        unknown = next(check for check in check_assumptions(cells, model).checks if check.assumption == name)
        assert unknown.state == "unknown"


def _fit(codes: np.ndarray, errors: FloatArray) -> tuple:
    cells = gather_cells(FACTORS, codes, 10 + errors)
    return fit_linear_model(cells, order=2), cells


def test_a_verdict_from_two_trials_each_says_that_it_takes_normal_errors_for_granted() -> None:
    factor = ModelFactor("package", ("a", "b"))
    codes = np.array([[0], [0], [1], [1]])
    cells = gather_cells([factor], codes, np.array([10.0, 10.02, 15.0, 15.03]))
    few = compare_packages(cells, factor=0, baseline="a", direction="lower")
    assert few.pairs[0].verdict == "worse"
    assert any("takes normal errors for granted" in warning for warning in few.warnings)
    many = gather_cells(
        [factor], np.repeat(codes, 5, axis=0), np.repeat(cells.values, 5) + np.arange(20) * 0.01
    )
    assert not any("normal errors" in text for text in compare_packages(
        many, factor=0, baseline="a", direction="lower"
    ).warnings)  # fmt: skip
