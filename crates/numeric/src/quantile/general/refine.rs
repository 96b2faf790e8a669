//! From a nearby fit to the optimum over many rows, through the band of rows near the fit.
//!
//! Rows far from the fit keep their side (Portnoy and Koenker 1997: they are globbed into one sum); the band is
//! narrowed by Newton steps on the sum of signs, the walk takes place in what is left, and all other
//! rows are checked against the result. Those found on the wrong side join the band, until there is none.

use std::borrow::Cow;

use rayon::prelude::*;

use super::arrays::dot;
use super::goal::{Goal, Solution, Start};
use crate::quantile::general::bands::{Level, Limits, NewFit, cut_bands, find_wrong, sum_above};
use crate::quantile::general::matrix::{Frame, solve_exactly, weighted_cross_products};
use crate::quantile::general::vertices::{Stop, Walk, choose_independent};

/// How far below tau the problem is solved first: so the solution is the limit from below where tau has many.
///
/// It is above what rounding does to sums over 10^7 rows, relatively, and below the distance between the quantiles
/// at which the solution changes unless it changes at tau itself.
pub(super) const BELOW: f64 = 1.0 / (1u64 << 40) as f64;
/// From this width on the band is all rows.
const WIDEST: f64 = 1e3;
/// Newton steps before the walk.
const NEWTON_STEPS: usize = 4;

/// Rows that the walk takes on without narrowing.
fn few(columns: usize) -> usize {
    4000 + 40 * columns
}

/// Rows that the Newton steps leave to the walk.
fn fewest(columns: usize) -> usize {
    600 + 12 * columns
}

/// The optimum over the rows of one level, from the basis given and a fit nearby.
pub(super) fn refine(
    frame: &Frame,
    level: &Level<'_>,
    start: Option<&Start<'_>>,
    goal: &Goal<'_>,
    basis: &[usize],
    iterations: &mut usize,
) -> Solution {
    let Some(start) = start else {
        return walk_over(frame, level, goal, basis, iterations);
    };
    let mut searches = [Search::new(level, start, *goal, basis.to_vec())];
    refine_together(frame, level, &mut searches);
    let [search] = searches;
    let (solution, taken) = search.end();
    *iterations += taken;
    solution
}

/// A search for an optimum over the rows of one level.
pub(super) struct Search<'s> {
    start: &'s Start<'s>,
    goal: Goal<'s>,
    basis: Vec<usize>,
    /// The fit that it begins with.
    old: Vec<f64>,
    width: f64,
    iterations: usize,
    stage: Stage,
}

enum Stage {
    /// The band is to be cut, of the width that is due.
    Cut,
    /// The optimum over the band is to be found.
    Walk(OpenBand),
    /// All rows are to be checked against a solution, whose basis is the search's.
    Check(OpenBand, Solution),
    Ended(Solution),
}

/// The rows that may change their side, and what the others add up to.
struct OpenBand {
    limits: Limits,
    rows: Vec<u32>,
    above: Vec<f64>,
    /// Rows beyond the limits that were taken in.
    added: Vec<u32>,
    /// Rows that are to be taken in.
    missing: Vec<u32>,
}

impl<'s> Search<'s> {
    pub fn new(level: &Level<'_>, start: &'s Start<'s>, goal: Goal<'s>, basis: Vec<usize>) -> Self {
        Self {
            start,
            goal,
            basis,
            old: level.matrix.fold(start.coefficients),
            width: goal.width,
            iterations: 0,
            stage: Stage::Cut,
        }
    }

    /// The optimum and the exchanges that it took, of a search that has ended.
    pub fn end(self) -> (Solution, usize) {
        match self.stage {
            Stage::Ended(solution) => (solution, self.iterations),
            _ => unreachable!("searches are ended together"),
        }
    }

    fn walk_over_all(&mut self, frame: &Frame, level: &Level<'_>) {
        let solution = walk_over(frame, level, &self.goal, &self.basis, &mut self.iterations);
        self.stage = Stage::Ended(solution);
    }

    /// The optimum over the band.
    fn walk(&mut self, frame: &Frame, level: &Level<'_>, mut open: OpenBand) {
        add_rows(level, &self.old, &mut open);
        let band = level.take_band(&open.rows, open.above.clone());
        let inner: Vec<usize> = self
            .basis
            .iter()
            .map(|&row| {
                let place = open.rows.binary_search(&(row as u32));
                place.expect("basic rows are in the band")
            })
            .collect();
        let (goal, iterations) = (&self.goal, &mut self.iterations);
        let mut solution = search_band(frame, &band, self.start, goal, &inner, iterations);
        let named = |&row: &usize| open.rows[row] as usize;
        self.basis = solution.basis.iter().map(named).collect();
        if solution.stop != Stop::Optimal && band.partial {
            let widen = solution.stop == Stop::Widen;
            self.width *= if widen { 2.0 } else { WIDEST };
            self.stage = Stage::Cut;
        } else if open.rows.len() < level.rows() {
            self.stage = Stage::Check(open, solution);
        } else {
            solution.basis.clone_from(&self.basis);
            self.stage = Stage::Ended(solution);
        }
    }

