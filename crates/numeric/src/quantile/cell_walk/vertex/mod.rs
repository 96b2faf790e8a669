//! The walk from vertex to vertex of a model over sorted cells.
//!
//! A vertex interpolates one value in each of p cells, the basis. With the counts `L_c` below the
//! fitted value of each other cell the subgradient is `g = sum of x_c (L_c - tau n_c)`, and the vertex
//! is optimal exactly when, for each basic cell j, `-(B^-T g)_j` lies between `L_j - tau n_j` and the
//! same with the interpolated values counted: counts are integers, so that this is no approximation.
//!
//! Ties are resolved as in [`super::ties`], so that each step lowers the objective of a problem without
//! ties, no vertex returns, and the walk ends. Among vertices of equal objective the costs of [`crate::quantile`]
//! decide, lexicographically: the total of the fitted values, then each cell's.

mod pivot;

use super::line_search::{Hit, Ray};
use super::model::{Model, dot, dot_sizes};
use crate::quantile::sorting::target_below;

/// Rounding of a fitted value, relative to the sum of its terms' sizes.
pub(crate) const TIE_SHARE: f64 = 1.0 / (1u64 << 43) as f64;
/// Rounding of a slope, relative to the counts in it.
const SLOPE_SHARE: f64 = 1e-12;
/// Rounding of an entry of rows expressed in the basis.
pub(crate) const ENTRY_SHARE: f64 = 1e-9;
/// Pivots after which everything is computed afresh.
const REFRESH: u64 = 50;
pub(crate) const NOT_BASIC: usize = usize::MAX;

/// Where the walk stands.
pub(crate) struct Walk<'m, 'a> {
    pub model: &'m Model<'a>,
    pub targets: Vec<f64>,
    /// Cells of the basis.
    pub basis: Vec<usize>,
    /// Places of each basic cell's list that hold the interpolated value: from, to.
    pub runs: Vec<(usize, usize)>,
    pub inverse: Vec<f64>,
    pub slot_of: Vec<usize>,
    pub fitted: Vec<f64>,
    slack: Vec<f64>,
    /// Number of listed values below the fitted one, for cells outside the basis.
    places: Vec<usize>,
    gradient: Vec<f64>,
    pub pivots: u64,
    rays: Vec<Ray>,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// No neighbour is better.
    Optimal,
    /// The best point of an edge lies beyond the lists.
    Outside,
    /// Rounding kept it from ending within a generous number of pivots.
    Exhausted,
}

struct Move {
    slot: usize,
    up: bool,
    slope: f64,
    /// Slopes above this end the step.
    bar: f64,
}

impl<'m, 'a> Walk<'m, 'a> {
    /// Starts at the values nearest to `fitted` (K, less the origin) in the cells of `basis`.
    pub(crate) fn new(
        model: &'m Model<'a>,
        tau: f64,
        basis: Vec<usize>,
        fitted: &[f64],
    ) -> Option<Self> {
        let cells = model.lists.cells();
        let targets = (model.lists.totals.iter())
            .map(|&total| target_below(tau, total))
            .collect();
        let inverse = model.invert(&basis)?;
        let mut slot_of = vec![NOT_BASIC; cells];
        let mut runs = Vec::with_capacity(basis.len());
        for (slot, &cell) in basis.iter().enumerate() {
            slot_of[cell] = slot;
            let length = model.lists.cell(cell).len();
            if length == 0 {
                return None;
            }
            let above = partition(length, |place| model.value(cell, place) < fitted[cell]);
            let nearest = if above == length
                || above > 0
                    && fitted[cell] - model.value(cell, above - 1)
                        < model.value(cell, above) - fitted[cell]
            {
                above - 1
            } else {
                above
            };
            runs.push(run_around(model, cell, nearest));
        }
        let mut walk = Self {
            model,
            targets,
            basis,
            runs,
            inverse,
            slot_of,
            fitted: vec![0.0; cells],
            slack: vec![0.0; cells],
            places: vec![0; cells],
            gradient: vec![0.0; model.parameters],
            pivots: 0,
            rays: Vec::new(),
        };
        walk.fit_cells();
        for &cell in &model.occupied {
            if walk.slot_of[cell] == NOT_BASIC {
                let (from, to) = walk.tied_places(cell);
                walk.places[cell] = if from < to && walk.lies_above(cell) {
                    to
                } else {
                    from
                };
            }
        }
        walk.sum_gradient();
        Some(walk)
    }

