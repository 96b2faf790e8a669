//! `numa_policy`: on which memory nodes the pages of `run.sh` are taken.

use std::fs;

use datamill_probe::{BitSet, ChildStep, MemoryPolicy};
use datamill_protocol::{FactorOffer, FactorStage};

use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, offer_each, refuse};
use crate::factors::process::number_lists::{format_number_list, parse_number, parse_number_list};
use crate::factors::process::read_back::{Observer, Reading, witness_did};

/// The factor.
pub struct NumaPolicy;

impl ProcessFactor for NumaPolicy {
    type Level = NumaLevel;
    /// The kernel's number of the policy, absent where there is none, and its nodes in words of 64 bits.
    type Seen = (Option<i32>, Vec<u64>);

    fn name(&self) -> &'static str {
        "numa_policy"
    }

    fn offer(&self) -> FactorOffer {
        if let Some(reason) = numa_refusal() {
            return FactorOffer::none(self.name(), FactorStage::Process, &reason);
        }
        let nodes: Vec<u32> = memory_nodes().numbers().collect();
        let several = nodes.len() > 1;
        let alone = || (!several).then(|| "this machine has one memory node".to_owned());
        let mut levels = vec![
            ("default".to_owned(), None),
            ("interleave".to_owned(), alone()),
            ("local".to_owned(), None),
        ];
        for node in nodes.iter().take(8).filter(|_| several) {
            levels.push((format!("bind:{node}"), None));
            levels.push((format!("preferred:{node}"), None));
        }
        offer_each(self.name(), levels)
    }

    fn parse(&self, text: &str) -> Result<NumaLevel, String> {
        NumaLevel::parse(text)
            .ok_or_else(|| "default, interleave, local, bind:NODE, preferred:NODE".to_owned())
    }

    fn check(&self, level: &NumaLevel) -> Result<(), String> {
        refuse(numa_refusal())?;
        level.choose(&memory_nodes()).map(drop)
    }

    fn apply(&self, level: &NumaLevel, conditions: &mut RunConditions) -> Result<(), String> {
        conditions.settings.memory_policy = Some(level.choose(&memory_nodes())?);
        Ok(())
    }

    fn set_at(&self) -> Option<ChildStep> {
        Some(ChildStep::MemoryPolicy)
    }

    fn observe(&self, _environment: &[u8]) -> (Option<i32>, Vec<u64>) {
        own_memory_policy()
    }

    fn read_back(
        &self,
        asked: &Asked<'_, NumaLevel>,
        (mode, nodes): &(Option<i32>, Vec<u64>),
        observer: &Observer<'_>,
    ) -> Reading {
        let wanted = observer.conditions.settings.memory_policy.as_ref();
        judge(asked, wanted, *mode, nodes)
    }
}

fn judge<L>(
    asked: &Asked<'_, L>,
    wanted: Option<&MemoryPolicy>,
    mode: Option<i32>,
    nodes: &[u64],
) -> Reading {
    let Some(mode) = mode else {
        let evidence = "The kernel did not tell a witness process its NUMA policy.";
        return (None, evidence.to_owned());
    };
    let policy = policy_text(mode, nodes);
    let evidence = format!("had the NUMA policy {policy}");
    let is_same = wanted.is_some_and(|wanted| policy == wanted_text(wanted));
    witness_did(asked.named(is_same, policy), evidence)
}

/// What `numa_policy` can be asked to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumaLevel {
    /// The system's own policy.
    Default,
    /// All nodes in turns.
    Interleave,
    /// The node of the processor that asks.
    Local,
    /// One node and no other.
    Bind(u32),
    /// One node as long as it has free memory.
    Preferred(u32),
}

impl NumaLevel {
    /// Understands a level; `None` when it is none.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "default" => Some(Self::Default),
            "interleave" => Some(Self::Interleave),
            "local" => Some(Self::Local),
            _ => match text.split_once(':')? {
                ("bind", node) => parse_number(node).map(Self::Bind),
                ("preferred", node) => parse_number(node).map(Self::Preferred),
                _ => None,
            },
        }
    }

    /// The policy meant on a machine with these nodes; the error says why there is none.
    fn choose(self, nodes: &BitSet) -> Result<MemoryPolicy, String> {
        let count = nodes.numbers().count();
        let chosen = match self {
            Self::Default => return Ok(MemoryPolicy::Default),
            Self::Local => return Ok(MemoryPolicy::Local),
            Self::Interleave => nodes.clone(),
            Self::Bind(node) | Self::Preferred(node) => [node].into_iter().collect(),
        };
        if count < 2 {
            return Err("this machine has one memory node".to_owned());
        }
        if !chosen.is_subset(nodes) {
            let known = format_number_list(nodes);
            return Err(format!("the memory nodes of this machine are {known}"));
        }
        Ok(match self {
            Self::Preferred(_) => MemoryPolicy::Preferred(chosen),
            Self::Bind(_) => MemoryPolicy::Bind(chosen),
            _ => MemoryPolicy::Interleave(chosen),
        })
    }
}

