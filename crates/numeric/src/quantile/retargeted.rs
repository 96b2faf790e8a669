//! Models over cells with other numbers of values below the fit than `tau n`: draws of an exact pivot.
//!
//! At the true coefficients the number of values of a cell below the fitted one is binomial, whatever
//! their distribution. Solving for drawn numbers therefore draws coefficients (Parzen, Wei and Ying 1994).

use rayon::prelude::*;

use super::sorted::SortedCells;
use crate::quantile::cell_walk::{
    End, FitError, Model, Walk, add_scaled, build_shape, guess_fitted, solve_quantile,
};

impl SortedCells {
    /// Coefficients (R × p) for which `targets` (R × K) values of each cell lie below the fit, as near as the
    /// model comes to it: the sum of `x_c (L_c - t_c)` is zero. NaN where nothing bounds them.
    ///
    /// # Errors
    /// As [`SortedCells::fit`].
    ///
    /// # Panics
    /// When `design` or `targets` is not whole rows for the cells.
    pub fn fit_targets(
        &self,
        design: &[f64],
        parameters: usize,
        tau: f64,
        targets: &[f64],
    ) -> Result<Vec<f64>, FitError> {
        let cells = self.cells();
        assert!(
            targets.len().is_multiple_of(cells.max(1)),
            "one target for each cell"
        );
        let lists = self.lists();
        let shape = build_shape(lists.totals, design, parameters, &[tau])?;
        let model = Model::new(&shape, lists);
        let mut start = guess_fitted(&model, tau);
        let mut basis = None;
        if let Some(solution) = solve_quantile(&model, tau, &start) {
            start = shape.predict(&solution, cells);
            start.iter_mut().for_each(|fitted| *fitted -= model.origin);
            basis = Some(solution.basis);
        }
        let Some(basis) = basis else {
            return Ok(vec![f64::NAN; targets.len() / cells.max(1) * parameters]);
        };
        Ok(targets
            .par_chunks(cells)
            .flat_map_iter(|own| {
                walk_to(&model, tau, &basis, &start, own)
                    .unwrap_or_else(|| vec![f64::NAN; parameters])
            })
            .collect())
    }
}

fn walk_to(
    model: &Model<'_>,
    tau: f64,
    basis: &[usize],
    start: &[f64],
    targets: &[f64],
) -> Option<Vec<f64>> {
    let mut walk = Walk::new(model, tau, basis.to_vec(), start)?;
    walk.retarget(targets);
    if walk.run() != End::Optimal {
        return None;
    }
    let p = model.parameters;
    let mut beta = vec![0.0; p];
    for (slot, (&cell, run)) in walk.basis.iter().zip(&walk.runs).enumerate() {
        add_scaled(
            &mut beta,
            &walk.inverse[slot * p..][..p],
            model.value(cell, run.0),
        );
    }
    Some(model.unscale(&beta, model.origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_alone_gives_the_order_statistic_of_its_target() {
        let sorted = SortedCells::new(&[0; 5], &[4.0, 1.0, 3.0, 2.0, 9.0], 1);
        let drawn = sorted
            .fit_targets(&[1.0], 1, 0.5, &[0.5, 1.5, 2.5, 4.5])
            .unwrap();
        assert_eq!(drawn, [1.0, 2.0, 3.0, 9.0]);
    }

    #[test]
    fn the_usual_targets_give_the_fit_itself() {
        let values: Vec<f64> = (0..60)
            .map(|i| f64::from(i * 37 % 101) + f64::from(i % 4))
            .collect();
        let cells: Vec<u32> = (0..60).map(|i| i % 4).collect();
        let design = [
            1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0,
        ];
        let sorted = SortedCells::new(&cells, &values, 4);
        let fit = sorted.fit(&design, 3, &[0.37]).unwrap();
        let drawn = sorted
            .fit_targets(&design, 3, 0.37, &[15.0 * 0.37; 4])
            .unwrap();
        for (one, other) in drawn.iter().zip(&fit.coefficients) {
            assert!((one - other).abs() < 1e-9);
        }
    }

    #[test]
    fn what_nothing_bounds_is_no_number() {
        let sorted = SortedCells::new(&[0, 0, 0], &[1.0, 2.0, 3.0], 1);
        assert!(sorted.fit_targets(&[1.0], 1, 0.5, &[3.5]).unwrap()[0].is_nan());
    }
}
