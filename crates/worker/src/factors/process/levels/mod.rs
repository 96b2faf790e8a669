//! What is asked for of each process factor.

mod allocators;
mod locales;
mod memory_nodes;
mod names;
mod number_lists;
mod padding;
mod permissions;
mod tunables;

use std::collections::BTreeMap;

use datamill_probe::{Limit, SchedulingPolicy};
use rustix::process::Resource;

pub use allocators::{ALLOCATORS, allocator_in_maps};
pub use locales::{find_locale, list_locales};
pub use memory_nodes::{memory_nodes, numa_refusal, policy_text, wanted_text};
pub use names::{LimitLevel, POLICIES, limit_name, user_name};
pub use number_lists::format_number_list;
pub use padding::padding_variables;
pub use permissions::{Permissions, usable_processors};
pub use tunables::{Tunables, differing_tunables, parse_tunables, tunables_refusal, tunables_text};

use crate::process::own_limit;
use allocators::Allocator;
use locales::is_locale_name;
use memory_nodes::NumaLevel;
use names::{CpuSetLevel, LONGEST_USER_NAME};
use padding::{LARGEST_PADDING, SMALLEST_PADDING};

/// Least stack: what the kernel guarantees to arguments and environment.
const LEAST_STACK: u64 = 128 * 1024;

/// Least private writable memory with which a shell still starts.
const LEAST_HEAP: u64 = 1 << 20;

/// Levels of the process factors, understood; an absent one leaves its factor as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessLevels {
    /// Levels as they were asked for, by factor name.
    asked: BTreeMap<String, String>,
    pub(super) aslr: Option<bool>,
    pub(super) env_padding: Option<u64>,
    pub(super) scheduler_policy: Option<SchedulingPolicy>,
    pub(super) niceness: Option<i32>,
    pub(super) cpu_set: Option<CpuSetLevel>,
    pub(super) numa_policy: Option<NumaLevel>,
    pub(super) stack_limit: Option<LimitLevel>,
    pub(super) heap_limit: Option<LimitLevel>,
    pub(super) user_name_length: Option<usize>,
    pub(super) locale: Option<String>,
    pub(super) allocator: Option<Allocator>,
    pub(super) libc_tunables: Option<Tunables>,
}

