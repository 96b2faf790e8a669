//! One step of the walk: the row that leaves the basis, the edge, and the row that it is exchanged for.

use crate::quantile::general::arrays::{dot, list_flagged};
use crate::quantile::general::vertices::crossings::{Crossing, find_turn};
use crate::quantile::general::vertices::edge::{
    Edge, find_largest, flag_crossings, flag_zeros, move_fit,
};
use crate::quantile::general::vertices::walk::{ROUNDING, Stop, Walk, shadow_of};

impl Walk<'_, '_> {
    /// Lets basic row `leaving` go to the side given and takes in the row where the slope turns.
    pub(super) fn exchange(&mut self, leaving: usize, side: f64) -> Stop {
        let p = self.basis.len();
        let rows = self.matrix.rows();
        let left = self.basis[leaving];
        let violation = if side < 0.0 {
            -self.duals[leaving]
        } else {
            self.duals[leaving] - self.weight(left)
        };
        // Along the edge the row that leaves has the residual `step * side`, so its fit moves by `-side`.
        let direction: Vec<f64> = self.inverse[leaving * p..(leaving + 1) * p]
            .iter()
            .map(|value| -side * value)
            .collect();
        let folded = self.matrix.fold(&self.frame.leave_frame(&direction));
        let mut moved = vec![0.0; rows];
        self.matrix.evaluate(&folded, 0..rows, &mut moved);
        let tiny = 1e-12 * find_largest(&moved);

        let mut missing = violation;
        let mut at_once: Vec<Crossing> = Vec::new();
        if self.tied {
            for (row, (&shadow, &moved)) in self.shadows.iter().zip(&moved).enumerate() {
                let speed = moved * self.signs[row];
                if shadow != 0.0 && speed > tiny {
                    let step = (shadow / moved).max(0.0);
                    at_once.push(Crossing {
                        step,
                        gain: self.weight(row) * speed,
                        row: row as u32,
                    });
                }
            }
        }
        if let Some((passed, entering)) = find_turn(&mut at_once, &mut missing) {
            let step = entering.step;
            for (row, (shadow, moved)) in self.shadows.iter_mut().zip(&moved).enumerate() {
                if *shadow != 0.0 {
                    *shadow -= step * moved;
                    if *shadow == 0.0 {
                        *shadow = f64::MIN_POSITIVE * self.signs[row];
                    }
                }
            }
            for crossing in &at_once[..passed] {
                self.set_sign(crossing.row as usize, -self.signs[crossing.row as usize]);
            }
            self.shadows[entering.row as usize] = 0.0;
            self.shadows[left] = if step > 0.0 {
                step * side
            } else {
                f64::MIN_POSITIVE * side
            };
            return self.replace(leaving, side, entering.row as usize);
        }

        let Some((crossings, passed, entering)) = self.search(&moved, tiny, &mut missing) else {
            return Stop::Widen;
        };
        let step = entering.step;
        move_fit(&mut self.residuals, &moved, step);
        for crossing in at_once.iter().chain(&crossings[..passed]) {
            self.set_sign(crossing.row as usize, -self.signs[crossing.row as usize]);
        }
        self.reach = 4.0 * step;
        self.residuals[left] = step * side;
        let stop = self.replace(leaving, side, entering.row as usize);
        self.find_shadows();
        stop
    }

    /// Gives shadows to the rows whose residuals are zero now, and takes those of others.
    fn find_shadows(&mut self) {
        flag_zeros(
            &self.residuals,
            &self.signs,
            self.values,
            self.magnitude,
            ROUNDING,
            &mut self.flags,
        );
        let mut zeros = Vec::new();
        list_flagged(&self.flags, 0, &mut zeros);
        if self.tied {
            self.shadows.fill(0.0);
        }
        self.tied = !zeros.is_empty();
        for row in zeros {
            let row = row as usize;
            self.shadows[row] = self.signs[row] * shadow_of(row);
        }
    }

    /// The row at which the slope turns upwards, among those with a residual.
    fn search(
        &mut self,
        moved: &[f64],
        tiny: f64,
        missing: &mut f64,
    ) -> Option<(Vec<Crossing>, usize, Crossing)> {
        let mut reach = self.reach;
        let mut met = Vec::new();
        for attempt in 0..4 {
            if attempt == 3 {
                reach = f64::INFINITY;
            }
            let mut crossings = Vec::new();
            let mut gains = 0.0;
            let edge = Edge {
                moved,
                signs: &self.signs,
                residuals: &self.residuals,
                shadows: &self.shadows,
                tiny,
            };
            flag_crossings(&edge, reach, &mut self.flags);
            met.clear();
            list_flagged(&self.flags, 0, &mut met);
            for &row in &met {
                let at = row as usize;
                let speed = moved[at] * self.signs[at];
                let distance = (self.residuals[at] * self.signs[at]).max(0.0);
                let gain = self.weight(at) * speed;
                gains += gain;
                crossings.push(Crossing {
                    step: distance / speed,
                    gain,
                    row,
                });
            }
            let mut rest = *missing;
            if (gains >= rest * 0.999 || reach == f64::INFINITY)
                && let Some((passed, entering)) = find_turn(&mut crossings, &mut rest)
            {
                *missing = rest;
                return Some((crossings, passed, entering));
            }
            if reach == f64::INFINITY {
                return None;
            }
            reach *= 16.0;
        }
        None
    }

    /// Puts `entering` in the place of basic row `leaving`, which gets the sign `side`.
    fn replace(&mut self, leaving: usize, side: f64, entering: usize) -> Stop {
        let p = self.basis.len();
        let mut row = vec![0.0; p];
        let mut in_frame = vec![0.0; p];
        self.matrix.copy_row(entering, &mut row);
        self.frame.row_to_frame(&row, &mut in_frame);
        let parts: Vec<f64> = self
            .inverse
            .chunks(p)
            .map(|column| dot(column, &in_frame))
            .collect();
        let pivot = parts[leaving];
        if pivot == 0.0 || !pivot.is_finite() {
            return Stop::Failed;
        }
        let own: Vec<f64> = self.inverse[leaving * p..(leaving + 1) * p]
            .iter()
            .map(|value| value / pivot)
            .collect();
        for (k, column) in self.inverse.chunks_mut(p).enumerate() {
            if k == leaving {
                column.copy_from_slice(&own);
            } else if parts[k] != 0.0 {
                for (value, own) in column.iter_mut().zip(&own) {
                    *value -= parts[k] * own;
                }
            }
        }
        self.set_sign(self.basis[leaving], side);
        self.set_sign(entering, 0.0);
        self.residuals[entering] = 0.0;
        self.basis[leaving] = entering;
        self.pivots += 1;
        Stop::Optimal
    }
}
