//! Random numbers that depend on a seed and a replicate alone.

/// SplitMix64's output function (Steele, Lea and Flood 2014).
pub(crate) fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// SplitMix64 from a start of its own for every replicate.
pub(crate) struct Draws {
    state: u64,
}

impl Draws {
    pub fn new(seed: u64, replicate: u64) -> Self {
        Self {
            state: scramble(scramble(seed) ^ replicate.wrapping_mul(0xD134_2543_DE82_EF95)),
        }
    }

    fn number(&mut self) -> u64 {
        let number = scramble(self.state);
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        number
    }

    /// A number below `bound`, without bias (Lemire 2019).
    pub fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.number()) * u128::from(bound);
            let rest = product as u64;
            // The remainder is below the bound: the division is hardly ever needed.
            if rest >= bound || rest >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    pub fn exponential(&mut self) -> f64 {
        -(((self.number() >> 11) as f64 + 0.5) / (1u64 << 53) as f64).ln()
    }
}
