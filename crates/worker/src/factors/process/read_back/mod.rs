//! Reading the process factors back.

mod loaded;
mod observer;

use datamill_probe::{BitSet, Limit};
use datamill_protocol::FactorFacts;
use rustix::process::Resource;

pub use observer::launch_witness;

use super::conditions::RunConditions;
use super::levels::ProcessLevels;
use crate::factors::fact::fact;
use crate::factors::process::levels::{
    LimitLevel, format_number_list, limit_name, policy_text, wanted_text,
};
use crate::interrupt::Interrupt;
use crate::process::{Witness, own_limit, policy_name};
use crate::world::World;
use loaded::{judge_allocator, judge_tunables};
use observer::{Observer, Reading};

/// The usual soft limit of a stack, as the launcher sets it.
const USUAL_STACK_BYTES: u64 = 8 << 20;

/// Reads back the factors that act on `run.sh`, by launching witnesses exactly as it will be launched.
pub fn read_back_process_factors(
    levels: &ProcessLevels,
    world: &World,
    conditions: &RunConditions,
    interrupt: &Interrupt,
) -> Vec<FactorFacts> {
    if levels.is_empty() {
        return Vec::new();
    }
    let observer = Observer {
        world,
        conditions,
        interrupt,
    };
    let witness = observer.launch_witness();
    let mut factors = match &witness {
        Ok(seen) => read_witness(levels, conditions, seen),
        Err(cause) => unseen(levels, cause),
    };
    if let (Some(_), Ok(first)) = (levels.aslr, &witness) {
        let (observed, evidence) = match observer.launch_witness() {
            Ok(second) => judge_randomization(first, &second, kernel_randomizes()),
            Err(cause) => (None, cause),
        };
        factors.push(fact("aslr", levels.asked("aslr"), observed, evidence));
    }
    if let (Some(_), Ok(_)) = (levels.allocator, &witness) {
        let (observed, evidence) = judge_allocator(&observer);
        factors.push(fact(
            "allocator",
            levels.asked("allocator"),
            observed,
            evidence,
        ));
    }
    if let (Some(tunables), Ok(seen)) = (&levels.libc_tunables, &witness) {
        let asked = levels.asked("libc_tunables");
        let (observed, evidence) = judge_tunables(&observer, seen, asked, tunables);
        factors.push(fact("libc_tunables", asked, observed, evidence));
    }
    factors
}

/// Facts of all factors asked for, when there is no witness.
fn unseen(levels: &ProcessLevels, cause: &str) -> Vec<FactorFacts> {
    levels
        .all_asked()
        .map(|(name, asked)| fact(name, asked, None, cause.to_owned()))
        .collect()
}

/// Facts of all factors that one witness shows.
fn read_witness(
    levels: &ProcessLevels,
    conditions: &RunConditions,
    seen: &Witness,
) -> Vec<FactorFacts> {
    let mut factors = Vec::new();
    let mut tell = |name: &str, read: &dyn Fn(&str) -> Reading| {
        let asked = levels.asked(name);
        let (observed, evidence) = read(asked);
        factors.push(fact(name, asked, observed, evidence));
    };
    if levels.env_padding.is_some() {
        tell("env_padding", &|_| {
            let bytes = seen.padding_bytes;
            said(
                bytes.to_string(),
                format!("found {bytes} bytes of padding in its environment"),
            )
        });
    }
    if levels.scheduler_policy.is_some() {
        tell("scheduler_policy", &|_| {
            let name = policy_name(seen.policy);
            let evidence = format!("ran under policy {name} at priority {}", seen.priority);
            said(name, evidence)
        });
    }
    if levels.niceness.is_some() {
        tell("niceness", &|_| {
            let niceness = seen.niceness;
            said(niceness.to_string(), format!("had niceness {niceness}"))
        });
    }
    if let Some(wanted) = &conditions.settings.processors {
        tell("cpu_set", &|asked| {
            let processors = BitSet::from_words(&seen.processors);
            let list = format_number_list(&processors);
            let evidence = format!("could run on processors {list}");
            said(named(asked, processors == *wanted, list), evidence)
        });
    }
    if let Some(wanted) = &conditions.settings.memory_policy {
        tell("numa_policy", &|asked| match seen.memory_policy {
            Some(mode) => {
                let policy = policy_text(mode, &seen.memory_nodes);
                let evidence = format!("had the NUMA policy {policy}");
                said(
                    named(asked, policy == wanted_text(wanted), policy),
                    evidence,
                )
            }
            None => (
                None,
                "The kernel did not tell a witness process its NUMA policy.".to_owned(),
            ),
        });
    }
    if let Some(wanted) = levels.stack_limit {
        tell("stack_limit", &|asked| {
            let (soft, hard) = seen.stack_limit;
            judge_limit(asked, wanted, soft, USUAL_STACK_BYTES.min(hard), "stack")
        });
    }
    if let Some(wanted) = levels.heap_limit {
        tell("heap_limit", &|asked| {
            let inherited = own_limit(Resource::Data).0;
            judge_limit(asked, wanted, seen.heap_limit, inherited, "data segment")
        });
    }
    if levels.user_name_length.is_some() {
        tell("user_name_length", &|_| judge_user_name(seen));
    }
    if levels.locale.is_some() {
        tell("locale", &|asked| {
            judge_locale(asked, &conditions.locale_place, seen)
        });
    }
    factors
}