    /// Asks for other numbers of values below the fitted ones (K) than `tau n`.
    pub(crate) fn retarget(&mut self, targets: &[f64]) {
        self.targets.copy_from_slice(targets);
        self.sum_gradient();
    }

    /// Walks to the solution of the module's choice.
    pub(crate) fn run(&mut self) -> End {
        let most =
            self.pivots + 1000 + 100 * (self.model.occupied.len() + self.model.parameters) as u64;
        while let Some(step) = self.price() {
            if self.pivots == most {
                return End::Exhausted;
            }
            if !self.pivot(&step) {
                return End::Outside;
            }
        }
        End::Optimal
    }

    pub(crate) fn column(&self, slot: usize) -> &[f64] {
        let p = self.model.parameters;
        &self.inverse[slot * p..][..p]
    }

    /// Slopes of the objective when the slot's value rises and when it falls, and their rounding.
    fn slopes(&self, slot: usize) -> (f64, f64, f64) {
        let (cell, column) = (self.basis[slot], self.column(slot));
        let lists = &self.model.lists;
        let dual = -dot(&self.gradient, column);
        let (from, to) = self.runs[slot];
        let rounding = SLOPE_SHARE * (dot_sizes(&self.model.sizes, column) + lists.totals[cell]);
        (
            lists.before(cell, to) - self.targets[cell] - dual,
            dual - (lists.before(cell, from) - self.targets[cell]),
            rounding,
        )
    }

    /// The steepest edge downwards or, where none goes down, one along the optimal face to our choice.
    fn price(&self) -> Option<Move> {
        let mut best: Option<(f64, Move)> = None;
        for slot in 0..self.basis.len() {
            let (rise, fall, rounding) = self.slopes(slot);
            for (slope, up) in [(rise, true), (fall, false)] {
                if slope < -rounding {
                    let column = self.column(slot);
                    let score = slope * slope / dot(column, column);
                    if best.as_ref().is_none_or(|(most, _)| score > *most) {
                        best = Some((
                            score,
                            Move {
                                slot,
                                up,
                                slope,
                                bar: rounding,
                            },
                        ));
                    }
                }
            }
        }
        if let Some((_, mut step)) = best {
            if !self.prefers(step.slot, step.up) {
                step.bar = -step.bar;
            }
            return Some(step);
        }
        let mut by_cell: Vec<usize> = (0..self.basis.len()).collect();
        by_cell.sort_unstable_by_key(|&slot| self.basis[slot]);
        for slot in by_cell {
            let (rise, fall, rounding) = self.slopes(slot);
            for (slope, up) in [(rise, true), (fall, false)] {
                if slope <= rounding && self.prefers(slot, up) {
                    return Some(Move {
                        slot,
                        up,
                        slope,
                        bar: rounding,
                    });
                }
            }
        }
        None
    }

    /// Whether an edge along which the objective does not change leads towards our choice of solution.
    fn prefers(&self, slot: usize, up: bool) -> bool {
        let column = self.column(slot);
        let total = dot(&self.model.weighted_rows, column);
        if total.abs() > 1e-10 * dot_sizes(&self.model.sizes, column) {
            return (total < 0.0) == up;
        }
        for &cell in &self.model.occupied {
            let entry = dot(self.model.row(cell), column);
            if entry.abs() > ENTRY_SHARE {
                return (entry < 0.0) == up;
            }
        }
        false
    }

