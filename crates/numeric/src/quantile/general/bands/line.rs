//! A line through rows of one cell with one covariate: which rows are near it, and what those above add up to.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::quantile::general::arrays::join_lanes;

/// The fit to rows of one cell, and the limits of the band about it.
pub(crate) struct Line {
    pub origin: f64,
    pub centre: f64,
    pub constant: f64,
    pub slope: f64,
    pub limits: (f64, f64),
}

/// Eight sums, and how many numbers were added up.
type Sums = ([f64; 8], u64);

impl Line {
    /// Calls `near` with the place of each row between the limits, in order; returns the number of rows above
    /// them and the sum of their covariates, in the order in which `add_up` adds.
    pub fn cut(
        &self,
        values: &[f64],
        covariate: &[f64],
        mut near: impl FnMut(usize),
    ) -> (f64, f64) {
        let (eights, last) = values.as_chunks::<8>();
        let (covariate_eights, last_covariate) = covariate.as_chunks::<8>();
        let mut sums = ([0.0; 8], 0);
        let parts = eights.chunks(8).zip(covariate_eights.chunks(8));
        for (part, (values, covariate)) in parts.enumerate() {
            let mut bits = self.cut_part(values, covariate, &mut sums);
            while bits != 0 {
                near(part * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        let (mut count, mut sum) = (sums.1, 0.0);
        for (at, (&value, &covariate)) in last.iter().zip(last_covariate).enumerate() {
            let (residual, own) = self.look(value, covariate);
            if residual > self.limits.1 {
                count += 1;
                sum += own;
            } else if residual >= self.limits.0 {
                near(eights.len() * 8 + at);
            }
        }
        (count as f64, join_lanes(sums.0) + sum)
    }

    /// The residual, and the covariate less its centre.
    #[inline(always)]
    fn look(&self, value: f64, covariate: f64) -> (f64, f64) {
        let own = covariate - self.centre;
        let fitted = self.constant + self.slope * own;
        ((value - self.origin) - fitted, own)
    }

    /// Up to 64 rows: bits of those between the limits.
    #[inline(always)]
    fn cut_part(&self, values: &[[f64; 8]], covariate: &[[f64; 8]], sums: &mut Sums) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was asked whether it can.
            return unsafe { self.cut_with_avx2(values, covariate, sums) };
        }
        self.cut_plainly(values, covariate, sums)
    }

    fn cut_plainly(&self, values: &[[f64; 8]], covariate: &[[f64; 8]], sums: &mut Sums) -> u64 {
        let mut bits = 0;
        for (at, (values, covariate)) in values.iter().zip(covariate).enumerate() {
            for lane in 0..8 {
                let (residual, own) = self.look(values[lane], covariate[lane]);
                if residual > self.limits.1 {
                    sums.0[lane] += own;
                    sums.1 += 1;
                } else if residual >= self.limits.0 {
                    bits |= 1 << (8 * at + lane);
                }
            }
        }
        bits
    }

    /// The same four rows at a time, to the same bits: written out, as compilers take the bytes apart instead.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn cut_with_avx2(&self, values: &[[f64; 8]], covariate: &[[f64; 8]], sums: &mut Sums) -> u64 {
        let (origin, centre) = (_mm256_set1_pd(self.origin), _mm256_set1_pd(self.centre));
        let (constant, slope) = (_mm256_set1_pd(self.constant), _mm256_set1_pd(self.slope));
        let (low, high) = (_mm256_set1_pd(self.limits.0), _mm256_set1_pd(self.limits.1));
        let load = |four: [f64; 4]| _mm256_setr_pd(four[0], four[1], four[2], four[3]);
        let halves = |eight: &[f64; 8]| {
            let &[a, b, c, d, e, f, g, h] = eight;
            [load([a, b, c, d]), load([e, f, g, h])]
        };
        let mut held = halves(&sums.0);
        let mut bits = 0;
        for (at, (values, covariate)) in values.iter().zip(covariate).enumerate() {
            let (values, covariate) = (halves(values), halves(covariate));
            for half in 0..2 {
                let own = _mm256_sub_pd(covariate[half], centre);
                let fitted = _mm256_add_pd(constant, _mm256_mul_pd(slope, own));
                let residual = _mm256_sub_pd(_mm256_sub_pd(values[half], origin), fitted);
                let above = _mm256_cmp_pd::<_CMP_GT_OQ>(residual, high);
                let within = _mm256_andnot_pd(above, _mm256_cmp_pd::<_CMP_GE_OQ>(residual, low));
                held[half] = _mm256_add_pd(held[half], _mm256_and_pd(above, own));
                sums.1 += u64::from(_mm256_movemask_pd(above).count_ones());
                bits |= (_mm256_movemask_pd(within) as u64) << (8 * at + 4 * half);
            }
        }
        for (lanes, held) in sums.0.as_chunks_mut::<4>().0.iter_mut().zip(held) {
            // SAFETY: there is room for four numbers.
            unsafe { _mm256_storeu_pd(lanes.as_mut_ptr(), held) };
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::scramble;

    fn draw(seed: u64) -> f64 {
        (scramble(seed) >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    }

    fn line(limits: (f64, f64)) -> Line {
        Line {
            origin: 0.125,
            centre: 0.0625,
            constant: -0.03,
            slope: 0.4,
            limits,
        }
    }

    #[test]
    fn rows_are_listed_and_added_up_as_one_by_one() {
        for count in [0, 1, 7, 8, 63, 64, 65, 200, 1024] {
            let values: Vec<f64> = (0..count).map(draw).collect();
            let covariate: Vec<f64> = (0..count).map(|at| draw(at + 5000)).collect();
            for limits in [
                (-0.1, 0.2),
                (0.0, 0.0),
                (f64::NEG_INFINITY, 0.1),
                (-0.1, f64::INFINITY),
            ] {
                let line = line(limits);
                let (mut near, mut above) = (Vec::new(), Vec::new());
                let (number, sum) = line.cut(&values, &covariate, |at| near.push(at));
                let mut expected = Vec::new();
                for (at, (&value, &covariate)) in values.iter().zip(&covariate).enumerate() {
                    let (residual, own) = line.look(value, covariate);
                    if residual > limits.1 {
                        above.push(own);
                    } else if residual >= limits.0 {
                        expected.push(at);
                    }
                }
                assert_eq!(near, expected);
                assert_eq!(number, above.len() as f64);
                assert!((sum - above.iter().sum::<f64>()).abs() < 1e-12 * (1.0 + number));
            }
        }
    }

    #[test]
    fn four_rows_at_a_time_give_the_bits_of_one_at_a_time() {
        let eights: Vec<[f64; 8]> = (0..8)
            .map(|at| std::array::from_fn(|lane| draw(at * 8 + lane as u64)))
            .collect();
        let others: Vec<[f64; 8]> = (0..8)
            .map(|at| std::array::from_fn(|lane| draw(900 + at * 8 + lane as u64)))
            .collect();
        let line = line((-0.05, 0.1));
        let (mut plain, mut found) = (([0.0; 8], 0), ([0.0; 8], 0));
        let bits = line.cut_plainly(&eights, &others, &mut plain);
        assert_eq!(line.cut_part(&eights, &others, &mut found), bits);
        assert!(bits != 0 && plain.1 > 0);
        assert_eq!(found.0.map(f64::to_bits), plain.0.map(f64::to_bits));
        assert_eq!(found.1, plain.1);
    }
}
