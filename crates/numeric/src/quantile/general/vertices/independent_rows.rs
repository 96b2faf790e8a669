//! Rows whose columns are independent, which a basis needs.

use crate::quantile::general::arrays::dot;
use crate::quantile::general::bands::Level;
use crate::quantile::general::matrix::Frame;

/// The first p rows in the order given that are independent; fewer when there are not p.
///
/// `least` are the shares of its length that a row has to have of its own, tried in turn.
pub(crate) fn choose_independent(
    level: &Level<'_>,
    frame: &Frame,
    order: &[u32],
    least: &[f64],
) -> Vec<usize> {
    let p = frame.columns;
    let mut chosen: Vec<usize> = Vec::with_capacity(p);
    let mut directions: Vec<Vec<f64>> = Vec::with_capacity(p);
    let mut taken = vec![false; order.len()];
    let mut row = vec![0.0; p];
    for &least in least {
        for (at, &index) in order.iter().enumerate() {
            if chosen.len() == p {
                return chosen;
            }
            if taken[at] {
                continue;
            }
            let mut rest = vec![0.0; p];
            level.matrix.copy_row(index as usize, &mut row);
            frame.row_to_frame(&row, &mut rest);
            let length = dot(&rest, &rest).sqrt();
            for _ in 0..2 {
                for direction in &directions {
                    let part = dot(direction, &rest);
                    for (rest, direction) in rest.iter_mut().zip(direction) {
                        *rest -= part * direction;
                    }
                }
            }
            let left = dot(&rest, &rest).sqrt();
            if length > 0.0 && left > least * length {
                rest.iter_mut().for_each(|value| *value /= left);
                directions.push(rest);
                chosen.push(index as usize);
                taken[at] = true;
            }
        }
    }
    chosen
}
