//! Seeds of levels that are drawn.

/// Seeds of trials are below this, and so are those that a level names.
const SEED_BOUND: u64 = 1 << 53;

/// Where a random level takes its numbers from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Randomness {
    /// The seed of the build.
    OfBuild,
    /// A seed that the level names.
    Named(u64),
}

impl Randomness {
    pub(super) fn seed(self, of_build: u64) -> u64 {
        match self {
            Self::OfBuild => of_build,
            Self::Named(seed) => seed,
        }
    }
}

/// One spelling for each seed, so that one level has one name.
pub(super) fn parse_seed(text: &str) -> Option<u64> {
    let seed: u64 = text.parse().ok()?;
    (seed < SEED_BOUND && seed.to_string() == text).then_some(seed)
}
