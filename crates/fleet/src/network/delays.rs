//! Delays that grow while something stays out of reach.

use std::time::Duration;

/// Longest delay between two tries.
const LONGEST: Duration = Duration::from_secs(300);

/// Tries to reach a broker that are never longer apart than two seconds: in half a minute a coordinator that was
/// killed is there again, and no worker is to sleep through that.
const QUICK_TRIES: u32 = 15;

/// Doubles from one second to five minutes, each shortened by up to a quarter so that a fleet that lost its
/// coordinator does not come back all at once.
#[derive(Debug)]
pub struct Delays {
    tries: u32,
    seed: u64,
    delay_of: fn(u32, u64) -> Duration,
}

impl Delays {
    /// Starts with the shortest; the same seed gives the same delays.
    pub fn new(seed: u64) -> Self {
        Self {
            tries: 0,
            seed,
            delay_of,
        }
    }

    /// The same for connections, which are tried every two seconds at first.
    pub fn of_connections(seed: u64) -> Self {
        Self {
            delay_of: connection_delay_of,
            ..Self::new(seed)
        }
    }

    /// How often a delay was asked for since the last success.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// The next delay.
    pub fn next(&mut self) -> Duration {
        let delay = (self.delay_of)(self.tries, self.seed);
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

/// The delay after so many failures to connect.
pub fn connection_delay_of(tries: u32, seed: u64) -> Duration {
    let seed = seed.wrapping_add(u64::from(tries));
    if tries < QUICK_TRIES {
        delay_of(tries.min(1), seed)
    } else {
        delay_of(tries - QUICK_TRIES + 2, seed)
    }
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
    fn a_broker_that_was_away_for_seconds_is_found_within_two() {
        let mut delays = Delays::of_connections(7);
        let grown: Vec<Duration> = (0..25).map(|_| delays.next()).collect();
        let quick: Duration = grown[..15].iter().sum();
        assert!(
            grown[..15]
                .iter()
                .all(|delay| *delay <= Duration::from_secs(2))
        );
        assert!(quick > Duration::from_secs(20));
        assert!(grown[15] > Duration::from_secs(2) && grown[15] <= Duration::from_secs(4));
        assert!(grown[24] >= Duration::from_secs(225) && grown[24] <= LONGEST);
        delays.reset();
        assert!(delays.next() <= Duration::from_secs(1));
    }

    #[test]
    fn workers_do_not_come_back_all_at_once() {
        assert_ne!(delay_of(5, 1), delay_of(5, 2));
    }
}