/// What a witness did, as a whole sentence.
fn said(observed: String, did: String) -> Reading {
    (
        Some(observed),
        format!("A witness process launched like run.sh {did}."),
    )
}

/// The level as it was asked for when what is seen means the same.
fn named(asked: &str, is_same: bool, seen: String) -> String {
    if is_same { asked.to_owned() } else { seen }
}

fn judge_limit(asked: &str, wanted: LimitLevel, seen: u64, default: u64, of: &str) -> Reading {
    let expected = match wanted.limit() {
        None => default,
        Some(Limit::Unlimited) => u64::MAX,
        Some(Limit::Bytes(bytes)) => bytes,
    };
    let name = limit_name(seen);
    let unit = if seen == u64::MAX { "" } else { " bytes" };
    let evidence = format!("had a soft {of} limit of {name}{unit}");
    said(named(asked, seen == expected, name), evidence)
}

fn judge_user_name(seen: &Witness) -> Reading {
    let length = |name: &str| seen.variables.get(name).map(|value| value.chars().count());
    match (length("USER"), length("LOGNAME")) {
        (Some(user), Some(logname)) if user == logname => said(
            user.to_string(),
            format!("found {user} characters in each of USER and LOGNAME"),
        ),
        _ => (
            None,
            "A witness process launched like run.sh found USER and LOGNAME of different lengths."
                .to_owned(),
        ),
    }
}

fn judge_locale(asked: &str, place: &str, seen: &Witness) -> Reading {
    let variable = |name: &str| seen.variables.get(name).map(String::as_str);
    match (variable("LANG"), variable("LC_ALL")) {
        (Some(lang), Some(all)) if lang == all => {
            let place = if all == asked {
                place
            } else {
                "which was not asked for"
            };
            said(
                all.to_owned(),
                format!("found the locale {all} in LANG and LC_ALL; {place}"),
            )
        }
        (lang, all) => (
            None,
            format!(
                "A witness process launched like run.sh found LANG={} and LC_ALL={}.",
                lang.unwrap_or_default(),
                all.unwrap_or_default()
            ),
        ),
    }
}

fn judge_randomization(first: &Witness, second: &Witness, kernel_randomizes: bool) -> Reading {
    let stack_moved = first.stack != second.stack;
    let mapping_moved = first.mapping != second.mapping;
    let addresses = match (stack_moved, mapping_moved) {
        (true, true) => "different stack and mapping addresses",
        (false, false) => "the same stack and mapping addresses",
        (true, false) => "different stack addresses but the same mapping address",
        (false, true) => "the same stack address but different mapping addresses",
    };
    let switched_off = first.randomization_off && second.randomization_off;
    let setting = match (switched_off, kernel_randomizes) {
        (true, _) => "their personality has randomisation off",
        (false, true) => "randomisation is on in their personality and in the kernel",
        (false, false) => "kernel.randomize_va_space is 0",
    };
    let observed = match (stack_moved, mapping_moved) {
        (true, true) => Some("on".to_owned()),
        (false, false) if switched_off || !kernel_randomizes => Some("off".to_owned()),
        // Half of it moved, or nothing did although it should have: neither level.
        _ => None,
    };
    (
        observed,
        format!("Two witness processes launched like run.sh had {addresses}; {setting}."),
    )
}

fn kernel_randomizes() -> bool {
    let setting = std::fs::read_to_string("/proc/sys/kernel/randomize_va_space");
    setting.is_ok_and(|text| text.trim() != "0")
}

#[cfg(test)]
mod tests;
