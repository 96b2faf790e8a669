//! Forward selection and exchange: upper bounds of what is sought, and a sequence of the candidates.

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

/// Largest subsets, and passes over their members, that are improved by exchange.
const EXCHANGED: (usize, usize) = (8, 4);

/// Seed a hunt with subsets of each size in which no exchange of one column fits better.
pub(super) fn seed_exchange(frame: &Frame, response: usize, largest: usize, hunt: &mut Hunt) {
    let mut set: Vec<usize> = vec![];
    for size in 1..=largest.min(EXCHANGED.0).min(frame.dims.saturating_sub(1)) {
        let Some((added, mut rss)) = find_addition(frame, response, &set) else {
            return;
        };
        set.push(added);
        for _ in 0..EXCHANGED.1 {
            let before = rss;
            for place in 0..size {
                let old = set.swap_remove(place);
                let found = find_addition(frame, response, &set);
                let better = found.filter(|(_, left)| *left < rss * (1.0 - 1e-9));
                let (position, left) = better.unwrap_or((old, rss));
                rss = left;
                set.push(position);
                set.swap(place, size - 1);
            }
            if rss >= before {
                break;
            }
        }
        if let Some(measured) = frame.measure(response, set.iter().copied()) {
            hunt.seed(size, measured);
        }
    }
}

/// The column that leaves the smallest sum of squares together with a subset, and that sum.
fn find_addition(frame: &Frame, response: usize, set: &[usize]) -> Option<(usize, f64)> {
    let dims = frame.dims;
    let mut axes = [0.0; EXCHANGED.0 * 64];
    let mut rest = [0.0; 64];
    let rest = &mut rest[..dims];
    rest.copy_from_slice(frame.vector(response));
    for (number, position) in set.iter().enumerate() {
        let (before, axis) = axes.split_at_mut(number * dims);
        let axis = &mut axis[..dims];
        axis.copy_from_slice(frame.vector(*position));
        for earlier in before.chunks_exact(dims) {
            take_part(earlier, axis);
        }
        let square = dot(axis, axis);
        if square <= SHORT {
            return None;
        }
        let scale = square.sqrt().recip();
        axis.iter_mut().for_each(|entry| *entry *= scale);
        take_part(axis, rest);
    }
    let total = dot(rest, rest);
    let mut found = None;
    let mut most = 0.0;
    for position in (0..frame.candidates()).filter(|position| *position != response) {
        let vector = frame.vector(position);
        let mut square = 1.0;
        for axis in axes[..set.len() * dims].chunks_exact(dims) {
            let part = dot(axis, vector);
            square -= part * part;
        }
        let along = dot(vector, rest);
        if square > SHORT && along * along > most * square {
            most = along * along / square;
            found = Some((position, total - most));
        }
    }
    found
}
