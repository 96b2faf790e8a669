//! Quantile regression from the coarsest subset of the rows to all of them.

use std::borrow::Cow;

use rayon::prelude::*;

use super::arrays::dot;
use super::goal::{BAND_WIDTH, Goal, Solution, Start};
use super::input::{GeneralError, check_quantiles, check_values};
use super::refine::{Search, refine, refine_together};
use crate::draws::scramble;
use crate::quantile::general::bands::{Level, Spread, build_levels, choose_lasting, sum_losses};
use crate::quantile::general::matrix::{CellMatrix, CellOrder, Frame, Shifts, solve_exactly};
use crate::quantile::general::vertices::choose_independent;

/// The fit of one quantile.
#[derive(Clone, Debug)]
pub struct GeneralFit {
    /// p coefficients.
    pub coefficients: Vec<f64>,
    /// Weighted check-function loss over all rows.
    pub objective: f64,
    /// Whether the dual vector of the basis is feasible and all rows are on the side that it assumes.
    pub certified: bool,
    /// Whether other solutions have the same loss.
    pub not_unique: bool,
    /// Exchanges of the vertex walk, over all subsets of rows.
    pub iterations: usize,
    /// The p rows that the fit goes through, ascending.
    pub basis: Vec<usize>,
}

/// A problem made ready: the matrix centred, an origin taken off, the subsets chosen.
pub(super) struct Prepared<'a> {
    pub frame: Frame,
    pub levels: Vec<Level<'a>>,
    /// Coefficients whose fit is one in every row, when there are such.
    constant: Option<Vec<f64>>,
    pub shifts: Shifts,
    /// The rows with a positive weight by their numbers in the data; empty when these are all.
    kept: Vec<u32>,
    /// How the rows of the first level stand in it; `None` when as in the data.
    order: Option<CellOrder<'a>>,
}

impl<'a> Prepared<'a> {
    pub fn new(
        mut matrix: CellMatrix<'a>,
        values: &'a [f64],
        weights: Option<&'a [f64]>,
    ) -> Result<Self, GeneralError> {
        check_values(&matrix, values, weights)?;
        let shifts = matrix.centre();
        let mut kept = Vec::new();
        let mut values = Cow::Borrowed(values);
        let mut weights = weights.map(Cow::Borrowed);
        if let Some(given) = weights.as_ref().filter(|weights| weights.contains(&0.0)) {
            kept = (0..given.len() as u32)
                .filter(|&row| given[row as usize] > 0.0)
                .collect();
        }
        if !kept.is_empty() {
            let own = |numbers: &[f64]| Cow::Owned(pick(numbers, &kept));
            matrix = matrix.select(&kept);
            values = own(&values);
            weights = weights.map(|weights| own(&weights));
        }
        let (matrix, order) = matrix.sort_by_cell();
        if let Some(order) = &order {
            values = Cow::Owned(order.sort(&values));
            weights = weights.map(|weights| Cow::Owned(order.sort(&weights)));
        }
        let p = matrix.columns();
        if matrix.rows() < p {
            return Err(GeneralError::Input(format!(
                "{} observations with a positive weight cannot determine {p} coefficients",
                matrix.rows()
            )));
        }
        let mut lasting = choose_lasting(&matrix);
        let frame = Frame::build(&matrix, &mut lasting).map_err(GeneralError::Dependent)?;
        let constant = find_constant(&matrix, &frame);
        let all = Level::new(matrix, values, weights);
        let mut levels = build_levels(all, (8 * p).max(1000), lasting);
        if constant.is_some() {
            let mut some = levels[levels.len() - 1].values.to_vec();
            let middle = some.len() / 2;
            let origin = *some.select_nth_unstable_by(middle, f64::total_cmp).1;
            levels.iter_mut().for_each(|level| level.origin = origin);
        }
        Ok(Self {
            frame,
            levels,
            constant,
            shifts,
            kept,
            order,
        })
    }

