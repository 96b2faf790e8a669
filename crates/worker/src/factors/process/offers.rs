//! What this host offers of the process factors.

use datamill_probe::Limit;
use datamill_protocol::{FactorOffer, FactorStage, MissingLevel};
use rustix::process::Resource;

use super::levels::limit_refusal;
use crate::factors::process::levels::{
    ALLOCATORS, LimitLevel, POLICIES, Permissions, find_locale, list_locales, memory_nodes,
    numa_refusal, parse_tunables, tunables_refusal,
};

/// Most locales that are listed; others that are installed can be asked for all the same.
const MOST_LOCALES: usize = 12;

/// Nicenesses that are offered, the usual one first.
const NICENESSES: [i32; 5] = [0, -20, -10, 10, 19];

/// Tunables that are offered beside `none`: without the cache of each thread, and with huge pages.
const TUNABLES: [&str; 2] = ["glibc.malloc.tcache_count=0", "glibc.malloc.hugetlb=1"];

/// What this host offers of the process factors.
pub fn offer_factors() -> Vec<FactorOffer> {
    let permissions = Permissions::find();
    vec![
        whole("aslr", &["on", "off"]),
        whole("env_padding", &["0", "10928"]),
        sorted(
            "scheduler_policy",
            POLICIES.map(|(name, policy)| {
                let refusal = permissions.policy_refusal(policy);
                (name.to_owned(), refusal)
            }),
        ),
        sorted(
            "niceness",
            NICENESSES.map(|niceness| {
                let refusal = permissions.niceness_refusal(niceness);
                (niceness.to_string(), refusal)
            }),
        ),
        offer_processors(permissions.processors.numbers().count()),
        offer_numa_policies(),
        offer_limit("stack_limit", Resource::Stack),
        offer_limit("heap_limit", Resource::Data),
        whole("user_name_length", &["4", "8", "16", "32"]),
        offer_locales(),
        sorted(
            "allocator",
            ALLOCATORS.map(|(name, allocator)| (name.to_owned(), allocator.find_library().err())),
        ),
        offer_tunables(),
    ]
}

fn whole(name: &str, levels: &[&str]) -> FactorOffer {
    FactorOffer::of(name, FactorStage::Process, levels)
}

/// Levels with the reason for each that is not here.
fn sorted(name: &str, levels: impl IntoIterator<Item = (String, Option<String>)>) -> FactorOffer {
    let mut offer = whole(name, &[]);
    for (level, refusal) in levels {
        match refusal {
            None => offer.levels.push(level),
            Some(reason) => offer.missing.push(MissingLevel { level, reason }),
        }
    }
    offer
}

fn offer_processors(usable: usize) -> FactorOffer {
    let alone = || (usable < 2).then(|| "this worker may use one processor alone".to_owned());
    sorted(
        "cpu_set",
        [
            ("all".to_owned(), None),
            ("first".to_owned(), alone()),
            ("last".to_owned(), alone()),
        ],
    )
}

fn offer_numa_policies() -> FactorOffer {
    if let Some(reason) = numa_refusal() {
        return FactorOffer::none("numa_policy", FactorStage::Process, &reason);
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
    sorted("numa_policy", levels)
}

fn offer_limit(name: &str, resource: Resource) -> FactorOffer {
    let unlimited = limit_refusal(LimitLevel::Set(Limit::Unlimited), resource);
    sorted(
        name,
        [
            ("default".to_owned(), None),
            ("unlimited".to_owned(), unlimited),
        ],
    )
}

fn offer_locales() -> FactorOffer {
    let mut levels = vec!["C.UTF-8".to_owned(), "C".to_owned()];
    let others = list_locales()
        .into_iter()
        .filter(|name| !levels.contains(name));
    let others: Vec<String> = others.collect();
    levels.extend(others.into_iter().take(MOST_LOCALES - 2));
    sorted(
        "locale",
        levels.into_iter().map(|name| {
            let refusal = find_locale(&name).err();
            (name, refusal)
        }),
    )
}

fn offer_tunables() -> FactorOffer {
    let levels = ["none"].into_iter().chain(TUNABLES).map(|text| {
        let tunables = parse_tunables(text).unwrap_or_default();
        (text.to_owned(), tunables_refusal(&tunables))
    });
    sorted("libc_tunables", levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::process::ProcessLevels;

    #[test]
    fn every_level_that_is_offered_can_be_asked_for_and_is_here() {
        for offer in offer_factors() {
            assert!(
                !offer.levels.is_empty() || !offer.reason.is_empty(),
                "{}",
                offer.name
            );
            for level in &offer.levels {
                let mut levels = ProcessLevels::default();
                assert_eq!(levels.parse_level(&offer.name, level), Some(Ok(())));
                assert_eq!(
                    levels.check_on_this_host(),
                    Ok(()),
                    "{} {level}",
                    offer.name
                );
            }
        }
    }

    #[test]
    fn every_level_that_is_missing_is_refused_when_it_is_asked_for() {
        for offer in offer_factors() {
            for missing in &offer.missing {
                assert!(!missing.reason.is_empty() && !missing.reason.ends_with('.'));
                let mut levels = ProcessLevels::default();
                assert_eq!(
                    levels.parse_level(&offer.name, &missing.level),
                    Some(Ok(()))
                );
                assert_eq!(
                    levels.check_on_this_host(),
                    Err(missing.reason.clone()),
                    "{}",
                    offer.name
                );
            }
        }
    }
}
