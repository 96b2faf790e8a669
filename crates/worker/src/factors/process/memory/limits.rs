//! `stack_limit` and `heap_limit`: resource limits of `run.sh`.

use datamill_probe::{ChildStep, Limit, ProcessSettings};
use datamill_protocol::FactorOffer;
use rustix::process::Resource;

use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, offer_each, refuse};
use crate::factors::process::read_back::{Observer, Reading, witness_did};
use crate::process::own_limit;
use crate::resources::memory_ceiling;

/// The usual soft limit of a stack, as the launcher sets it.
const USUAL_STACK_BYTES: u64 = 8 << 20;

/// A limit as a factor.
pub struct LimitFactor {
    name: &'static str,
    /// What it limits, in words.
    of: &'static str,
    resource: Resource,
    /// Least bytes with which a program still starts.
    least: u64,
    /// What a trial is held to besides, as far as anything is.
    ceiling: fn() -> Option<u64>,
    /// The step of the launched process that sets it.
    step: ChildStep,
    /// Where it is set.
    place: fn(&mut ProcessSettings) -> &mut Option<Limit>,
    /// The soft limit of a process for which nobody asks, by its hard limit.
    default: fn(u64) -> u64,
}

/// The stack. Its least is what the kernel guarantees to arguments and environment.
pub const STACK_LIMIT: LimitFactor = LimitFactor {
    name: "stack_limit",
    of: "stack",
    resource: Resource::Stack,
    least: 128 * 1024,
    ceiling: || None,
    step: ChildStep::StackLimit,
    place: |settings| &mut settings.stack_limit,
    default: |hard| USUAL_STACK_BYTES.min(hard),
};

/// Private writable memory. Its least is that with which a shell still starts.
pub const HEAP_LIMIT: LimitFactor = LimitFactor {
    name: "heap_limit",
    of: "data segment",
    resource: Resource::Data,
    least: 1 << 20,
    ceiling: memory_ceiling,
    step: ChildStep::HeapLimit,
    place: |settings| &mut settings.heap_limit,
    default: |hard| own_limit(Resource::Data).0.min(hard),
};

impl ProcessFactor for LimitFactor {
    type Level = LimitLevel;
    /// Soft and hard limit in bytes; the largest number means none.
    type Seen = (u64, u64);

    fn name(&self) -> &'static str {
        self.name
    }

    fn offer(&self) -> FactorOffer {
        let unlimited = self.refusal(LimitLevel::Set(Limit::Unlimited));
        offer_each(
            self.name,
            [
                ("default".to_owned(), None),
                ("unlimited".to_owned(), unlimited),
            ],
        )
    }

    fn parse(&self, text: &str) -> Result<LimitLevel, String> {
        LimitLevel::parse(text, self.least)
    }

    fn check(&self, level: &LimitLevel) -> Result<(), String> {
        refuse(self.refusal(*level))
    }

    fn apply(&self, level: &LimitLevel, conditions: &mut RunConditions) -> Result<(), String> {
        *(self.place)(&mut conditions.settings) = level.limit();
        Ok(())
    }

    fn set_at(&self) -> Option<ChildStep> {
        Some(self.step)
    }

    fn observe(&self, _environment: &[u8]) -> (u64, u64) {
        own_limit(self.resource)
    }

    fn read_back(
        &self,
        asked: &Asked<'_, LimitLevel>,
        seen: &(u64, u64),
        _observer: &Observer<'_>,
    ) -> Reading {
        self.judge(asked, *seen)
    }
}

impl LimitFactor {
    /// Why a level cannot be set, if so: only root may raise a hard limit.
    fn refusal(&self, level: LimitLevel) -> Option<String> {
        if may_raise_limits() {
            return None;
        }
        let (_, hard) = own_limit(self.resource);
        refusal_below(level, hard, (self.ceiling)())
    }

    fn judge(&self, asked: &Asked<'_, LimitLevel>, (soft, hard): (u64, u64)) -> Reading {
        let expected = match asked.level.limit() {
            None => (self.default)(hard),
            Some(Limit::Unlimited) => u64::MAX,
            Some(Limit::Bytes(bytes)) => bytes,
        };
        let name = limit_name(soft);
        let unit = if soft == u64::MAX { "" } else { " bytes" };
        let evidence = format!("had a soft {} limit of {name}{unit}", self.of);
        witness_did(asked.named(soft == expected, name), evidence)
    }
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
    fn parse(text: &str, least: u64) -> Result<Self, String> {
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
    fn limit(self) -> Option<Limit> {
        match self {
            Self::Default => None,
            Self::Set(limit) => Some(limit),
        }
    }
}

/// A limit as a level names it; the largest number means none.
fn limit_name(bytes: u64) -> String {
    if bytes == u64::MAX {
        "unlimited".to_owned()
    } else {
        bytes.to_string()
    }
}

/// Why a level cannot be set by a process that may not raise limits.
fn refusal_below(level: LimitLevel, hard: u64, ceiling: Option<u64>) -> Option<String> {
    let wanted = match level.limit()? {
        Limit::Unlimited => u64::MAX,
        Limit::Bytes(bytes) => bytes,
    };
    let needed = "raising it needs CAP_SYS_RESOURCE";
    match ceiling {
        _ if wanted > hard => Some(format!(
            "the hard limit of this worker is {hard} bytes, and {needed}"
        )),
        Some(most) if wanted > most => Some(format!(
            "without a control group each process of a trial is held to {most} bytes here, and {needed}"
        )),
        _ => None,
    }
}

fn may_raise_limits() -> bool {
    const CAP_SYS_RESOURCE: u32 = 24;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> CAP_SYS_RESOURCE & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_level_above_what_trials_are_held_to_is_refused() {
        let unlimited = LimitLevel::Set(Limit::Unlimited);
        let little = LimitLevel::Set(Limit::Bytes(1 << 20));
        assert_eq!(refusal_below(unlimited, u64::MAX, None), None);
        assert_eq!(refusal_below(little, u64::MAX, Some(1 << 30)), None);
        assert_eq!(refusal_below(LimitLevel::Default, 0, Some(0)), None);
        let held = refusal_below(unlimited, u64::MAX, Some(1 << 30)).unwrap();
        assert!(held.contains("is held to 1073741824 bytes"), "{held}");
        assert!(refusal_below(unlimited, 1 << 30, None).is_some());
    }

    #[test]
    fn a_limit_is_named_as_asked_only_when_it_is_the_same() {
        let (usual, none) = ((8 << 20, u64::MAX), (u64::MAX, u64::MAX));
        for (factor, text, seen, expected) in [
            (&STACK_LIMIT, "default", usual, "default"),
            (&STACK_LIMIT, "8388608", usual, "8388608"),
            (&STACK_LIMIT, "unlimited", usual, "8388608"),
            (&HEAP_LIMIT, "default", (1 << 30, 1 << 30), "default"),
            (&HEAP_LIMIT, "unlimited", none, "unlimited"),
            (&HEAP_LIMIT, "1048576", none, "unlimited"),
        ] {
            let level = factor.parse(text).unwrap();
            let (observed, _) = factor.judge(&Asked { text, level }, seen);
            assert_eq!(
                observed.as_deref(),
                Some(expected),
                "{} {text}",
                factor.name
            );
        }
    }
}