/// Nodes with memory.
fn memory_nodes() -> BitSet {
    fs::read_to_string("/sys/devices/system/node/has_memory")
        .ok()
        .and_then(|text| parse_number_list(text.trim()))
        .unwrap_or_default()
}

/// Why no NUMA policy can be had at all, if so.
fn numa_refusal() -> Option<String> {
    own_memory_policy()
        .0
        .is_none()
        .then(|| "this kernel has no NUMA policies, or a security policy forbids them".to_owned())
}

/// A policy that was read back, by its kernel's number and nodes, as a level names it.
fn policy_text(mode: i32, nodes: &[u64]) -> String {
    let nodes = BitSet::from_words(nodes);
    let list = format_number_list(&nodes);
    match mode {
        libc::MPOL_DEFAULT => "default".to_owned(),
        libc::MPOL_LOCAL => "local".to_owned(),
        // As kernels before 5.14 tell the local policy.
        libc::MPOL_PREFERRED if nodes.is_empty() => "local".to_owned(),
        libc::MPOL_PREFERRED => format!("preferred:{list}"),
        libc::MPOL_BIND => format!("bind:{list}"),
        libc::MPOL_INTERLEAVE => format!("interleave:{list}"),
        other => format!("policy {other} on {list}"),
    }
}

/// A policy that was asked for, in the same words.
fn wanted_text(policy: &MemoryPolicy) -> String {
    let nodes = match policy {
        MemoryPolicy::Default | MemoryPolicy::Local => &BitSet::default(),
        MemoryPolicy::Interleave(nodes)
        | MemoryPolicy::Bind(nodes)
        | MemoryPolicy::Preferred(nodes) => nodes,
    };
    policy_text(policy.kernel_number(), nodes.words())
}

/// Words of a mask of as many nodes as the kernel can have.
const MASK_WORDS: usize = 128;

/// The kernel's number and nodes of this thread's NUMA policy.
fn own_memory_policy() -> (Option<i32>, Vec<u64>) {
    /// Flags beside the mode.
    const MODE: i32 = 0xff;
    let mut mode: libc::c_int = 0;
    let mut words = [0u64; MASK_WORDS];
    // SAFETY: the size is that of the words; no address is asked about.
    let told = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            words.as_mut_ptr(),
            MASK_WORDS * 64,
            std::ptr::null::<libc::c_void>(),
            0,
        )
    };
    if told == 0 {
        (Some(mode & MODE), words.to_vec())
    } else {
        (None, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, nodes: &[u32]) -> Result<String, String> {
        let nodes = nodes.iter().copied().collect();
        let policy = NumaLevel::parse(text).unwrap().choose(&nodes)?;
        Ok(wanted_text(&policy))
    }

    #[test]
    fn levels_mean_policies_on_the_nodes_that_there_are() {
        assert_eq!(chosen("interleave", &[0, 2]).unwrap(), "interleave:0,2");
        assert_eq!(chosen("bind:2", &[0, 2]).unwrap(), "bind:2");
        assert_eq!(chosen("preferred:0", &[0, 2]).unwrap(), "preferred:0");
        assert_eq!(chosen("local", &[0]).unwrap(), "local");
        assert_eq!(chosen("default", &[]).unwrap(), "default");
    }

    #[test]
    fn a_machine_with_one_node_has_nothing_to_choose() {
        for level in ["interleave", "bind:0", "preferred:0"] {
            assert_eq!(
                chosen(level, &[0]),
                Err("this machine has one memory node".to_owned())
            );
        }
        assert!(chosen("bind:1", &[0, 2]).unwrap_err().contains("0,2"));
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for text in ["bind", "bind:", "bind:x", "first:0", "preferred:0-1", ""] {
            assert_eq!(NumaLevel::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_numa_policy_on_other_nodes_is_another() {
        let wanted = MemoryPolicy::Interleave([0, 1].into_iter().collect());
        let asked = Asked {
            text: "interleave",
            level: (),
        };
        let read = |mode, nodes: &[u64]| judge(&asked, Some(&wanted), mode, nodes).0;
        let interleave = Some(libc::MPOL_INTERLEAVE);
        assert_eq!(read(interleave, &[3, 0]).as_deref(), Some("interleave"));
        assert_eq!(read(interleave, &[1]).as_deref(), Some("interleave:0"));
        assert_eq!(read(None, &[]), None);
    }
}
