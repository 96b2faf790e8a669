//! Order of doubles as integers, and which order statistic a quantile is.

/// Share of the number of observations within which `tau n` counts as an integer.
///
/// Relative to `n`, because what is inexact is `tau`: `0.1 * 30` misses 3 by `30 * 2^-57`, and a user's
/// 0.666666667 means two thirds. A quantile is thereby understood to nine decimals.
pub const RANK_TOLERANCE: f64 = 1e-9;

/// Number of observations (or weight) below the quantile: `tau n`, made an integer where it is meant as one.
pub fn target_below(tau: f64, n: f64) -> f64 {
    let product = tau * n;
    let integer = product.round();
    if (product - integer).abs() <= RANK_TOLERANCE * n {
        integer
    } else {
        product
    }
}

/// Rank of the order statistic that is the quantile: `ceil(tau n)`, from 1 to `n`.
///
/// # Panics
/// When `n` is zero.
pub fn quantile_rank(tau: f64, n: usize) -> usize {
    assert!(n > 0, "no quantile of nothing");
    // A cast from a double saturates, also for NaN.
    (target_below(tau, n as f64).ceil() as usize).clamp(1, n)
}

/// An integer whose order is that of the doubles; both zeros have the same, NaN lies outside infinity.
#[inline(always)]
pub(crate) fn key_of(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    bits ^ (((bits as i64 >> 63) as u64) | (1 << 63))
}

/// The double of a key.
#[inline(always)]
pub(crate) fn value_of(key: u64) -> f64 {
    f64::from_bits(key ^ (((!key as i64 >> 63) as u64) | (1 << 63)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_the_doubles_are() {
        let ascending = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            -5e-324,
            0.0,
            5e-324,
            1.0,
            1.0 + f64::EPSILON,
            f64::MAX,
            f64::INFINITY,
        ];
        assert!(
            ascending
                .windows(2)
                .all(|pair| key_of(pair[0]) < key_of(pair[1]))
        );
        assert!(
            ascending
                .iter()
                .all(|&value| value_of(key_of(value)) == value)
        );
        assert_eq!(key_of(-0.0), key_of(0.0));
    }

    #[test]
    fn a_product_that_is_meant_as_an_integer_is_one() {
        assert_eq!(quantile_rank(0.1, 30), 3);
        assert_eq!(quantile_rank(1.0 - 0.9, 30), 3);
        assert_eq!(quantile_rank(0.666666667, 3), 2);
        assert_eq!(quantile_rank(0.7, 10), 7);
        assert_eq!(quantile_rank(0.5, 5), 3);
        assert_eq!(quantile_rank(0.99, 10), 10);
        assert_eq!(quantile_rank(1e-12, 10), 1);
    }
}
