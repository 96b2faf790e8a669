"""Comparisons of groups, variability and summaries against R."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from reference.r_answers import ask_r
from scipy.special import stdtr

from datamill.analysis.contrasts.multiplicity import adjust_p_values
from datamill.analysis.distribution.shapes import find_steps
from datamill.analysis.distribution.summary import summarize_distributions
from datamill.analysis.distribution.variability import adjust_skewness
from datamill.analysis.groups.group_comparison import Group, GroupTest
from datamill.analysis.groups.means.mean_tests import (
    compare_games_howell,
    compare_one_way,
    compare_student,
    compare_tukey_kramer,
    compare_welch,
    compare_welch_anova,
)
from datamill.analysis.groups.means.studentized_range import find_range_quantile, find_range_tail
from datamill.analysis.groups.means.variance_tests import compare_brown_forsythe, compare_variances
from datamill.analysis.groups.ranks.rank_tests import compare_kruskal_wallis, compare_mann_whitney
from datamill.analysis.model_data.cells import ModelFactor, gather_cells
from datamill.analysis.model_data.observations import Observations
from datamill.cli.main import main

RNG = np.random.default_rng(11)
#: Untied and small, tied and small, untied and large, tied and large.
PAIRS = {
    "small": (RNG.normal(10, 1, 9), RNG.normal(11, 2, 13)),
    "tiny": (RNG.normal(10, 1, 4), RNG.normal(14, 2, 5)),
    "large": (RNG.lognormal(3, 1, 80), RNG.lognormal(3.2, 1, 110)),
    "ties": (RNG.poisson(5, 70).astype(float), RNG.poisson(6, 60).astype(float)),
}
GROUPS = [RNG.normal(10, 1, 8), RNG.normal(11, 3, 14), RNG.normal(13, 2, 6), RNG.normal(10.5, 1, 11)]


def compute_in_r(script: str, *packages: str) -> dict[str, list[float]]:
    """Run a script that fills the list `out` with named vectors."""
    tail = """
    for (name in names(out)) {
      cat(name, "\t", paste(sprintf("%.17g", out[[name]]), collapse = " "), "\n", sep = "")
    }
    """
    answer = ask_r(f"out <- list()\n{script}\n{tail}", packages=packages)
    rows = (line.split("\t") for line in answer.splitlines())
    return {name: [float(number) for number in numbers.split()] for name, numbers in rows}


def spell(values: np.ndarray) -> str:
    return f"c({', '.join(repr(float(value)) for value in values)})"


def make_groups(parts: list[np.ndarray] = GROUPS) -> tuple[Group, ...]:
    # As deviations from an origin, as the commands give them.
    return tuple(Group(f"g{index}", values - 10.0, 10.0) for index, values in enumerate(parts))


def pick(test: GroupTest, name: str) -> list[float]:
    value = next(item.value for item in test.estimates if item.name == name)
    return [value.estimate, value.low, value.high]


def test_two_groups_agree_with_wilcox_t_and_var_test() -> None:
    script = ""
    for name, (first, second) in PAIRS.items():
        script += f"""
        a <- {spell(first)}; b <- {spell(second)}
        exact <- max(length(a), length(b)) < 50
        w <- suppressWarnings(wilcox.test(b, a, exact = exact, conf.int = TRUE, tol.root = 1e-12))
        out${name}_rank <- c(w$statistic, w$p.value, w$estimate, w$conf.int)
        t <- t.test(b, a); out${name}_welch <- c(t$statistic, t$parameter, t$p.value, t$conf.int)
        t <- t.test(b, a, var.equal = TRUE)
        out${name}_student <- c(t$statistic, t$parameter, t$p.value, t$conf.int)
        v <- var.test(b, a); out${name}_f <- c(v$statistic, v$p.value, v$estimate, v$conf.int)
        """
    reference = compute_in_r(script)
    for name, parts in PAIRS.items():
        first, second = make_groups(list(parts))
        ranks = compare_mann_whitney(first, second, 0.95)
        u, p, estimate, low, high = reference[f"{name}_rank"]
        assert (ranks.statistic, ranks.p) == pytest.approx((u, p), rel=1e-9)
        if name in ("small", "tiny"):
            assert pick(ranks, "Hodges-Lehmann shift") == pytest.approx([estimate, low, high], abs=1e-9)
        else:
            # Beyond exactness R searches for where z crosses zero, to one side of the observed difference.
            step = 1e-4 + (1.0 if name == "ties" else 0.02 * abs(high - low))
            assert pick(ranks, "Hodges-Lehmann shift") == pytest.approx([estimate, low, high], abs=step)
        for key, compare in (("welch", compare_welch), ("student", compare_student)):
            test = compare(first, second, 0.95)
            t, df, p, low, high = reference[f"{name}_{key}"]
            assert (test.statistic, test.df[0], test.p) == pytest.approx((t, df, p), rel=1e-9)
            assert pick(test, "difference of means")[1:] == pytest.approx([low, high], rel=1e-8)
        test = compare_variances(first, second, 0.95)
        f, p, ratio, low, high = reference[f"{name}_f"]
        assert (test.statistic, test.p) == pytest.approx((f, p), rel=1e-9)
        assert pick(test, "ratio of variances") == pytest.approx([ratio, low, high], rel=1e-8)


def test_several_groups_agree_with_kruskal_oneway_levene_and_tukey() -> None:
    script = "x <- list(" + ", ".join(spell(part) for part in GROUPS) + ")\n"
    script += """
    d <- data.frame(y = unlist(x), g = factor(rep(seq_along(x), lengths(x))))
    k <- kruskal.test(y ~ g, d); out$kruskal <- c(k$statistic, k$parameter, k$p.value)
    d$r <- round(d$y); k <- kruskal.test(r ~ g, d); out$tied <- c(k$statistic, k$parameter, k$p.value)
    w <- oneway.test(y ~ g, d); out$welch <- c(w$statistic, w$parameter, w$p.value)
    w <- oneway.test(y ~ g, d, var.equal = TRUE); out$oneway <- c(w$statistic, w$parameter, w$p.value)
    l <- car::leveneTest(y ~ g, d, center = median)
    out$levene <- c(l[1, "F value"], l[1, "Df"], l[2, "Df"], l[1, "Pr(>F)"])
    t <- TukeyHSD(aov(y ~ g, d))$g
    out$tukey <- as.vector(t(t[, c("diff", "lwr", "upr", "p adj")]))
    m <- sapply(x, mean); v <- sapply(x, var) / lengths(x); n <- lengths(x)
    games <- c()
    for (i in 1:3) for (j in (i + 1):4) {
      df <- (v[i] + v[j])^2 / (v[i]^2 / (n[i] - 1) + v[j]^2 / (n[j] - 1))
      se <- sqrt((v[i] + v[j]) / 2); diff <- m[j] - m[i]
      half <- qtukey(0.95, 4, df) * se
      games <- c(games, diff, diff - half, diff + half, ptukey(abs(diff) / se, 4, df, lower.tail = FALSE))
    }
    out$games <- games
    """
    reference = compute_in_r(script, "car")
    groups = make_groups()
    tied = make_groups([np.round(part) for part in GROUPS])
    for name, test in (
        ("kruskal", compare_kruskal_wallis(groups, 0.95)),
        ("tied", compare_kruskal_wallis(tied, 0.95)),
        ("welch", compare_welch_anova(groups)),
        ("oneway", compare_one_way(groups)),
        ("levene", compare_brown_forsythe(groups, 0.95)),
    ):
        assert [test.statistic, *test.df, test.p] == pytest.approx(reference[name], rel=1e-8), name
    for name, tests in (
        ("games", compare_games_howell(groups, 0.95)),
        ("tukey", compare_tukey_kramer(groups, 0.95)),
    ):
        numbers = [
            number for item in tests.values() for number in (*pick(item, "difference of means"), item.p)
        ]
        # R's ptukey is good for about seven digits.
        assert numbers == pytest.approx(reference[name], rel=1e-5, abs=1e-7), name


def test_adjusted_p_values_agree_with_p_adjust() -> None:
    p = [0.01, 0.02, 0.03, 0.005, 0.5, 0.04, 0.04]
    reference = compute_in_r(
        f"p <- {spell(np.array(p))}\nout$holm <- p.adjust(p, 'holm')\nout$bh <- p.adjust(p, 'BH')"
    )
    assert adjust_p_values(p, "holm") == pytest.approx(reference["holm"], rel=1e-12)
    assert adjust_p_values(p, "bh") == pytest.approx(reference["bh"], rel=1e-12)


def test_skewness_agrees_with_e1071_type_2_quantiles_with_r_and_steps_with_ecdf() -> None:
    values = RNG.lognormal(0, 1, 37)
    script = f"""
    x <- {spell(values)}
    out$skew <- e1071::skewness(x, type = 2)
    out$seven <- quantile(x, c(0, 0.25, 0.5, 0.75, 1), type = 7, names = FALSE)
    many <- rep(x, 3000) + rep(0:2999 * 1e-9, each = 37)
    out$one <- quantile(many, c(0.25, 0.5, 0.75), type = 1, names = FALSE)
    out$ecdf <- ecdf(x)(sort(x))
    t <- t.test(x); out$mean <- c(t$estimate, t$conf.int, sd(x))
    """
    reference = compute_in_r(script, "e1071")
    assert adjust_skewness(values) == pytest.approx(reference["skew"][0], rel=1e-12)
    cells = gather_cells([ModelFactor("f", ("a",))], [np.zeros(37, dtype=np.int64)], values)
    summary = summarize_distributions(Observations("y", "", cells, 0, 0))
    group = summary.groups[0]
    assert summary.quantile_type == 7
    five = [group.minimum, group.low_quartile, group.median, group.high_quartile, group.maximum]
    assert five == pytest.approx(reference["seven"], rel=1e-12)
    assert group.mean_interval is not None
    mean = [group.mean, group.mean_interval.low, group.mean_interval.high, group.sd]
    assert mean == pytest.approx(reference["mean"], rel=1e-10)
    steps = find_steps(cells)[0]
    assert list(steps.share) == pytest.approx(reference["ecdf"], rel=1e-12)
    many = np.repeat(np.arange(3000), 37) * 1e-9 + np.tile(values, 3000)
    cells = gather_cells([ModelFactor("f", ("a",))], [np.zeros(many.size, dtype=np.int64)], many)
    summary = summarize_distributions(Observations("y", "", cells, 0, 0))
    group = summary.groups[0]
    assert summary.quantile_type == 1
    assert [group.low_quartile, group.median, group.high_quartile] == pytest.approx(
        reference["one"], rel=1e-14
    )


def test_the_interval_of_the_median_has_the_ranks_that_the_binomial_distribution_gives() -> None:
    reference = compute_in_r("out$ranks <- sapply(6:60, function(n) qbinom(0.025, n, 0.5))")
    for n, rank in zip(range(6, 61), reference["ranks"], strict=True):
        values = np.arange(1.0, n + 1)
        cells = gather_cells([ModelFactor("f", ("a",))], [np.zeros(n, dtype=np.int64)], values)
        interval = summarize_distributions(Observations("y", "", cells, 0, 0)).groups[0].median_interval
        assert interval is not None
        assert (interval.low, interval.high) == (rank, n + 1 - rank)


def test_large_groups_give_the_shift_that_all_pairs_listed_give() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.lognormal(0, 1, 2500), rng.lognormal(0.3, 1, 1900)
    differences = np.sort(np.subtract.outer(second, first).ravel())
    test = compare_mann_whitney(Group("a", first), Group("b", second), 0.95)
    estimate, low, high = pick(test, "Hodges-Lehmann shift")
    assert estimate == np.median(differences)
    spread = np.sqrt(first.size * second.size * (first.size + second.size + 1) / 12)
    rank = int(np.floor(first.size * second.size / 2 - 1.959963984540054 * spread))
    assert (low, high) == (differences[rank - 1], differences[-rank])
    assert all(left <= right for left, right in pairwise((low, estimate, high)))


def test_json_numbers_are_those_of_r(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = PAIRS["small"]
    rows = [f"a,{value!r}" for value in map(float, first)] + [f"b,{value!r}" for value in map(float, second)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["g,y", *rows]))
    with pytest.raises(SystemExit):
        main(
            [
                "analyze",
                "tests",
                str(path),
                "--response",
                "y",
                "--factors",
                "g",
                "--assume",
                "normal",
                "--json",
            ]
        )
    content = json.loads(capsys.readouterr().out)
    pair = content["strata"][0]["pairs"][0]
    reference = compute_in_r(
        f"t <- t.test({spell(second)}, {spell(first)}); out$t <- c(t$p.value, t$conf.int)"
    )
    found = [pair["p"], pair["estimates"][0]["low"], pair["estimates"][0]["high"]]
    assert found == pytest.approx(reference["t"], rel=1e-9)


def test_the_range_of_two_means_is_students_t_far_into_the_tail() -> None:
    for df in (1.0, 2.3, 12.0, 1e6):
        for q in (0.3, 3.0, 20.0, 60.0):
            exact = 2 * float(stdtr(df, -q / np.sqrt(2)))
            assert find_range_tail(q, 2, df) == pytest.approx(exact, rel=1e-8)
        for tail in (0.05, 0.001):
            q = find_range_quantile(tail, 3, df)
            assert find_range_tail(q, 3, df) == pytest.approx(tail, rel=1e-9)
