//! What is left of all vectors once some columns are taken out of them.

use super::frame::{DEPENDENT, Frame};

/// Lanes of a row: 64 vectors, and room to read and write four at a time beyond the last. No power of two, so
/// that rows do not share their place in the cache.
const STRIDE: usize = 72;
/// Lanes that are worked on together.
pub(super) const WIDE: usize = 4;

/// Vectors side by side: first the candidates, then what is only scored.
#[derive(Clone)]
pub(super) struct Level {
    /// One row for each dimension.
    rows: Vec<f64>,
    /// Squared length of each vector.
    pub squares: [f64; STRIDE],
    /// Number of the column of each.
    pub names: [u8; STRIDE],
    pub count: usize,
    /// The first so many are candidates.
    pub candidates: usize,
    pub dims: usize,
}

impl Level {
    pub(super) fn new(dims: usize) -> Self {
        Self {
            rows: vec![0.0; STRIDE * dims],
            squares: [0.0; STRIDE],
            names: [0; STRIDE],
            count: 0,
            candidates: 0,
            dims,
        }
    }

    /// The vectors of a frame, candidates in the `order` of their positions.
    pub(super) fn of_frame(frame: &Frame, order: &[usize]) -> Self {
        let mut level = Self::new(frame.dims);
        let others = order.len()..frame.names.len();
        for (lane, position) in order.iter().copied().chain(others).enumerate() {
            level.names[lane] = frame.names[position];
            let vector = frame.vector(position);
            for (row, value) in level.rows.chunks_exact_mut(STRIDE).zip(vector) {
                row[lane] = *value;
            }
            level.squares[lane] = vector.iter().map(|value| value * value).sum();
        }
        (level.count, level.candidates) = (frame.names.len(), order.len());
        level
    }

    /// Whether a candidate depends on what was taken out.
    #[inline(always)]
    pub(super) fn depends(&self, lane: usize) -> bool {
        self.squares[lane] <= DEPENDENT
    }

    #[inline(always)]
    pub(super) fn row(&self, dim: usize) -> &[f64; STRIDE] {
        self.rows[dim * STRIDE..][..STRIDE]
            .try_into()
            .expect("a row has as many lanes")
    }

    /// Squared length of what is left of a vector without its part along a candidate.
    pub(super) fn square_without(&self, lane: usize, candidate: usize) -> f64 {
        let mut along = 0.0;
        for dim in 0..self.dims {
            along += self.row(dim)[lane] * self.row(dim)[candidate];
        }
        along /= self.squares[candidate];
        (0..self.dims)
            .map(|dim| (self.row(dim)[lane] - along * self.row(dim)[candidate]).powi(2))
            .sum()
    }

    /// Take one candidate out of the others, with one dimension less; candidates before it are only scored,
    /// or dropped without `keep`.
    #[inline(always)]
    pub(super) fn take_out(&self, candidate: usize, keep: bool, into: &mut Level) {
        match self.dims {
            2 => self.take_out_of::<2>(candidate, keep, into),
            3 => self.take_out_of::<3>(candidate, keep, into),
            4 => self.take_out_of::<4>(candidate, keep, into),
            5 => self.take_out_of::<5>(candidate, keep, into),
            6 => self.take_out_of::<6>(candidate, keep, into),
            _ => self.take_out_of::<0>(candidate, keep, into),
        }
    }

    /// `D` dimensions, 0: as many as there are.
    #[inline(always)]
    fn take_out_of<const D: usize>(&self, candidate: usize, keep: bool, into: &mut Level) {
        let dims = if D == 0 { self.dims } else { D };
        let mut normal = [0.0; 64];
        for (dim, entry) in normal[..dims].iter_mut().enumerate() {
            *entry = self.row(dim)[candidate];
        }
        let length = self.squares[candidate].sqrt();
        let scale = (length * (length + normal[0].abs())).recip();
        normal[0] += length.copysign(normal[0]);
        let after = self.count - candidate - 1;
        // Writes beyond the lanes meant are overwritten by the next, or lie beyond the last.
        self.mirror::<D>(&normal, scale, candidate + 1, after, 0, into);
        into.candidates = self.candidates - candidate - 1;
        into.count = after;
        if keep {
            self.mirror::<D>(&normal, scale, 0, candidate, after, into);
            into.count += candidate;
        }
        into.dims = dims - 1;
    }

    #[inline(always)]
    fn mirror<const D: usize>(
        &self,
        normal: &[f64; 64],
        scale: f64,
        from: usize,
        lanes: usize,
        to: usize,
        into: &mut Level,
    ) {
        let dims = if D == 0 { self.dims } else { D };
        let mut done = 0;
        while done < lanes {
            let mut along = [0.0; WIDE];
            for (dim, entry) in normal[..dims].iter().enumerate() {
                let values: &[f64; WIDE] = four(self.row(dim), from + done);
                for lane in 0..WIDE {
                    along[lane] += entry * values[lane];
                }
            }
            for part in &mut along {
                *part *= scale;
            }
            let mut squares = [0.0; WIDE];
            for dim in 1..dims {
                let values: &[f64; WIDE] = four(self.row(dim), from + done);
                let place = (dim - 1) * STRIDE + to + done;
                let target: &mut [f64; WIDE] = (&mut into.rows[place..place + WIDE])
                    .try_into()
                    .expect("four lanes");
                for lane in 0..WIDE {
                    let rest = values[lane] - along[lane] * normal[dim];
                    target[lane] = rest;
                    squares[lane] += rest * rest;
                }
            }
            into.squares[to + done..to + done + WIDE].copy_from_slice(&squares);
            let names: [u8; WIDE] = self.names[from + done..from + done + WIDE]
                .try_into()
                .expect("four lanes");
            into.names[to + done..to + done + WIDE].copy_from_slice(&names);
            done += WIDE;
        }
    }
}

/// Four lanes from `start`.
#[inline(always)]
pub(super) fn four(row: &[f64; STRIDE], start: usize) -> &[f64; WIDE] {
    row[start..start + WIDE].try_into().expect("four lanes")
}