    /// Coefficients of the vertex.
    pub(crate) fn coefficients(&self) -> Vec<f64> {
        let mut beta = vec![0.0; self.model.parameters];
        for (slot, &cell) in self.basis.iter().enumerate() {
            add_scaled(
                &mut beta,
                self.column(slot),
                self.model.value(cell, self.runs[slot].0),
            );
        }
        beta
    }

    /// Fitted values of all cells, and how much rounding there may be in them.
    fn fit_cells(&mut self) {
        let beta = self.coefficients();
        for &cell in &self.model.occupied {
            let slot = self.slot_of[cell];
            if slot == NOT_BASIC {
                let row = self.model.row(cell);
                self.fitted[cell] = dot(row, &beta);
                self.slack[cell] = TIE_SHARE * dot_sizes(row, &beta);
            } else {
                self.fitted[cell] = self.model.value(cell, self.runs[slot].0);
                self.slack[cell] = TIE_SHARE * self.fitted[cell].abs();
            }
        }
    }

    fn move_fitted(&mut self, hit: &Hit, slot: usize) {
        for ray in &self.rays {
            self.fitted[ray.cell] += ray.entry * hit.length;
            self.slack[ray.cell] += TIE_SHARE * (ray.entry * hit.length).abs() / 8.0;
        }
        let cell = self.basis[slot];
        self.fitted[cell] = self.model.value(cell, hit.run.0);
        self.slack[cell] = TIE_SHARE * self.fitted[cell].abs();
    }

    fn sum_gradient(&mut self) {
        self.gradient.fill(0.0);
        for &cell in &self.model.occupied {
            if self.slot_of[cell] == NOT_BASIC {
                let slope = self.model.lists.before(cell, self.places[cell]) - self.targets[cell];
                add_scaled(&mut self.gradient, self.model.row(cell), slope);
            }
        }
    }

    /// Places of values that the fitted value equals up to rounding.
    pub(crate) fn tied_places(&self, cell: usize) -> (usize, usize) {
        let (fitted, slack) = (self.fitted[cell], self.slack[cell]);
        let length = self.model.lists.cell(cell).len();
        let value = |place| self.model.value(cell, place);
        let from = partition(length, |place| value(place) < fitted - slack);
        (
            from,
            from + partition(length - from, |place| value(from + place) <= fitted + slack),
        )
    }

    pub(crate) fn is_basic(&self, cell: usize) -> bool {
        self.slot_of[cell] != NOT_BASIC
    }

    /// Proves the vertex optimal from counts taken afresh; and whether it is the only solution.
    pub(crate) fn certify(&mut self) -> (bool, bool) {
        let Some(inverse) = self.model.invert(&self.basis) else {
            return (false, false);
        };
        self.inverse = inverse;
        self.fit_cells();
        let consistent = self.model.occupied.iter().all(|&cell| {
            let (from, to) = self.tied_places(cell);
            self.is_basic(cell) || (from..=to).contains(&self.places[cell])
        });
        self.sum_gradient();
        let (mut optimal, mut unique) = (consistent, true);
        for slot in 0..self.basis.len() {
            let (rise, fall, rounding) = self.slopes(slot);
            optimal &= rise >= -rounding && fall >= -rounding;
            unique &= rise > rounding && fall > rounding;
        }
        (optimal, unique)
    }
}

/// Places of the values equal to the one at `place`.
pub(crate) fn run_around(model: &Model<'_>, cell: usize, place: usize) -> (usize, usize) {
    let values = model.lists.cell(cell);
    let value = values[place];
    if (place == 0 || values[place - 1] < value)
        && values.get(place + 1).is_none_or(|&next| next > value)
    {
        return (place, place + 1);
    }
    let from = values[..place].partition_point(|&other| other < value);
    (
        from,
        place + values[place..].partition_point(|&other| other <= value),
    )
}

/// First of `length` places at which the condition no longer holds.
#[inline]
pub(crate) fn partition(length: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[inline]
pub(crate) fn add_scaled(sum: &mut [f64], row: &[f64], factor: f64) {
    for (total, x) in sum.iter_mut().zip(row) {
        *total += factor * x;
    }
}
