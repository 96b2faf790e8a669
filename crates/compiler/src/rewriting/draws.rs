//! Numbers drawn from a seed, the same on every machine.

/// A stream of numbers that follows from a seed and the names that it is for (SplitMix64 over FNV-1a).
#[derive(Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new<'a>(seed: u64, names: impl IntoIterator<Item = &'a [u8]>) -> Self {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let mut state: u64 = 0xcbf2_9ce4_8422_2325;
        let mut take = |byte: u8| state = (state ^ u64::from(byte)).wrapping_mul(PRIME);
        seed.to_le_bytes().into_iter().for_each(&mut take);
        for name in names {
            name.iter().copied().for_each(&mut take);
            // No file name has this byte: it keeps `a`, `bc` apart from `ab`, `c`.
            take(0);
        }
        Self(state)
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, each equally likely.
    fn draw_below(&mut self, bound: u64) -> u64 {
        let unfair = (u64::MAX % bound + 1) % bound;
        loop {
            let drawn = self.draw();
            if drawn <= u64::MAX - unfair {
                return drawn % bound;
            }
        }
    }

    /// Puts the items in an order of which each is equally likely (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.draw_below(last as u64 + 1);
            items.swap(last, chosen as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(seed: u64, names: &[&str]) -> String {
        let mut items: Vec<&str> = names.to_vec();
        Draws::new(seed, names.iter().map(|name| name.as_bytes())).shuffle(&mut items);
        items.join(" ")
    }

    // The orders come from an implementation in another language.
    #[test]
    fn the_same_seed_and_names_give_the_same_order_on_every_machine() {
        assert_eq!(
            shuffled(7, &["a.o", "b.o", "c.o", "d.o"]),
            "a.o b.o d.o c.o"
        );
        assert_eq!(
            shuffled(8, &["a.o", "b.o", "c.o", "d.o"]),
            "c.o d.o a.o b.o"
        );
    }

    #[test]
    fn names_are_told_apart() {
        let first = |names: &[&str]| Draws::new(1, names.iter().map(|n| n.as_bytes())).draw();
        assert_ne!(first(&["a", "bc"]), first(&["ab", "c"]));
        assert_ne!(first(&[]), first(&[""]));
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..24_000 {
            *counts
                .entry(shuffled(seed, &["a.o", "b.o", "c.o", "d.o"]))
                .or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // 1000 expected of each; the 99.9% point of chi-squared with 23 degrees of freedom is 49.7.
        let distance: f64 = counts
            .values()
            .map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0)
            .sum();
        assert!(distance < 49.7, "{distance}");
    }
}
