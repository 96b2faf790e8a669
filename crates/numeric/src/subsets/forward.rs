//! Forward selection: an upper bound of what is sought, and a sequence of the candidates.

use super::aims::Hunt;
use super::frame::{Frame, dot};

/// Squared length, of 1 at first, below which a column is not taken: the search may find it dependent.
const SHORT: f64 = 1e-10;

/// Seed a hunt with the subsets of forward selection; positions of the candidates in the sequence in which it takes
/// them, then by what they would add.
pub(super) fn seed_forward(
    frame: &Frame,
    response: usize,
    largest: usize,
    hunt: &mut Hunt,
) -> Vec<usize> {
    let dims = frame.dims;
    let mut order: Vec<usize> = (0..frame.candidates())
        .filter(|position| *position != response)
        .collect();
    let mut rest = frame.vector(response).to_vec();
    let mut squares = [0.0; 64];
    let mut along = [0.0; 64];
    for position in &order {
        let vector = frame.vector(*position);
        squares[*position] = dot(vector, vector);
        along[*position] = dot(vector, &rest);
    }
    let mut axes: Vec<f64> = Vec::with_capacity(dims * largest.min(dims));
    for taken in 0..largest.min(dims).min(order.len()) {
        let gain = |position: usize| {
            if squares[position] > SHORT {
                along[position] * along[position] / squares[position]
            } else {
                0.0
            }
        };
        let (mut place, mut most) = (taken, 0.0);
        for (at, position) in order.iter().enumerate().skip(taken) {
            let gain = gain(*position);
            if gain > most {
                (place, most) = (at, gain);
            }
        }
        if most <= 0.0 {
            break;
        }
        order.swap(taken, place);
        let start = axes.len();
        axes.extend_from_slice(frame.vector(order[taken]));
        let (before, axis) = axes.split_at_mut(start);
        for earlier in before.chunks_exact(dims) {
            take_part(earlier, axis);
        }
        let scale = dot(axis, axis).sqrt().recip();
        axis.iter_mut().for_each(|entry| *entry *= scale);
        take_part(axis, &mut rest);
        let of_response = along[order[taken]] * scale;
        for position in &order[taken + 1..] {
            // Earlier axes have no part of this one.
            let part = dot(axis, frame.vector(*position));
            squares[*position] -= part * part;
            along[*position] -= part * of_response;
        }
        hunt.seed(taken + 1, dot(&rest, &rest));
    }
    let taken = axes.len() / dims.max(1);
    let gain =
        |position: &usize| along[*position] * along[*position] / squares[*position].max(SHORT);
    order[taken..].sort_by(|a, b| gain(b).total_cmp(&gain(a)).then(a.cmp(b)));
    order
}

/// Take the part along an axis of length 1 out of a vector.
fn take_part(axis: &[f64], vector: &mut [f64]) {
    let along = dot(axis, vector);
    vector
        .iter_mut()
        .zip(axis)
        .for_each(|(value, entry)| *value -= along * entry);
}
