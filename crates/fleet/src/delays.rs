//! Delays that grow while something stays out of reach.

use std::time::Duration;

/// Longest delay between two tries.
const LONGEST: Duration = Duration::from_secs(300);

/// Doubles from one second to five minutes, each shortened by up to a quarter so that a fleet that lost its
/// coordinator does not come back all at once.
#[derive(Debug)]
pub struct Delays {
    tries: u32,
    seed: u64,
}

impl Delays {
    /// Starts with the shortest; the same seed gives the same delays.
    pub fn new(seed: u64) -> Self {
        Self { tries: 0, seed }
    }

    /// How often a delay was asked for since the last success.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// The next delay.
    pub fn next(&mut self) -> Duration {
        let delay = delay_of(self.tries, self.seed);
        self.tries = self.tries.saturating_add(1);
        delay
    }

    /// It worked: the next delay is the shortest again.
    pub fn reset(&mut self) {
        self.tries = 0;
    }
}

/// The delay after so many failures.
pub fn delay_of(tries: u32, seed: u64) -> Duration {
    let whole = Duration::from_secs(1 << tries.min(9)).min(LONGEST);
    // The finaliser of SplitMix64, by which neighbouring numbers give unlike ones.
    let mut mixed = seed.wrapping_add(u64::from(tries).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let share = (mixed >> 40) as f64 / f64::from(1u32 << 24);
    whole.mul_f64(1.0 - share / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_minutes_and_start_over() {
        let mut delays = Delays::new(7);
        let grown: Vec<Duration> = (0..12).map(|_| delays.next()).collect();
        assert!(grown[0] >= Duration::from_millis(750) && grown[0] <= Duration::from_secs(1));
        assert!(grown[11] >= Duration::from_secs(225) && grown[11] <= LONGEST);
        assert!(grown[4] > grown[1]);
        delays.reset();
        assert!(delays.next() <= Duration::from_secs(1));
    }

    #[test]
    fn workers_do_not_come_back_all_at_once() {
        assert_ne!(delay_of(5, 1), delay_of(5, 2));
    }
}
