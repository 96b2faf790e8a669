//! Level names of scheduling policies, limits, processors and user names.

use datamill_probe::{Limit, ProcessorSet, SchedulingPolicy};

use super::number_lists::{format_number_list, parse_number_list};

/// Names of scheduling policies, the usual one first.
pub const POLICIES: [(&str, SchedulingPolicy); 5] = [
    ("other", SchedulingPolicy::Other),
    ("batch", SchedulingPolicy::Batch),
    ("idle", SchedulingPolicy::Idle),
    ("fifo", SchedulingPolicy::Fifo),
    ("rr", SchedulingPolicy::RoundRobin),
];

/// Longest user name.
pub const LONGEST_USER_NAME: usize = 4096;

/// The name of so many characters that USER and LOGNAME get; `root` for 4.
pub fn user_name(length: usize) -> String {
    "root"
        .chars()
        .chain(std::iter::repeat('x'))
        .take(length)
        .collect()
}

/// What a limit can be asked to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitLevel {
    /// What a script has when nobody asks.
    Default,
    /// This one.
    Set(Limit),
}

impl LimitLevel {
    /// Understands `default`, `unlimited`, or bytes from `least` on.
    pub fn parse(text: &str, least: u64) -> Result<Self, String> {
        let most = i64::MAX as u64;
        match text {
            "default" => Ok(Self::Default),
            "unlimited" => Ok(Self::Set(Limit::Unlimited)),
            _ => match text.parse() {
                Ok(bytes) if (least..=most).contains(&bytes) && !text.starts_with('+') => {
                    Ok(Self::Set(Limit::Bytes(bytes)))
                }
                _ => Err(format!(
                    "default, unlimited, or {least} bytes and more, without a unit"
                )),
            },
        }
    }

    /// The limit to set; absent for the default.
    pub fn limit(self) -> Option<Limit> {
        match self {
            Self::Default => None,
            Self::Set(limit) => Some(limit),
        }
    }
}

/// A limit as a level names it; the largest number means none.
pub fn limit_name(bytes: u64) -> String {
    if bytes == u64::MAX {
        "unlimited".to_owned()
    } else {
        bytes.to_string()
    }
}

/// Which of the usable processors are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuSetLevel {
    /// All of them.
    All,
    /// The one with the least number.
    First,
    /// The one with the greatest number.
    Last,
    /// These.
    List(ProcessorSet),
}

impl CpuSetLevel {
    /// Understands a level; `None` when it is none.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::All),
            "first" => Some(Self::First),
            "last" => Some(Self::Last),
            list => parse_number_list(list).map(Self::List),
        }
    }

    /// The processors meant, out of the `usable` ones; the error says which of them are not.
    pub fn choose(&self, usable: &ProcessorSet) -> Result<ProcessorSet, String> {
        let set: ProcessorSet = match self {
            Self::All => usable.clone(),
            Self::First => usable.numbers().take(1).collect(),
            Self::Last => usable.numbers().last().into_iter().collect(),
            Self::List(set) => set.clone(),
        };
        if set.is_empty() {
            return Err("which processors this worker may use is unknown".to_owned());
        }
        if set.is_subset(usable) {
            return Ok(set);
        }
        Err(format!(
            "the processors that this worker may use are {}",
            format_number_list(usable)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_have_the_length_asked_for() {
        assert_eq!(user_name(4), "root");
        assert_eq!(user_name(1), "r");
        assert_eq!(user_name(300).len(), 300);
    }

    #[test]
    fn a_limit_is_a_word_or_bytes() {
        assert_eq!(
            LimitLevel::parse("4096", 4096),
            Ok(LimitLevel::Set(Limit::Bytes(4096)))
        );
        assert_eq!(
            LimitLevel::parse("unlimited", 1).unwrap().limit(),
            Some(Limit::Unlimited)
        );
        for text in ["4095", "8M", "-1", "+8192", "18446744073709551615", ""] {
            assert!(LimitLevel::parse(text, 4096).is_err(), "{text}");
        }
    }

    #[test]
    fn processors_are_chosen_among_the_usable_ones() {
        let usable: ProcessorSet = [2, 3, 5].into_iter().collect();
        let chosen = |text: &str| {
            CpuSetLevel::parse(text)
                .unwrap()
                .choose(&usable)
                .map(|set| format_number_list(&set))
        };
        assert_eq!(chosen("all").unwrap(), "2-3,5");
        assert_eq!(chosen("first").unwrap(), "2");
        assert_eq!(chosen("last").unwrap(), "5");
        assert_eq!(chosen("3,5").unwrap(), "3,5");
        assert!(chosen("0-3").unwrap_err().contains("2-3,5"));
        assert!(CpuSetLevel::First.choose(&ProcessorSet::default()).is_err());
    }
}