impl ProcessLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let parsed = match name {
            "aslr" => set(&mut self.aslr, parse_switch(level)),
            "env_padding" => set(&mut self.env_padding, parse_padding(level)),
            "scheduler_policy" => set(&mut self.scheduler_policy, choose(&POLICIES, level)),
            "niceness" => set(&mut self.niceness, parse_niceness(level)),
            "cpu_set" => {
                let set_of = CpuSetLevel::parse(level);
                set(
                    &mut self.cpu_set,
                    set_of.ok_or_else(|| {
                        "all, first, last, or a list of processors such as 0-1,3".to_owned()
                    }),
                )
            }
            "numa_policy" => {
                let policy = NumaLevel::parse(level);
                set(
                    &mut self.numa_policy,
                    policy.ok_or_else(|| {
                        "default, interleave, local, bind:NODE, preferred:NODE".to_owned()
                    }),
                )
            }
            "stack_limit" => set(&mut self.stack_limit, LimitLevel::parse(level, LEAST_STACK)),
            "heap_limit" => set(&mut self.heap_limit, LimitLevel::parse(level, LEAST_HEAP)),
            "user_name_length" => set(&mut self.user_name_length, parse_length(level)),
            "locale" => set(&mut self.locale, parse_locale(level)),
            "allocator" => set(&mut self.allocator, choose(&ALLOCATORS, level)),
            "libc_tunables" => {
                let tunables = parse_tunables(level);
                set(
                    &mut self.libc_tunables,
                    tunables.ok_or_else(|| {
                        "none, or settings as GLIBC_TUNABLES takes them, such as \
                         glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1"
                            .to_owned()
                    }),
                )
            }
            _ => return None,
        };
        if parsed.is_ok() {
            self.asked.insert(name.to_owned(), level.to_owned());
        }
        Some(parsed)
    }

    /// Whether any factor is asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// The level of a factor as it was asked for; empty when it was not.
    pub(super) fn asked(&self, name: &str) -> &str {
        self.asked.get(name).map_or("", String::as_str)
    }

    /// All levels as they were asked for, by factor name.
    pub(super) fn all_asked(&self) -> impl Iterator<Item = (&str, &str)> {
        let asked = self.asked.iter();
        asked.map(|(name, level)| (name.as_str(), level.as_str()))
    }

    /// Whether this host has what is asked for; the error says why not, without a full stop.
    pub fn check_on_this_host(&self) -> Result<(), String> {
        let refused = |refusal: Option<String>| refusal.map_or(Ok(()), Err);
        if let Some(policy) = self.scheduler_policy {
            refused(Permissions::find().policy_refusal(policy))?;
        }
        if let Some(niceness) = self.niceness {
            refused(Permissions::find().niceness_refusal(niceness))?;
        }
        if let Some(processors) = &self.cpu_set {
            processors.choose(&usable_processors())?;
        }
        if let Some(policy) = self.numa_policy {
            refused(numa_refusal())?;
            policy.choose(&memory_nodes())?;
        }
        if let Some(limit) = self.stack_limit {
            refused(limit_refusal(limit, Resource::Stack))?;
        }
        if let Some(limit) = self.heap_limit {
            refused(limit_refusal(limit, Resource::Data))?;
        }
        if let Some(locale) = &self.locale {
            find_locale(locale)?;
        }
        if let Some(allocator) = self.allocator {
            allocator.find_library()?;
        }
        if let Some(tunables) = &self.libc_tunables {
            refused(tunables_refusal(tunables))?;
        }
        Ok(())
    }
}

fn set<T>(place: &mut Option<T>, parsed: Result<T, String>) -> Result<(), String> {
    *place = Some(parsed?);
    Ok(())
}

fn choose<T: Copy>(known: &[(&str, T)], level: &str) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == level);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    })
}

fn parse_switch(level: &str) -> Result<bool, String> {
    choose(&[("on", true), ("off", false)], level)
}

fn parse_padding(level: &str) -> Result<u64, String> {
    let bytes = level
        .parse()
        .ok()
        .filter(|bytes| *bytes == 0 || (SMALLEST_PADDING..=LARGEST_PADDING).contains(bytes));
    bytes.ok_or_else(|| format!("0, or {SMALLEST_PADDING} to {LARGEST_PADDING} bytes"))
}

fn parse_niceness(level: &str) -> Result<i32, String> {
    let niceness = level.parse().ok().filter(|n| (-20..=19).contains(n));
    niceness
        .filter(|n: &i32| n.to_string() == level)
        .ok_or_else(|| "a whole number from -20 to 19".to_owned())
}

fn parse_length(level: &str) -> Result<usize, String> {
    let length = level
        .parse()
        .ok()
        .filter(|length| (1..=LONGEST_USER_NAME).contains(length));
    length.ok_or_else(|| format!("1 to {LONGEST_USER_NAME} characters"))
}

fn parse_locale(level: &str) -> Result<String, String> {
    if is_locale_name(level) {
        Ok(level.to_owned())
    } else {
        Err("the name of a locale, as `locale -a` lists them".to_owned())
    }
}