    /// Goes on after all rows were checked: those in `wrong` are on the wrong side.
    fn take_in(&mut self, mut wrong: Vec<u32>) {
        let Stage::Check(mut open, mut solution) = std::mem::replace(&mut self.stage, Stage::Cut)
        else {
            unreachable!("only a solution is checked")
        };
        wrong.retain(|row| open.added.binary_search(row).is_err());
        if wrong.len() > open.rows.len() / 2 + 100 {
            self.width *= 2.0;
        } else if wrong.is_empty() {
            solution.basis.clone_from(&self.basis);
            self.stage = Stage::Ended(solution);
        } else {
            open.missing = wrong;
            self.stage = Stage::Walk(open);
        }
    }
}

/// Carries searches over one level to their ends, so that all of them read the rows in the same passes.
pub(super) fn refine_together(frame: &Frame, level: &Level<'_>, searches: &mut [Search<'_>]) {
    loop {
        cut_those_due(frame, level, searches);
        searches.par_iter_mut().for_each(|search| {
            if matches!(search.stage, Stage::Walk(_))
                && let Stage::Walk(open) = std::mem::replace(&mut search.stage, Stage::Cut)
            {
                search.walk(frame, level, open);
            }
        });
        let fits: Vec<NewFit<'_>> = searches
            .iter()
            .filter_map(|search| match &search.stage {
                Stage::Check(open, solution) => Some(NewFit {
                    band: (&search.old, &open.limits),
                    folded: level.matrix.fold(&solution.coefficients),
                    magnitude: frame.magnitude(&solution.coefficients),
                }),
                _ => None,
            })
            .collect();
        let found = find_wrong(level, &fits);
        searches
            .iter_mut()
            .filter(|search| matches!(search.stage, Stage::Check(..)))
            .zip(found)
            .for_each(|(search, wrong)| search.take_in(wrong));
        if searches
            .iter()
            .all(|search| matches!(search.stage, Stage::Ended(_)))
        {
            return;
        }
    }
}

