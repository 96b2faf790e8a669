"""Kernels in Rust (`crates/numeric`, wrapped by `crates/python`)."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Function = TypeVar("_Function")
_Data = TypeVar("_Data")

def gather_moments(
    cell_of_row: NDArray[np.uint32], values: NDArray[np.float64], cells: int, origin: float
) -> tuple[
    NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]:
    """Return counts, means, sums of squares, minima and maxima of `values - origin` by cell."""

def nested_means(
    values: NDArray[np.float64], executions: NDArray[np.int64], builds: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return execution means (E), sums of squared deviations inside executions (E), and build means (B).

    Execution e is `values[executions[e]:executions[e + 1]]`, build k has the executions from `builds[k]` up
    to `builds[k + 1]`: offsets of E + 1 and B + 1. A build's mean is that of its execution means, each of
    which counts the same. Two passes: what all values have in common costs no digits. Values have to be
    finite.
    Raises ValueError for offsets that do not fit, or an execution or build that is empty.
    """

def nested_mean_squares(
    values: NDArray[np.float64], executions: NDArray[np.int64], builds: NDArray[np.int64]
) -> tuple[float, float, float, float]:
    """Return the mean of the build means, S²_V, S²_B and S²_E (EPEW 2006, equations 16, 15, 14).

    Arguments and errors as `nested_means`. Of unbalanced data S²_E and S²_B are pooled by their degrees of
    freedom; S²_V is the variance of the build means. NaN for a level that is not repeated anywhere.
    """

def resample_builds(
    build_means_a: NDArray[np.float64], build_means_b: NDArray[np.float64], draws: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bootstrap draws (R each) of the difference b − a and of the ratio b / a of the versions' means.

    Each draw takes as many builds as a version has, with replacement; a build is drawn whole, as its mean.
    Draw r depends on the seed and on r alone. As with any bootstrap the variance of the draws is too small
    by a factor of 1 − 1/l, which matters for few builds. `seed` is from 0 up to 2⁶⁴ − 1.
    Raises ValueError for a version without builds.
    """

def resample_impact(
    execution_means: NDArray[np.float64], builds: NDArray[np.int64], draws: int, seed: int
) -> tuple[float, float, float, NDArray[np.float64]]:
    """Return the impact factor of builds (EPEW 2006, section 2), its two parts, and bootstrap draws (R).

    The factor is the standard deviation of execution means from different builds (second in the result)
    divided by that of execution means from the same build (third). The square of each is half the mean
    squared difference of two execution means drawn at random, one each from two different builds, or two
    different ones of one build; each build counts the same, and those with one execution have no part in
    the third. So both squares are unbiased, σ²_V + σ² and σ² with σ² = σ²_B + σ²_E/n, and builds that do
    not matter give 1 up to chance: below 1 is possible. Draws take as many builds as there are, whole, with
    replacement, at least two different ones; a build that is drawn twice is not paired with itself. Draw r
    depends on the seed and r alone. NaN where no build has two executions, or where all variances are 0;
    infinite where only the third is 0.
    Raises ValueError for fewer than two builds, and for offsets that do not fit (`nested_means`).
    """

class SimulatedComparisons:
    """What R comparisons of a version with itself find, for each of L group sizes l: only false alarms.

    Counts are -1, and statistics NaN, where a rule is undefined.
    """

    @property
    def disjoint(self) -> NDArray[np.bool_]:
        """Whether the two groups had no build in common (L): 2l different builds were drawn, as 2l ≤ B.

        Otherwise both groups were drawn from all B builds, independently and with replacement.
        """
    @property
    def paper(self) -> NDArray[np.int64]:
        """Comparisons (L) in which the intervals of equation 17 do not overlap; -1 where l = 1.

        `critical` (the normal quantile u) times the root of S²_E/lmn + S²_B/lm + S²_V/l to both sides.
        """
    @property
    def executions(self) -> NDArray[np.int64]:
        """Comparisons (L) in which intervals from the lm execution means of a group do not overlap.

        The wrong error term: execution means are taken as if independent; the mean is over all of them,
        `critical` times its standard error to both sides. -1 where l = 1 and some build has one execution.
        """
    @property
    def single_build(self) -> int:
        """Comparisons of one build with one other in which two-level intervals do not overlap.

        The first column of the paper's Figure 2: l = 1 whatever the sizes asked for, `critical` times the
        root of S²_E/mn + S²_B/m to both sides. -1 where some build has one execution.
        """
    @property
    def welch_t(self) -> NDArray[np.float64]:
        """Welch's statistic of build means (L × R), second group minus first; NaN where l = 1.

        Two-sided p: `2 * scipy.stats.t.sf(abs(t), df)`. Without any variance it is 0 or infinite.
        """
    @property
    def welch_df(self) -> NDArray[np.float64]:
        """Degrees of freedom of `welch_t` after Satterthwaite (L × R); NaN where l = 1."""
    @property
    def execution_t(self) -> NDArray[np.float64]:
        """Welch's statistic of execution means (L × R), taken as if independent: the wrong error term.

        NaN where l = 1 and the build has one execution.
        """
    @property
    def execution_df(self) -> NDArray[np.float64]:
        """Degrees of freedom of `execution_t` after Satterthwaite (L × R)."""

def simulate_comparisons(
    values: NDArray[np.float64],
    executions: NDArray[np.int64],
    builds: NDArray[np.int64],
    sizes: Sequence[int],
    repetitions: int,
    critical: float,
    seed: int,
) -> SimulatedComparisons:
    """Compare random groups of builds of one version, `repetitions` times for each of the `sizes`.

    `values`, `executions`, `builds` are the nested values of one version, as for `nested_means`; `sizes`
    are the L numbers l of builds in a group, each at least 1; `critical` is the u of equation 17, 1.96 for
    95%. The method is that of EPEW 2006, section 4. Repetition r of groups of l depends on the seed (0 to
    2⁶⁴ − 1), on l and r alone. Unbalanced data: a group's mean is that of its build means (`executions`: of
    its execution means), S²_B and S²_E are pooled by degrees of freedom, and 1/m and 1/mn are averages over
    the builds. A level that is nowhere repeated adds no term of its own: its variance is in the level
    above.
    Raises ValueError for fewer than two builds, a size of 0, and as `nested_means`.
    """

class DependentColumnsError(ValueError):
    """Columns of a model matrix are combinations of others: `columns` lists (column, its parts)."""

    columns: list[tuple[int, list[int]]]

def fit_general(
    by_cell: NDArray[np.float64],
    cell_of_row: NDArray[np.uint32],
    products: NDArray[np.float64],
    of_product: NDArray[np.int64],
    values: NDArray[np.float64],
    quantiles: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """Fit T quantiles exactly: coefficients (T × p), objectives, certified, not unique, iterations (T each).

    Entry (i, j) of the model matrix is `by_cell[cell_of_row[i], j]` times `products[of_product[j], i]`, or
    times 1 where `of_product[j]` is -1. Raises DependentColumnsError when columns are combinations of others,
    ValueError for parts that do not fit, numbers that are not finite, or fewer rows than columns.
    """

def weighted_cross_products(
    by_cell: NDArray[np.float64],
    cell_of_row: NDArray[np.uint32],
    products: NDArray[np.float64],
    of_product: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return X'WX (p × p) for one weight a row (n); the matrix is given as for `fit_general`."""

