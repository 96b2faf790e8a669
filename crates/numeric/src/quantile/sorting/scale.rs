//! Buckets of a cell: equal steps near its middle, steps that grow with the distance further out.

/// Powers of two of the distance from the middle that the buckets cover; what lies beyond shares the last one.
const OCTAVE_BITS: u32 = 3;
const ONE: u64 = 0x3ff0_0000_0000_0000;

/// How one cell's values fall into buckets. Monotone: a larger value never gets a smaller number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    middle: f64,
    factor: f64,
}

impl Scale {
    /// From some values of the cell, whichever: they decide about speed alone. Sorts them.
    pub(crate) fn from_some(values: &mut [f64]) -> Self {
        if values.is_empty() {
            return Self {
                middle: 0.0,
                factor: 1.0,
            };
        }
        values.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| values[(share * (values.len() - 1) as f64) as usize];
        let middle = at(0.5);
        let spread = (at(0.75) - middle).max(middle - at(0.25));
        let spread = if spread > 0.0 {
            spread
        } else {
            at(1.0) / 2.0 - at(0.0) / 2.0
        };
        // A constant becomes the finest of scales: below, equal and above.
        let factor = (1.0 / spread).min(f64::MAX);
        Self {
            middle,
            factor: if factor > 0.0 { factor } else { f64::MAX },
        }
    }

    /// The value in the middle.
    #[inline(always)]
    pub(crate) fn middle(self) -> f64 {
        self.middle
    }

    /// Number of the value's bucket, below `2 << side_bits`; NaN gets the last.
    ///
    /// Each operation is monotone in the value, so that rounding cannot break the order.
    #[inline(always)]
    pub(crate) fn bucket(self, value: f64, side_bits: u32) -> usize {
        let distance = (value - self.middle) * self.factor;
        let half = 1u32 << side_bits;
        let shift = 20 + OCTAVE_BITS - side_bits;
        // The upper half of a double has all bits that are needed, and twice as many of them fit a register.
        let upper = |x: f64| (x.to_bits() >> 32) as u32;
        let most = f64::from_bits(ONE + (u64::from(half - 1) << (shift + 32)));
        let size = distance.abs() + 1.0;
        let size = if size < most { size } else { most };
        let step = (upper(size) - (ONE >> 32) as u32) >> shift;
        // Complemented below the middle; as a branch it would be foreseen half the time.
        let below = (upper(distance) as i32 >> 31) as u32;
        half.wrapping_add(step ^ below) as usize
    }

    /// Where a bucket begins and ends, up to rounding; the outermost, which have one end only, are points.
    pub(crate) fn ends_near(self, bucket: usize, side_bits: u32) -> (f64, f64) {
        let last = (2usize << side_bits) - 1;
        let (from, to) = (bucket.max(1), (bucket + 1).min(last));
        (
            self.edge_near(from, side_bits),
            self.edge_near(to.max(from), side_bits),
        )
    }

    /// The lower edge of a bucket, up to rounding; finite.
    pub(crate) fn edge_near(self, bucket: usize, side_bits: u32) -> f64 {
        let shift = 52 + OCTAVE_BITS - side_bits;
        let steps = bucket as i64 - (1 << side_bits);
        let distance = f64::from_bits(ONE + (steps.unsigned_abs() << shift)) - 1.0;
        let distance = if steps < 0 { -distance } else { distance };
        (self.middle + distance / self.factor).clamp(f64::MIN, f64::MAX)
    }
}

/// Finds a scale for each cell from some rows spread over all of them.
pub(crate) fn find_scales(cell_of_row: &[u32], values: &[f64], cells: usize) -> Vec<Scale> {
    const FROM_A_CELL: usize = 192;
    let n = values.len();
    let looks = n.min((FROM_A_CELL * cells).min(n / 16 + 4096));
    let mut seen: Vec<(u32, f64)> = (0..looks)
        .map(|look| {
            // Not at equal distances: rows often repeat with the period of the design.
            let (from, to) = (look * n / looks, (look + 1) * n / looks);
            let scattered = (look as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            let row = from + scattered as usize % (to - from);
            (cell_of_row[row], values[row])
        })
        .collect();
    let mut pooled: Vec<f64> = seen.iter().map(|&(_, value)| value).collect();
    let pooled = Scale::from_some(&mut pooled);
    seen.sort_unstable_by_key(|&(cell, _)| cell);
    let mut scales = vec![pooled; cells];
    for group in seen.chunk_by(|one, next| one.0 == next.0) {
        if group.len() >= 5 {
            let mut own: Vec<f64> = group.iter().map(|&(_, value)| value).collect();
            scales[group[0].0 as usize] = Scale::from_some(&mut own);
        }
    }
    scales
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_never_fall_as_values_rise() {
        let ascending = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1e300,
            -3.0,
            -5e-324,
            0.0,
            5e-324,
            1e-300,
            0.999,
            1.0,
            1.001,
            2.0,
            1e9,
            f64::MAX,
            f64::INFINITY,
        ];
        let samples: [&[f64]; 6] = [
            &[],
            &[1.0],
            &[f64::MIN, f64::MAX],
            &[0.0, 5e-324, 1e-323],
            &[1.0, 2.0, 3.0, 9.0],
            &[f64::INFINITY, f64::NAN, 0.0],
        ];
        for some in samples {
            let scale = Scale::from_some(&mut some.to_vec());
            for bits in [OCTAVE_BITS, 6, 11] {
                let buckets = ascending.map(|value| scale.bucket(value, bits));
                if some.iter().all(|value| value.is_finite()) {
                    assert!(buckets.is_sorted(), "{some:?} {buckets:?}");
                }
                assert!(buckets.iter().all(|&bucket| bucket < 2 << bits));
                assert!(scale.bucket(f64::NAN, bits) < 2 << bits);
            }
        }
    }
}