    /// One number for each row of the data, as one for each row of the first level.
    pub fn arrange<'n>(&self, numbers: &'n [f64]) -> Cow<'n, [f64]> {
        let mut numbers = Cow::Borrowed(numbers);
        if !self.kept.is_empty() {
            numbers = Cow::Owned(pick(&numbers, &self.kept));
        }
        match &self.order {
            Some(order) => Cow::Owned(order.sort(&numbers)),
            None => numbers,
        }
    }

    /// Solves for quantiles strictly between 0 and 1. The basic rows are those of the first level.
    pub fn fit(&self, quantiles: &[f64]) -> Vec<GeneralFit> {
        let found = self.solve_together(quantiles);
        let coefficients: Vec<Vec<f64>> = found
            .iter()
            .map(|(solution, _)| self.polish(solution))
            .collect();
        let asked: Vec<(&[f64], f64)> = coefficients
            .iter()
            .zip(quantiles)
            .map(|(coefficients, &tau)| (&coefficients[..], tau))
            .collect();
        let losses = sum_losses(&self.levels[0], &asked);
        found
            .into_iter()
            .zip(coefficients)
            .zip(losses)
            .map(
                |(((solution, iterations), coefficients), objective)| GeneralFit {
                    coefficients: self.restore(coefficients),
                    objective,
                    certified: solution.certified,
                    not_unique: solution.not_unique,
                    iterations,
                    basis: solution.basis,
                },
            )
            .collect()
    }

    /// Names the basic rows as the data do.
    fn restore_rows(&self, fits: &mut [GeneralFit]) {
        if let Some(order) = &self.order {
            let mut bases: Vec<_> = fits.iter_mut().map(|fit| &mut fit.basis).collect();
            order.restore_rows(&mut bases);
        }
        if !self.kept.is_empty() {
            for row in fits.iter_mut().flat_map(|fit| &mut fit.basis) {
                *row = self.kept[*row] as usize;
            }
        }
    }

    /// The optimum over all rows, and the exchanges that it took.
    pub fn solve(&self, tau: f64) -> (Solution, usize) {
        self.solve_together(&[tau]).remove(0)
    }

    /// The same for several quantiles, which go from level to level together.
    fn solve_together(&self, quantiles: &[f64]) -> Vec<(Solution, usize)> {
        let coarsest = self.levels.len() - 1;
        let goal = |tau, at| Goal {
            tau,
            last: at == 0,
            width: BAND_WIDTH,
            tilt: None,
        };
        let mut found: Vec<(Solution, usize)> = quantiles
            .par_iter()
            .map(|&tau| {
                let level = &self.levels[coarsest];
                let basis = self.choose_basis(level, tau);
                let mut iterations = 0;
                let goal = goal(tau, coarsest);
                let solution = refine(&self.frame, level, None, &goal, &basis, &mut iterations);
                (solution, iterations)
            })
            .collect();
        for at in (0..coarsest).rev() {
            found = self.solve_next(found, quantiles, at, &goal);
        }
        for (solution, _) in &mut found {
            // In the order of the rows, so that the path to the basis leaves no trace in the last digit.
            solution.basis.sort_unstable();
        }
        found
    }

    /// From the optima over a level to those over the next larger one.
    fn solve_next<'g>(
        &self,
        found: Vec<(Solution, usize)>,
        quantiles: &[f64],
        at: usize,
        goal: &dyn Fn(f64, usize) -> Goal<'g>,
    ) -> Vec<(Solution, usize)> {
        let (level, small) = (&self.levels[at], &self.levels[at + 1]);
        let spreads: Vec<Spread<'_>> = found
            .iter()
            .map(|(solution, _)| Spread::new(small, &solution.coefficients))
            .collect();
        let limits: Vec<_> = spreads
            .iter()
            .zip(quantiles)
            .map(|(spread, &tau)| move |width| spread.limits(tau, width))
            .collect();
        let starts: Vec<Start<'_>> = found
            .iter()
            .zip(&limits)
            .map(|((solution, _), limits)| Start {
                coefficients: &solution.coefficients,
                limits,
                narrowed: false,
            })
            .collect();
        let mut searches: Vec<Search<'_>> = found
            .iter()
            .zip(&starts)
            .zip(quantiles)
            .map(|(((solution, _), start), &tau)| {
                let basis = solution.basis.iter();
                let basis = basis.map(|&row| small.in_next[row] as usize).collect();
                Search::new(level, start, goal(tau, at), basis)
            })
            .collect();
        refine_together(&self.frame, level, &mut searches);
        let ended: Vec<(Solution, usize)> = searches.into_iter().map(Search::end).collect();
        ended
            .into_iter()
            .zip(&found)
            .map(|((solution, taken), (_, before))| (solution, taken + before))
            .collect()
    }

    /// Coefficients of the centred matrix that reproduce the basic observations to the last digits.
    pub fn polish(&self, solution: &Solution) -> Vec<f64> {
        let all = &self.levels[0];
        let p = all.matrix.columns();
        let mut rows = vec![0.0; p * p];
        for (row, &index) in rows.chunks_mut(p).zip(&solution.basis) {
            all.matrix.copy_row(index, row);
        }
        let right: Vec<f64> = solution
            .basis
            .iter()
            .map(|&index| all.value(index))
            .collect();
        solve_exactly(&rows, &right).unwrap_or_else(|| solution.coefficients.clone())
    }

    /// Coefficients of the matrix and the values as given.
    pub fn restore(&self, mut coefficients: Vec<f64>) -> Vec<f64> {
        self.shifts.undo(&mut coefficients);
        if let Some(constant) = &self.constant {
            for (value, part) in coefficients.iter_mut().zip(constant) {
                *value += self.levels[0].origin * part;
            }
        }
        coefficients
    }

    /// p independent rows near the least-squares fit moved to the quantile.
    fn choose_basis(&self, level: &Level<'_>, tau: f64) -> Vec<usize> {
        let (p, m) = (level.matrix.columns(), level.rows());
        let mut in_frame = vec![0.0; m * p];
        let mut row = vec![0.0; p];
        for (index, out) in in_frame.chunks_mut(p).enumerate() {
            level.matrix.copy_row(index, &mut row);
            self.frame.row_to_frame(&row, out);
        }
        let coefficients = fit_least_squares(&in_frame, p, |row| level.value(row));
        let residuals: Vec<f64> = in_frame
            .chunks(p)
            .enumerate()
            .map(|(row, x)| level.value(row) - dot(x, &coefficients))
            .collect();
        let mut sorted = residuals.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let shift = sorted[((tau * m as f64) as usize).min(m - 1)];
        let mut order: Vec<u32> = (0..m as u32).collect();
        let distance = |row: u32| (residuals[row as usize] - shift).abs();
        order.sort_unstable_by(|&a, &b| {
            let tie = scramble(u64::from(a)).cmp(&scramble(u64::from(b)));
            distance(a).total_cmp(&distance(b)).then(tie)
        });
        choose_independent(
            level,
            &self.frame,
            &order,
            &[0.3, 0.03, 1e-3, 1e-6, 1e-10, 1e-13],
        )
    }
}

