//! What of a program's process is set before it is executed.

/// Settings of a process and all that it starts; an absent one is left as inherited, unless said
/// otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessSettings {
    /// Whether the kernel may randomise the address space.
    pub address_randomization: Option<bool>,
    /// Soft limit of the stack; absent means the usual 8 MiB, or the hard limit where that is less.
    pub stack_limit: Option<Limit>,
    /// Soft limit of private writable memory, `RLIMIT_DATA`.
    pub heap_limit: Option<Limit>,
    /// On which memory nodes pages are taken.
    pub memory_policy: Option<MemoryPolicy>,
    /// Processors that it may run on.
    pub processors: Option<ProcessorSet>,
    /// Niceness, from -20 to 19.
    pub niceness: Option<i32>,
    /// Scheduling policy.
    pub policy: Option<SchedulingPolicy>,
}

impl ProcessSettings {
    /// Randomised addresses, and nothing else asked for.
    pub const RANDOMIZED: Self = Self {
        address_randomization: Some(true),
        stack_limit: None,
        heap_limit: None,
        memory_policy: None,
        processors: None,
        niceness: None,
        policy: None,
    };
}

/// A soft resource limit. The hard limit stays, or is raised to the soft one where that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// None at all.
    Unlimited,
    /// At most so many bytes.
    Bytes(u64),
}

impl Limit {
    pub(crate) fn kernel_value(self) -> libc::rlim_t {
        match self {
            Self::Unlimited => libc::RLIM_INFINITY,
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// A scheduling policy, see `sched(7)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulingPolicy {
    /// The usual one.
    Other,
    /// The usual one for work that never waits for users.
    Batch,
    /// Only what nobody else wants.
    Idle,
    /// Real time, first in, first out, at [`REAL_TIME_PRIORITY`].
    Fifo,
    /// Real time, in turns, at [`REAL_TIME_PRIORITY`].
    RoundRobin,
}

/// Priority of programs under a real-time policy: the least, above everything that has none.
pub const REAL_TIME_PRIORITY: i32 = 1;

impl SchedulingPolicy {
    /// The kernel's number of the policy.
    pub const fn kernel_number(self) -> i32 {
        match self {
            Self::Other => libc::SCHED_OTHER,
            Self::Batch => libc::SCHED_BATCH,
            Self::Idle => libc::SCHED_IDLE,
            Self::Fifo => libc::SCHED_FIFO,
            Self::RoundRobin => libc::SCHED_RR,
        }
    }

    /// The static priority that goes with it.
    pub const fn priority(self) -> i32 {
        if self.is_real_time() {
            REAL_TIME_PRIORITY
        } else {
            0
        }
    }

    /// Whether it is a real-time policy.
    pub const fn is_real_time(self) -> bool {
        matches!(self, Self::Fifo | Self::RoundRobin)
    }
}

/// A NUMA policy, see `set_mempolicy(2)`; the numbers are those of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// The system's.
    Default,
    /// The node of the processor that asks.
    Local,
    /// These nodes in turns.
    Interleave(BitSet),
    /// These nodes and no others.
    Bind(BitSet),
    /// This node as long as it has free memory.
    Preferred(BitSet),
}

impl MemoryPolicy {
    /// The kernel's number of the policy.
    pub fn kernel_number(&self) -> i32 {
        match self {
            Self::Default => libc::MPOL_DEFAULT,
            Self::Preferred(_) => libc::MPOL_PREFERRED,
            Self::Bind(_) => libc::MPOL_BIND,
            Self::Interleave(_) => libc::MPOL_INTERLEAVE,
            Self::Local => libc::MPOL_LOCAL,
        }
    }

    pub(crate) fn nodes(&self) -> &[u64] {
        match self {
            Self::Default | Self::Local => &[],
            Self::Interleave(nodes) | Self::Bind(nodes) | Self::Preferred(nodes) => nodes.words(),
        }
    }
}

/// Processors, by number.
pub type ProcessorSet = BitSet;

/// A set of small numbers as the kernel takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// Words of 64 bits each, the least number first; none after the last one that is not 0.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Takes the kernel's words.
    pub fn from_words(words: &[u64]) -> Self {
        let used = words.iter().rposition(|word| *word != 0);
        Self {
            words: words[..used.map_or(0, |last| last + 1)].to_vec(),
        }
    }

    /// The numbers in the set, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.words).flat_map(|(index, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| index * 64 + bit)
        })
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether all of it is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.numbers()
            .all(|number| other.numbers().any(|known| known == number))
    }
}

impl FromIterator<u32> for BitSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut words = Vec::new();
        for number in numbers {
            let index = number as usize / 64;
            if words.len() <= index {
                words.resize(index + 1, 0);
            }
            words[index] |= 1u64 << (number % 64);
        }
        Self { words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_back_its_numbers_in_order() {
        let numbers = [0, 1, 63, 64, 200];
        let set: BitSet = numbers.into_iter().rev().collect();
        assert_eq!(set.numbers().collect::<Vec<_>>(), numbers);
        assert_eq!(set.words().len(), 4);
    }

    #[test]
    fn sets_from_longer_masks_are_equal() {
        let set: BitSet = [3].into_iter().collect();
        assert_eq!(BitSet::from_words(&[8, 0, 0]), set);
        assert_eq!(BitSet::from_words(&[0, 0]), BitSet::default());
    }

    #[test]
    fn a_subset_has_no_number_of_its_own() {
        let [one, both]: [BitSet; 2] =
            [[70].as_slice(), &[1, 70]].map(|list| list.iter().copied().collect());
        assert!(one.is_subset(&both) && !both.is_subset(&one));
    }
}
