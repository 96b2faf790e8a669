//! `cpu_set`: the processors that `run.sh` may run on.

use datamill_probe::{BitSet, ChildStep, ProcessorSet};
use datamill_protocol::FactorOffer;

use super::permissions::{own_processors, usable_processors};
use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, offer_each};
use crate::factors::process::number_lists::{format_number_list, parse_number_list};
use crate::factors::process::read_back::{Observer, Reading, witness_did};

/// The factor.
pub struct CpuSet;

impl ProcessFactor for CpuSet {
    type Level = CpuSetLevel;
    /// Processors in words of 64 bits; empty when unknown.
    type Seen = Vec<u64>;

    fn name(&self) -> &'static str {
        "cpu_set"
    }

    fn offer(&self) -> FactorOffer {
        let usable = usable_processors().numbers().count();
        let alone = || (usable < 2).then(|| "this worker may use one processor alone".to_owned());
        offer_each(
            self.name(),
            [
                ("all".to_owned(), None),
                ("first".to_owned(), alone()),
                ("last".to_owned(), alone()),
            ],
        )
    }

    fn parse(&self, text: &str) -> Result<CpuSetLevel, String> {
        CpuSetLevel::parse(text)
            .ok_or_else(|| "all, first, last, or a list of processors such as 0-1,3".to_owned())
    }

    fn check(&self, level: &CpuSetLevel) -> Result<(), String> {
        level.choose(&usable_processors()).map(drop)
    }

    fn apply(&self, level: &CpuSetLevel, conditions: &mut RunConditions) -> Result<(), String> {
        conditions.settings.processors = Some(level.choose(&usable_processors())?);
        Ok(())
    }

    fn set_at(&self) -> Option<ChildStep> {
        Some(ChildStep::Processors)
    }

    fn observe(&self, _environment: &[u8]) -> Vec<u64> {
        own_processors()
    }

    fn read_back(
        &self,
        asked: &Asked<'_, CpuSetLevel>,
        seen: &Vec<u64>,
        observer: &Observer<'_>,
    ) -> Reading {
        judge(
            asked,
            observer.conditions.settings.processors.as_ref(),
            seen,
        )
    }
}

fn judge<L>(asked: &Asked<'_, L>, wanted: Option<&ProcessorSet>, seen: &[u64]) -> Reading {
    let processors = BitSet::from_words(seen);
    let list = format_number_list(&processors);
    let evidence = format!("could run on processors {list}");
    witness_did(asked.named(Some(&processors) == wanted, list), evidence)
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
    fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::All),
            "first" => Some(Self::First),
            "last" => Some(Self::Last),
            list => parse_number_list(list).map(Self::List),
        }
    }

    /// The processors meant, out of the `usable` ones; the error says which of them are not.
    fn choose(&self, usable: &ProcessorSet) -> Result<ProcessorSet, String> {
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

    #[test]
    fn processors_are_named_as_asked_only_when_they_are_the_same() {
        let wanted: ProcessorSet = [1, 2].into_iter().collect();
        let read = |text, words: &[u64]| {
            let asked = Asked { text, level: () };
            judge(&asked, Some(&wanted), words).0
        };
        assert_eq!(read("2,1", &[6, 0]).as_deref(), Some("2,1"));
        assert_eq!(read("all", &[6]).as_deref(), Some("all"));
        assert_eq!(read("2,1", &[7]).as_deref(), Some("0-2"));
    }
}
