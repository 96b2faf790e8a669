//! Whether the vertex that a walk has reached is optimal, the only one, and for how long.

use super::edge::find_largest;
use super::walk::Walk;
use crate::quantile::general::arrays::dot;

/// Rounding of a dual, as a share of the weights, beyond which nothing is certified.
const LARGEST_SLACK: f64 = 1e-4;

impl Walk<'_, '_> {
    /// Whether the dual vector is feasible as far as rounding can tell, and rounding cannot hide much.
    pub fn is_optimal(&mut self, tau: f64) -> bool {
        self.price(tau);
        let weights: Vec<f64> = self.basis.iter().map(|&row| self.weight(row)).collect();
        let largest = weights.iter().copied().fold(0.0, f64::max);
        self.duals
            .iter()
            .zip(&self.slack)
            .zip(&weights)
            .all(|((&dual, &slack), &weight)| {
                dual >= -slack && dual <= weight + slack && slack <= LARGEST_SLACK * largest
            })
    }

    /// Whether another vertex is optimal too: a dual sits on a bound and its edge is not blocked at once.
    pub fn has_flat_edge(&self) -> bool {
        let p = self.basis.len();
        (0..p).any(|k| {
            let weight = self.weight(self.basis[k]);
            let side = if self.duals[k] <= self.slack[k] {
                -1.0
            } else if self.duals[k] >= weight - self.slack[k] {
                1.0
            } else {
                return false;
            };
            let direction: Vec<f64> = self.inverse[k * p..(k + 1) * p]
                .iter()
                .map(|value| -side * value)
                .collect();
            let folded = self.matrix.fold(&self.frame.leave_frame(&direction));
            let mut moved = vec![0.0; self.matrix.rows()];
            self.matrix
                .evaluate(&folded, 0..self.matrix.rows(), &mut moved);
            let tiny = 1e-11 * find_largest(&moved);
            !(0..moved.len())
                .any(|row| self.shadows[row] != 0.0 && self.signs[row] * moved[row] > tiny)
        })
    }

    /// Magnitudes of the tilt between which this basis stays optimal.
    pub fn find_range(&self, functional: &[f64], size: f64) -> (f64, f64) {
        let mut in_frame = vec![0.0; functional.len()];
        self.frame.row_to_frame(functional, &mut in_frame);
        let (mut down, mut up) = (f64::INFINITY, f64::INFINITY);
        for (k, column) in self.inverse.chunks(functional.len()).enumerate() {
            let speed = dot(column, &in_frame) * size.signum();
            let weight = self.weight(self.basis[k]);
            let dual = self.duals[k].clamp(0.0, weight);
            // Towards zero the dual moves against its speed, away from zero with it.
            let (back, on) = if speed > 0.0 {
                (dual, weight - dual)
            } else {
                (weight - dual, dual)
            };
            if speed != 0.0 {
                down = down.min(back / speed.abs());
                up = up.min(on / speed.abs());
            }
        }
        (size.abs() - down, size.abs() + up)
    }
}