def fitted_general(
    by_cell: NDArray[np.float64],
    cell_of_row: NDArray[np.uint32],
    products: NDArray[np.float64],
    of_product: NDArray[np.int64],
    coefficients: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the fitted values (T × n) of coefficients (T × p); the matrix is given as for `fit_general`."""

class CellFit:
    """Exact solutions of a quantile regression over K cells at T quantiles, with p coefficients.

    Of several solutions it is the limit from below (see `crates/numeric/src/quantile/mod.rs`): the one
    with the smallest total of fitted values, then with the lexicographically smallest fitted values.
    """

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """T × p."""
    @property
    def fitted(self) -> NDArray[np.float64]:
        """Fitted values, T × K; also of cells without data."""
    @property
    def objective(self) -> NDArray[np.float64]:
        """Sum of check functions (T), in the unit of the values."""
    @property
    def pivots(self) -> NDArray[np.uint64]:
        """Steps of the simplex walk (T)."""
    @property
    def certified(self) -> NDArray[np.bool_]:
        """Whether counts prove the solution optimal (T)."""
    @property
    def unique(self) -> NDArray[np.bool_]:
        """Whether counts also prove that there is no other solution (T)."""
    @property
    def basis(self) -> NDArray[np.uint32]:
        """Cells of which the solution interpolates a value, T × p, ascending."""

class SortedCells:
    """The n values of K cells, sorted once within each cell; numbers in `cell_of_row` are below `cells`.

    With `weights` each value counts as often; rows of weight 0 are left out. Values must be finite.
    Raises ValueError when lengths differ, a cell number is too large or a weight is negative or not finite.
    """

    def __new__(
        cls,
        cell_of_row: NDArray[np.uint32],
        values: NDArray[np.float64],
        cells: int,
        weights: NDArray[np.float64] | None = None,
    ) -> SortedCells: ...
    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of values kept in each cell (K)."""
    @property
    def totals(self) -> NDArray[np.float64]:
        """Weight of each cell (K); without weights its count."""
    def select(self, quantiles: Sequence[float]) -> NDArray[np.float64]:
        """Order statistic number ceil(tau n) of each cell, T × K; NaN for a cell without data."""
    def weigh_below(self, thresholds: NDArray[np.float64], *, inclusive: bool = False) -> NDArray[np.float64]:
        """Weight of the values below each threshold (T × K), or of those not above it."""
    def fit(self, design: NDArray[np.float64], quantiles: Sequence[float]) -> CellFit:
        """Fit one coefficient for each column of `design` (K × p).

        Raises ValueError when the columns are not linearly independent over the cells with data, or a
        quantile is not between 0 and 1.
        """

class CellStream:
    """Quantiles of K cells, or a fit with `design` (K × p), from passes over data larger than memory.

    `while stream.plan(): for each batch: stream.read(cell_of_row, values)`, then `finish()`. Two passes as a
    rule, more where values crowd or repeat. The result has the bits of the one in memory (the objective up to
    rounding). Memory: the histogram (some MB) and 24 bytes for each of at most `most_values` values.
    Raises ValueError when a model cannot be fitted, the rows differ between passes, or more memory is needed.
    """

    def __new__(
        cls,
        cells: int,
        quantiles: Sequence[float],
        design: NDArray[np.float64] | None = None,
        most_values: int = 16777216,
    ) -> CellStream: ...
    def plan(self) -> bool:
        """End a pass; True when another one over all rows is needed."""
    def read(self, cell_of_row: NDArray[np.uint32], values: NDArray[np.float64]) -> None:
        """Read a batch of rows of this pass."""
    def finish(self) -> NDArray[np.float64] | CellFit:
        """Return the quantiles (T × K) or, with a design, the fit."""

def select_cell_quantiles(
    cell_of_row: NDArray[np.uint32], values: NDArray[np.float64], cells: int, quantiles: Sequence[float]
) -> NDArray[np.float64]:
    """Return what `SortedCells.select` does (T × K), without sorting."""

def fit_cells(
    cell_of_row: NDArray[np.uint32],
    values: NDArray[np.float64],
    design: NDArray[np.float64],
    quantiles: Sequence[float],
) -> CellFit:
    """Return what `SortedCells.fit` does, without sorting more than is needed; `design` is K × p."""

def fit_cell_targets(
    cell_of_row: NDArray[np.uint32],
    values: NDArray[np.float64],
    design: NDArray[np.float64],
    quantile: float,
    targets: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return coefficients (R × p) whose fit has `targets` (R × K) values of each cell below it.

    As near as the model `design` (K × p) comes to it: the sum of its rows times what is missing is zero.
    `quantile` is where the search starts. NaN where nothing bounds the coefficients.
    """

def bootstrap_general(
    by_cell: NDArray[np.float64],
    cell_of_row: NDArray[np.uint32],
    products: NDArray[np.float64],
    of_product: NDArray[np.int64],
    values: NDArray[np.float64],
    quantiles: NDArray[np.float64],
    clusters: NDArray[np.uint32] | None,
    scheme: str,
    replicates: int,
    seed: int,
    block: int = 0,
) -> NDArray[np.float64]:
    """Refit R random draws: coefficients (R × T × p); NaN where a draw does not determine them.

    `scheme` is "rows" (n rows with replacement), "clusters" (whole clusters, numbered by `clusters`),
    "blocks" (circular blocks of `block` successive rows) or "exponential" (standard exponential weights, by
    cluster when `clusters` are given). Replicate r depends on the seed and on r alone.
    """

def invert_rank_tests(
    by_cell: NDArray[np.float64],
    cell_of_row: NDArray[np.uint32],
    products: NDArray[np.float64],
    of_product: NDArray[np.int64],
    values: NDArray[np.float64],
    quantiles: NDArray[np.float64],
    cutoff: float,
    densities: NDArray[np.float64] | None = None,
    interpolate: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Invert rank tests: lower and upper limits (T × p each), infinite where no value is rejected.

    `cutoff` is the critical value of the statistic (Student's for R's default). `densities` (T × n) make the
    test valid for errors that are not identically distributed; without them errors are taken as identically
    distributed. `interpolate` as in Koenker (1994); without it a limit is the first value rejected.
    """

def number_combinations(
    columns: Sequence[NDArray[np.uint8] | NDArray[np.uint32]], sizes: list[int]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the combinations of codes that occur, each as one number, and every row's index among them.

    Raises ValueError for columns of different length, a code that is not below its column's size, or sizes
    whose product does not fit 32 bits.
    """

def number_texts(
    chunks: Sequence[tuple[NDArray[np.uint64], list[NDArray[np.uint8]]]],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None:
    """Return each row's text as a number, in the order of appearance, and the first row of every text.

    A chunk has Arrow's string views, two words a row, and the buffers of their long texts. None where there
    are more than 255 texts.
    """

def relabel(codes: NDArray[np.uint8], of_code: NDArray[np.uint8]) -> None:
    """Replace every code by its entry in `of_code` (256), in place."""

def mean_positions(cell_of_row: NDArray[np.uint32], cells: int) -> NDArray[np.float64]:
    """Return the mean position of the rows of each cell (K), counted from the middle of all rows."""

def sum_residuals(
    values: NDArray[np.float64],
    cell_of_row: NDArray[np.uint32],
    fitted: NDArray[np.float64],
    positions: NDArray[np.float64],
    scale: float,
) -> tuple[float, float, float, float, float, float, float, float]:
    """Return sums over e = (values - fitted) / scale in the sequence of the rows; the cells' arguments are K.

    In turn: of squares, cubes, fourth powers, the largest square, of products of neighbours, of their
    squared differences, of e times the rest of its position, and of squares of these rests, where the
    rest is the position from the middle minus `positions` of the cell.
    """

def best_of_sizes(
    predictors: NDArray[np.float64],
    response: NDArray[np.float64],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    largest: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return RSS (S · K), members (S · K · K), ties (S · K) and total sums of squares (S) for K = `largest`.

    Set s has the rows `rows[offsets[s]:offsets[s + 1]]` of the predictors (n × p) and the response (n). See
    `BestSubsets`. Raises ValueError for parts that do not fit.
    """

def best_by_criterion(
    predictors: NDArray[np.float64],
    response: NDArray[np.float64],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    by_cp: bool,
    largest: int,
    variances: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return RSS (S), members (S · K), ties (S) and total sums of squares (S) of the best by a criterion."""

def best_of_each(
    table: NDArray[np.float64],
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    largest: int,
    variances: NDArray[np.float64],
) -> tuple[
    tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
]:
    """Return what `best_by_criterion` does, by adjusted R² and by Cp, for each of q columns as the response.

    `variances` (S · q); results have S · q entries.
    """

def read_places(path: str, offsets: Sequence[int]) -> bytes:
    """Return the places of return addresses in a program as JSON.

    A list for each offset, as the file has it: `function`, `file` and `line` of the function that was called
    in, then
    of those that it was inlined into. Without debug information one entry, with an empty `file`, line 0 and
    the
    symbol before the address. Raises ValueError where the file is no program that can be read.
    """

def read_function_table(
    path: str, function: Callable[..., _Function], data: Callable[..., _Data]
) -> tuple[
    tuple[int, str, str, str],
    tuple[_Function, ...],
    tuple[_Data, ...],
    tuple[tuple[str, ...], tuple[str, ...], str | None, str | None],
    tuple[str, ...],
]:
    """Return the functions and data of a program (ELF).

    `function` and `data` make records of the fields of `selection.tables`' `Function` and `DataObject`, in
    their order. Before them stand a table's `form`, `machine`, `source` and `content`, behind them the fields
    of its `Build`, and what is lost. Raises ValueError, whose text goes on after the file's name, where the
    file cannot be read or is no linked program of an architecture that is understood.
    """

def grow_forest(
    values: NDArray[np.float64],
    labels: NDArray[np.bool_],
    weights: NDArray[np.float64],
    trees: int,
    tried: int,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return nodes of a random forest on n × p values: features, values, left, right, and where trees begin.

    A leaf has the feature -1 and the share of true labels as its value. Numbers of nodes count from each
    tree's first.
    Raises ValueError for lengths that do not fit, values that are not finite, weights not above 0.
    """

def fit_machine(
    values: NDArray[np.float64],
    labels: NDArray[np.bool_],
    weights: NDArray[np.float64],
    kernel: str,
    gamma: float,
    cost: float,
) -> tuple[NDArray[np.float64], float, bool]:
    """Return coefficients (n) of a support vector machine, its bias, and whether it converged.

    The kernel is `sigmoid`, `polynomial` (of degree 3) or `rbf`.
    Raises ValueError as `grow_forest`, and for an unknown kernel or more than 6000 rows.
    """