/// Cuts the bands that are due; a search whose band would be all rows ends with a walk over them.
fn cut_those_due(frame: &Frame, level: &Level<'_>, searches: &mut [Search<'_>]) {
    let mut due: Vec<(&mut Search<'_>, Limits)> = searches
        .par_iter_mut()
        .filter(|search| matches!(search.stage, Stage::Cut))
        .filter_map(|search| {
            if search.width >= WIDEST {
                search.walk_over_all(frame, level);
                return None;
            }
            let least = 64.0 * f64::EPSILON * frame.magnitude(search.start.coefficients);
            let limits = (search.start.limits)(search.width).at_least(least);
            Some((search, limits))
        })
        .collect();
    let bands: Vec<_> = due
        .iter()
        .map(|(search, limits)| (&search.old[..], limits))
        .collect();
    let cut = cut_bands(level, &bands);
    due.par_drain(..)
        .zip(cut)
        .for_each(|((search, limits), (rows, above))| {
            if rows.len() == level.rows() {
                search.walk_over_all(frame, level);
                return;
            }
            let basic = search.basis.iter().map(|&row| row as u32);
            let missing = basic
                .filter(|row| rows.binary_search(row).is_err())
                .collect();
            search.stage = Stage::Walk(OpenBand {
                limits,
                rows,
                above,
                added: Vec::new(),
                missing,
            });
        });
}

/// The optimum over a band: near a better fit first when the band has many rows.
fn search_band(
    frame: &Frame,
    band: &Level<'_>,
    start: &Start<'_>,
    goal: &Goal<'_>,
    basis: &[usize],
    iterations: &mut usize,
) -> Solution {
    let p = band.matrix.columns();
    if start.narrowed || band.rows() <= few(p) {
        return walk_over(frame, band, goal, basis, iterations);
    }
    let mut scales = (start.limits)(goal.width).half_widths();
    if scales.len() != band.matrix.cells() {
        scales.truncate(1);
    }
    let mut units = vec![scales[0]; band.rows()];
    if scales.len() > 1 {
        let rows = 0..band.rows();
        band.matrix
            .for_each_row(rows, |row, cell| units[row] = scales[cell]);
    }
    let coefficients = step_towards(frame, band, start.coefficients, goal, &units);
    let mut distances = band.residuals(&coefficients);
    for (distance, unit) in distances.iter_mut().zip(&units) {
        *distance = distance.abs() / unit;
    }
    let mut order: Vec<u32> = (0..band.rows() as u32).collect();
    let distance = |row: &u32| distances[*row as usize];
    let by_distance = |a: &u32, b: &u32| distance(a).total_cmp(&distance(b)).then(a.cmp(b));
    let count = fewest(p);
    order.select_nth_unstable_by(count, by_distance);
    let reach = distance(&order[count]);
    order.truncate(count);
    order.sort_unstable_by(by_distance);
    let near = choose_independent(band, frame, &order, &[0.3, 0.03, 1e-3]);
    let near = if near.len() == p {
        near
    } else {
        basis.to_vec()
    };
    let limits = |width: f64| Limits::around(&scales, reach * width / goal.width);
    let narrow = Start {
        coefficients: &coefficients,
        limits: &limits,
        narrowed: true,
    };
    let solution = refine(frame, band, Some(&narrow), goal, &near, iterations);
    if solution.stop == Stop::Failed {
        return walk_over(frame, band, goal, basis, iterations);
    }
    solution
}

/// A fit nearer to the optimum, by Newton steps with a density estimated from the rows in the band.
///
/// `units` say for each row in what its distance from the fit is counted.
fn step_towards(
    frame: &Frame,
    band: &Level<'_>,
    start: &[f64],
    goal: &Goal<'_>,
    units: &[f64],
) -> Vec<f64> {
    let p = frame.columns;
    let tilt = goal.tilt.map(super::goal::Tilt::amount);
    let mut coefficients = start.to_vec();
    let mut best = (f64::INFINITY, start.to_vec());
    let mut curvature = Vec::new();
    for _ in 0..=NEWTON_STEPS {
        if curvature.is_empty() {
            let residuals = band.residuals(&coefficients);
            let weights: Vec<f64> = residuals
                .iter()
                .zip(units)
                .enumerate()
                .map(|(row, (residual, unit))| {
                    let half = 0.3 * unit;
                    if residual.abs() < half {
                        band.weight(row) / (2.0 * half)
                    } else {
                        0.0
                    }
                })
                .collect();
            curvature = frame.products(&weighted_cross_products(&band.matrix, &weights));
            let trace: f64 = (0..p).map(|i| curvature[i * p + i]).sum();
            for i in 0..p {
                curvature[i * p + i] += 1e-6 * trace / p as f64;
            }
        }
        let above = sum_above(band, &band.matrix.fold(&coefficients));
        let gradient: Vec<f64> = (0..p)
            .map(|i| {
                let tilt = tilt.as_ref().map_or(0.0, |tilt| tilt[i]);
                (1.0 - goal.tau) * band.total[i] - above[i] + tilt
            })
            .collect();
        let mut in_frame = vec![0.0; p];
        frame.row_to_frame(&gradient, &mut in_frame);
        let Some(step) = solve_exactly(&curvature, &in_frame) else {
            break;
        };
        let merit = dot(&step, &in_frame);
        if merit >= best.0 || merit.is_nan() {
            break;
        }
        best = (merit, coefficients.clone());
        for (value, step) in coefficients.iter_mut().zip(frame.leave_frame(&step)) {
            *value -= step;
        }
    }
    best.1
}

/// Walks over all rows of a level.
fn walk_over(
    frame: &Frame,
    level: &Level<'_>,
    goal: &Goal<'_>,
    basis: &[usize],
    iterations: &mut usize,
) -> Solution {
    let values: Cow<'_, [f64]> = if level.origin == 0.0 {
        Cow::Borrowed(&level.values)
    } else {
        level
            .values
            .iter()
            .map(|value| value - level.origin)
            .collect()
    };
    let mut walk = Walk::new(frame, level, &values, basis.to_vec());
    let mut stop = Stop::Optimal;
    if let Some(tilt) = goal.tilt {
        walk.tilt = tilt.amount();
    } else {
        stop = walk.run(goal.tau - BELOW);
    }
    if goal.last && stop == Stop::Optimal {
        stop = walk.run(goal.tau);
    }
    *iterations += walk.pivots;
    let certified = goal.last && stop == Stop::Optimal && walk.is_optimal(goal.tau);
    let not_unique = certified && goal.tilt.is_none() && walk.has_flat_edge();
    Solution {
        range: goal
            .tilt
            .map(|tilt| walk.find_range(&tilt.functional, tilt.size)),
        basis: walk.basis,
        coefficients: walk.coefficients,
        certified,
        not_unique,
        stop,
    }
}

/// Takes the missing rows out of the sum of those above and puts them among those that may change.
fn add_rows(level: &Level<'_>, old: &[f64], open: &mut OpenBand) {
    let mut row = vec![0.0; level.matrix.columns()];
    for &index in &open.missing {
        let at = index as usize;
        let mut fitted = [0.0];
        level.matrix.evaluate(old, at..at + 1, &mut fitted);
        let cell = level.matrix.cell_of(at);
        if level.value(at) - fitted[0] > open.limits.of(cell).1 {
            level.matrix.copy_row(at, &mut row);
            for (sum, value) in open.above.iter_mut().zip(&row) {
                *sum -= level.weight(at) * value;
            }
        }
    }
    open.added.extend(&open.missing);
    open.added.sort_unstable();
    open.rows.append(&mut open.missing);
    open.rows.sort_unstable();
}
