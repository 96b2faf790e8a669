//! What is left of all vectors once some columns are taken out of them.

use std::ops::{Add, Mul, Sub};

use super::frame::{DEPENDENT, Frame};

/// Lanes of a row: 64 vectors, and room to read and write four at a time beyond the last. No power of two, so
/// that rows do not share their place in the cache.
pub(super) const STRIDE: usize = 72;
/// One number for each vector.
pub(super) type Lanes = [f64; STRIDE];
/// Lanes that are worked on together.
pub(super) const WIDE: usize = 4;

/// Vectors side by side: first the candidates, then what is only scored.
#[derive(Clone)]
pub(super) struct Level {
    /// One row for each dimension.
    rows: Vec<Lanes>,
    /// Squared length of each vector.
    pub squares: Lanes,
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
            rows: vec![[0.0; STRIDE]; dims],
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
            for (row, value) in level.rows.iter_mut().zip(vector) {
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
    pub(super) fn row(&self, dim: usize) -> &Lanes {
        &self.rows[dim]
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
            2 => self.take_out_of::<2, 2>(candidate, keep, into),
            3 => self.take_out_of::<3, 3>(candidate, keep, into),
            4 => self.take_out_of::<4, 4>(candidate, keep, into),
            5 => self.take_out_of::<5, 5>(candidate, keep, into),
            6 => self.take_out_of::<6, 6>(candidate, keep, into),
            _ => self.take_out_of::<0, 64>(candidate, keep, into),
        }
    }

    /// `D` dimensions, 0: as many as there are; room for `N`.
    #[inline(always)]
    fn take_out_of<const D: usize, const N: usize>(
        &self,
        candidate: usize,
        keep: bool,
        into: &mut Level,
    ) {
        let dims = if D == 0 { self.dims } else { D };
        let candidate = candidate & 63;
        let mut normal = [0.0; N];
        for (entry, row) in normal.iter_mut().zip(&self.rows[..dims]) {
            *entry = row[candidate];
        }
        let length = self.squares[candidate].sqrt();
        let scale = (length * (length + normal[0].abs())).recip();
        normal[0] += length.copysign(normal[0]);
        let after = self.count - candidate - 1;
        // Writes beyond the lanes meant are overwritten by the next, or lie beyond the last.
        self.mirror::<D, N>(&normal, scale, candidate + 1, after, 0, into);
        into.candidates = self.candidates - candidate - 1;
        into.count = after;
        if keep {
            self.mirror::<D, N>(&normal, scale, 0, candidate, after, into);
            into.count += candidate;
        }
        into.dims = dims - 1;
    }

    #[inline(always)]
    fn mirror<const D: usize, const N: usize>(
        &self,
        normal: &[f64; N],
        scale: f64,
        from: usize,
        lanes: usize,
        to: usize,
        into: &mut Level,
    ) {
        let dims = if D == 0 { self.dims } else { D };
        let (source, target) = (&self.rows[..dims], &mut into.rows[..dims - 1]);
        let mut done = 0;
        while done < lanes {
            let (here, there) = (from + done, to + done);
            if here > STRIDE - WIDE || there > STRIDE - WIDE {
                break;
            }
            let mut along = Four([0.0; WIDE]);
            for (row, entry) in source.iter().zip(normal) {
                along = along + Four::at(row, here) * *entry;
            }
            along = along * scale;
            let mut squares = Four([0.0; WIDE]);
            for ((row, entry), result) in source[1..].iter().zip(&normal[1..]).zip(&mut *target) {
                let rest = Four::at(row, here) - along * *entry;
                result[there..there + WIDE].copy_from_slice(&rest.0);
                squares = squares + rest * rest;
            }
            into.squares[there..there + WIDE].copy_from_slice(&squares.0);
            let names: [u8; WIDE] = self.names[here..here + WIDE]
                .try_into()
                .expect("four lanes");
            into.names[there..there + WIDE].copy_from_slice(&names);
            done += WIDE;
        }
    }
}

/// Four lanes, which the compiler keeps in one register or two.
#[derive(Clone, Copy)]
pub(super) struct Four(pub [f64; WIDE]);

impl Four {
    /// The lanes from `start`, at most the last four.
    #[inline(always)]
    pub(super) fn at(row: &Lanes, start: usize) -> Self {
        let start = start.min(STRIDE - WIDE);
        Self(row[start..start + WIDE].try_into().expect("four lanes"))
    }

    /// Each of the four changed.
    #[inline(always)]
    pub(super) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self(std::array::from_fn(|lane| change(self.0[lane])))
    }

    /// This less a product, rounded once where `FUSED`: without such an instruction that is slow.
    #[inline(always)]
    pub(super) fn less<const FUSED: bool>(self, one: Self, other: impl Into<Self>) -> Self {
        let other = other.into();
        if FUSED {
            Self(std::array::from_fn(|lane| {
                (-one.0[lane]).mul_add(other.0[lane], self.0[lane])
            }))
        } else {
            self - one * other
        }
    }

    /// Bit i: lane i is not above a limit.
    #[inline(always)]
    pub(super) fn find_up_to(self, limit: f64) -> u64 {
        let bit = |lane: usize| u64::from(self.0[lane] <= limit) << lane;
        bit(0) | bit(1) | bit(2) | bit(3)
    }

    /// Write the lanes from `start`, at most the last four.
    #[inline(always)]
    pub(super) fn put(self, row: &mut Lanes, start: usize) {
        let start = start.min(STRIDE - WIDE);
        row[start..start + WIDE].copy_from_slice(&self.0);
    }

    #[inline(always)]
    pub(super) fn root(self) -> Self {
        Self(self.0.map(f64::sqrt))
    }

    #[inline(always)]
    pub(super) fn inverse(self) -> Self {
        Self(self.0.map(f64::recip))
    }

    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        Self(self.0.map(f64::abs))
    }

    /// The larger of each two; the other's where one is no number.
    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        self.with(other, |a, b| if a > b { a } else { b })
    }

    /// The smaller of each two; the other's where one is no number.
    #[inline(always)]
    pub(super) fn min(self, other: Self) -> Self {
        self.with(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    pub(super) fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let mut result = [0.0; WIDE];
        for (lane, value) in result.iter_mut().enumerate() {
            *value = of(self.0[lane], other.0[lane]);
        }
        Self(result)
    }
}

impl From<f64> for Four {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self([value; WIDE])
    }
}

impl Add for Four {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
}

impl Sub for Four {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }
}

impl Mul for Four {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }
}

impl Mul<f64> for Four {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: f64) -> Self {
        self.with(Self([other; WIDE]), |a, b| a * b)
    }
}