/// Why a limit cannot be had, if so: only root may raise a hard limit.
pub(super) fn limit_refusal(wanted: LimitLevel, resource: Resource) -> Option<String> {
    let wanted = match wanted.limit()? {
        Limit::Unlimited => u64::MAX,
        Limit::Bytes(bytes) => bytes,
    };
    let (_, hard) = own_limit(resource);
    (wanted > hard && !may_raise_limits()).then(|| {
        format!(
            "the hard limit of this worker is {hard} bytes, and raising it needs CAP_SYS_RESOURCE"
        )
    })
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

    fn parse(name: &str, level: &str) -> Result<(), String> {
        ProcessLevels::default().parse_level(name, level).unwrap()
    }

    #[test]
    fn every_factor_takes_its_levels() {
        for (name, levels) in [
            ("aslr", &["on", "off"] as &[&str]),
            ("env_padding", &["0", "6", "1048576"]),
            (
                "scheduler_policy",
                &["other", "batch", "idle", "fifo", "rr"],
            ),
            ("niceness", &["0", "-20", "19"]),
            ("cpu_set", &["all", "first", "last", "0", "0-1,3"]),
            (
                "numa_policy",
                &["default", "interleave", "local", "bind:0", "preferred:1"],
            ),
            ("stack_limit", &["default", "unlimited", "131072"]),
            ("heap_limit", &["default", "unlimited", "1048576"]),
            ("user_name_length", &["1", "4", "4096"]),
            ("locale", &["C", "C.UTF-8", "de_DE.UTF-8@euro"]),
            ("allocator", &["glibc", "jemalloc", "mimalloc", "tcmalloc"]),
            ("libc_tunables", &["none", "glibc.malloc.arena_max=1"]),
        ] {
            for level in levels {
                assert_eq!(parse(name, level), Ok(()), "{name} {level}");
            }
        }
    }

    #[test]
    fn what_is_no_level_is_refused_with_what_it_can_be() {
        for (name, level, hint) in [
            ("aslr", "ON", "on, off"),
            ("env_padding", "1", "6 to 1048576"),
            ("env_padding", "5", "6 to"),
            ("env_padding", "-1", "6 to"),
            ("env_padding", "1048577", "bytes"),
            (
                "scheduler_policy",
                "deadline",
                "other, batch, idle, fifo, rr",
            ),
            ("niceness", "20", "-20 to 19"),
            ("niceness", "+1", "-20 to 19"),
            ("cpu_set", "none", "such as 0-1,3"),
            ("numa_policy", "bind", "bind:NODE"),
            ("stack_limit", "8M", "131072 bytes"),
            ("stack_limit", "1024", "131072 bytes"),
            ("heap_limit", "0", "1048576 bytes"),
            ("user_name_length", "0", "1 to 4096"),
            ("locale", "a b", "locale -a"),
            ("allocator", "malloc", "glibc, jemalloc"),
            ("libc_tunables", "arena_max=1", "GLIBC_TUNABLES"),
        ] {
            let refused = parse(name, level).unwrap_err();
            assert!(refused.contains(hint), "{name} {level}: {refused}");
        }
    }

    #[test]
    fn a_factor_of_others_is_left_to_them() {
        assert_eq!(ProcessLevels::default().parse_level("governor", "x"), None);
    }

    fn check(name: &str, level: &str) -> Result<(), String> {
        let mut levels = ProcessLevels::default();
        levels.parse_level(name, level).unwrap().unwrap();
        levels.check_on_this_host()
    }

    #[test]
    fn a_level_that_this_host_lacks_is_refused_with_the_reason() {
        for (name, level, reason) in [
            ("cpu_set", "8000", "the processors that this worker may use"),
            ("locale", "xx_YY.UTF-8", "not installed"),
            ("numa_policy", "bind:8000", "node"),
        ] {
            let refused = check(name, level).unwrap_err();
            assert!(
                refused.contains(reason) || refused.contains("NUMA"),
                "{name} {level}: {refused}"
            );
        }
        for (name, level) in [
            ("cpu_set", "all"),
            ("locale", "C"),
            ("allocator", "glibc"),
            ("stack_limit", "131072"),
            ("heap_limit", "default"),
        ] {
            assert_eq!(check(name, level), Ok(()), "{name} {level}");
        }
    }
}
