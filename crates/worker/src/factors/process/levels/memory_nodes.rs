//! `numa_policy`: which memory nodes there are, and what a level means on them.

use std::fs;

use datamill_probe::{BitSet, MemoryPolicy};

use super::number_lists::{format_number_list, parse_number, parse_number_list};
use crate::process::own_memory_policy;

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
    pub fn parse(text: &str) -> Option<Self> {
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
    pub fn choose(self, nodes: &BitSet) -> Result<MemoryPolicy, String> {
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
pub fn memory_nodes() -> BitSet {
    fs::read_to_string("/sys/devices/system/node/has_memory")
        .ok()
        .and_then(|text| parse_number_list(text.trim()))
        .unwrap_or_default()
}

/// Why no NUMA policy can be had at all, if so.
pub fn numa_refusal() -> Option<String> {
    own_memory_policy()
        .0
        .is_none()
        .then(|| "this kernel has no NUMA policies, or a security policy forbids them".to_owned())
}

/// A policy that was read back, by its kernel's number and nodes, as a level names it.
pub fn policy_text(mode: i32, nodes: &[u64]) -> String {
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
pub fn wanted_text(policy: &MemoryPolicy) -> String {
    let nodes = match policy {
        MemoryPolicy::Default | MemoryPolicy::Local => &BitSet::default(),
        MemoryPolicy::Interleave(nodes)
        | MemoryPolicy::Bind(nodes)
        | MemoryPolicy::Preferred(nodes) => nodes,
    };
    policy_text(policy.kernel_number(), nodes.words())
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
}