fn pick(numbers: &[f64], rows: &[u32]) -> Vec<f64> {
    rows.iter().map(|&row| numbers[row as usize]).collect()
}

/// Coefficients whose fit is one in every row, exactly.
fn find_constant(matrix: &CellMatrix<'_>, frame: &Frame) -> Option<Vec<f64>> {
    let p = matrix.columns();
    let exact = |coefficients: &[f64]| {
        let folded = matrix.fold(coefficients);
        folded.chunks(matrix.slots()).all(|own| {
            (own[0] - 1.0).abs() <= 2.0 * f64::EPSILON && own[1..].iter().all(|&value| value == 0.0)
        })
    };
    for column in (0..p).filter(|&column| matrix.slot_of_column()[column] == 0) {
        let value = matrix.cell(0)[column];
        if value != 0.0 && value.is_finite() {
            let mut coefficients = vec![0.0; p];
            coefficients[column] = 1.0 / value;
            if exact(&coefficients) {
                return Some(coefficients);
            }
        }
    }
    let plain: Vec<usize> = (0..p)
        .filter(|&column| matrix.slot_of_column()[column] == 0)
        .collect();
    if plain.is_empty() || matrix.cells() > 10_000 {
        return None;
    }
    // One-hot columns and the like: least squares finds the combination, rounding cleans it.
    let mut in_frame = vec![0.0; matrix.cells() * p];
    let mut row = vec![0.0; p];
    for (cell, out) in in_frame.chunks_mut(p).enumerate() {
        row.fill(0.0);
        for &column in &plain {
            row[column] = matrix.cell(cell)[column];
        }
        frame.row_to_frame(&row, out);
    }
    let found = frame.leave_frame(&fit_least_squares(&in_frame, p, |_| 1.0));
    let clean: Vec<f64> = found
        .iter()
        .map(|value| (value * 1024.0).round() / 1024.0)
        .collect();
    exact(&clean).then_some(clean)
}

/// Least squares on rows in the frame, by normal equations: a start, not a result.
fn fit_least_squares(rows: &[f64], p: usize, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut gram = vec![0.0; p * p];
    let mut right = vec![0.0; p];
    for (index, row) in rows.chunks(p).enumerate() {
        let value = value(index);
        for i in 0..p {
            right[i] += row[i] * value;
            for j in 0..p {
                gram[i * p + j] += row[i] * row[j];
            }
        }
    }
    let largest = (0..p).map(|i| gram[i * p + i]).fold(0.0, f64::max);
    for i in 0..p {
        gram[i * p + i] += 1e-10 * largest;
    }
    solve_exactly(&gram, &right).unwrap_or_else(|| vec![0.0; p])
}

/// Fits all quantiles, each a number strictly between 0 and 1; weights are not negative.
///
/// # Errors
/// When the parts do not fit, or columns are combinations of others.
pub fn fit_general(
    matrix: CellMatrix<'_>,
    values: &[f64],
    quantiles: &[f64],
    weights: Option<&[f64]>,
) -> Result<Vec<GeneralFit>, GeneralError> {
    check_quantiles(quantiles)?;
    let prepared = Prepared::new(matrix, values, weights)?;
    let mut fits = prepared.fit(quantiles);
    prepared.restore_rows(&mut fits);
    Ok(fits)
}
