//! `libc_tunables`: what glibc is asked for in GLIBC_TUNABLES, and what it made of that.

use std::process::Command;

use datamill_protocol::FactorOffer;

use super::NO_DYNAMIC_PROGRAM;
use super::loader::find_dynamic_program;
use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, offer_each, refuse};
use crate::factors::process::read_back::{Observer, Reading, witness_did};
use crate::process::{set_variable, variable_of};

const VARIABLE: &str = "GLIBC_TUNABLES";

/// Tunables that are offered beside `none`: without the cache of each thread, and with huge pages.
const OFFERED: [&str; 2] = ["glibc.malloc.tcache_count=0", "glibc.malloc.hugetlb=1"];

/// The factor.
pub struct LibcTunables;

impl ProcessFactor for LibcTunables {
    type Level = Tunables;
    /// The value of GLIBC_TUNABLES.
    type Seen = Option<String>;

    fn name(&self) -> &'static str {
        "libc_tunables"
    }

    fn offer(&self) -> FactorOffer {
        let levels = ["none"].into_iter().chain(OFFERED).map(|text| {
            let tunables = parse_tunables(text).unwrap_or_default();
            (text.to_owned(), tunables_refusal(&tunables))
        });
        offer_each(self.name(), levels)
    }

    fn parse(&self, text: &str) -> Result<Tunables, String> {
        parse_tunables(text).ok_or_else(|| {
            "none, or settings as GLIBC_TUNABLES takes them, such as \
             glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1"
                .to_owned()
        })
    }

    fn check(&self, level: &Tunables) -> Result<(), String> {
        refuse(tunables_refusal(level))
    }

    fn sets_variable(&self, name: &str) -> bool {
        name == VARIABLE
    }

    fn apply(&self, level: &Tunables, conditions: &mut RunConditions) -> Result<(), String> {
        if !level.is_empty() {
            set_variable(&mut conditions.environment, VARIABLE, &tunables_text(level));
        }
        Ok(())
    }

    fn observe(&self, environment: &[u8]) -> Option<String> {
        variable_of(environment, VARIABLE)
    }

    fn read_back(
        &self,
        asked: &Asked<'_, Tunables>,
        seen: &Option<String>,
        observer: &Observer<'_>,
    ) -> Reading {
        judge(asked, seen.as_deref(), observer)
    }
}

/// Whether the C library's loader took the tunables that reached the environment.
fn judge(asked: &Asked<'_, Tunables>, delivered: Option<&str>, observer: &Observer<'_>) -> Reading {
    let Some(delivered) = delivered else {
        return witness_did("none".to_owned(), format!("found no {VARIABLE}"));
    };
    if delivered != asked.text {
        return witness_did(
            delivered.to_owned(),
            format!("found {VARIABLE}={delivered}"),
        );
    }
    let Some((_, loader)) = find_dynamic_program() else {
        return (None, NO_DYNAMIC_PROGRAM.to_owned());
    };
    let name = loader.display();
    let listing = match observer.output_of(&loader, &[c"--list-tunables".to_owned()]) {
        Ok(listing) => listing,
        Err(cause) => {
            return (
                None,
                format!(
                    "{name} did not list its tunables, as that of glibc 2.33 and later does: {cause}."
                ),
            );
        }
    };
    let differing = differing_tunables(&asked.level, &listing);
    if differing.is_empty() {
        return (
            Some(asked.text.to_owned()),
            format!("{name}, launched like run.sh, listed its tunables with the values asked for."),
        );
    }
    let told: Vec<String> = differing
        .into_iter()
        .map(|(tunable, value)| match value {
            Some(value) => format!("{tunable}={value}"),
            None => format!("{tunable} unknown"),
        })
        .collect();
    let told = told.join(":");
    (
        Some(told.clone()),
        format!("{name}, launched like run.sh, did not take all tunables: it listed {told}."),
    )
}

/// Settings in their order; none leaves the variable away.
pub type Tunables = Vec<(String, String)>;

/// Understands `none`, or settings such as `glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1`.
fn parse_tunables(text: &str) -> Option<Tunables> {
    if text == "none" {
        return Some(Vec::new());
    }
    let mut tunables: Tunables = Vec::new();
    for part in text.split(':') {
        let (name, value) = part.split_once('=')?;
        let is_name = name.strip_prefix("glibc.").is_some_and(|rest| {
            !rest.is_empty()
                && rest
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
        });
        let is_value = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_name || !is_value || tunables.iter().any(|(known, _)| known == name) {
            return None;
        }
        tunables.push((name.to_owned(), value.to_owned()));
    }
    Some(tunables)
}

/// The text for GLIBC_TUNABLES.
fn tunables_text(tunables: &Tunables) -> String {
    let parts: Vec<String> = tunables
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    parts.join(":")
}

/// Settings that glibc did not take, given what its loader lists (`NAME: VALUE (min: …, max: …)`):
/// each name with the value that it has instead, or `None` when glibc does not know it.
fn differing_tunables(tunables: &Tunables, listing: &str) -> Vec<(String, Option<String>)> {
    tunables
        .iter()
        .filter_map(|(name, wanted)| match listed_value(name, listing) {
            Some(value) if is_same(wanted, value) => None,
            value => Some((name.clone(), value.map(str::to_owned))),
        })
        .collect()
}

/// Why settings cannot be made here, if they cannot.
fn tunables_refusal(tunables: &Tunables) -> Option<String> {
    if tunables.is_empty() {
        return None;
    }
    let Some(listing) = list_tunables() else {
        return Some(
            "the C library here cannot list its tunables, as glibc 2.33 and later can, and so they \
             could not be read back"
                .to_owned(),
        );
    };
    tunables
        .iter()
        .find(|(name, _)| listed_value(name, &listing).is_none())
        .map(|(name, _)| format!("the C library here does not know {name}"))
}

fn list_tunables() -> Option<String> {
    let (_, loader) = find_dynamic_program()?;
    let listing = Command::new(loader)
        .arg("--list-tunables")
        .env_clear()
        .output()
        .ok()?;
    let listed = listing.status.success();
    listed.then(|| String::from_utf8_lossy(&listing.stdout).into_owned())
}

fn listed_value<'a>(name: &str, listing: &'a str) -> Option<&'a str> {
    listing.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix(':')?;
        let end = rest.rfind(" (min:").unwrap_or(rest.len());
        Some(rest[..end].trim())
    })
}

fn is_same(wanted: &str, value: &str) -> bool {
    match (number(wanted), number(value)) {
        (Some(wanted), Some(value)) => wanted == value,
        _ => wanted == value,
    }
}

/// A number as glibc reads it: hexadecimal after `0x`, octal after `0`, else decimal.
fn number(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        u64::from_str_radix(hexadecimal, 16).ok()
    } else if text.len() > 1 && text.starts_with('0') {
        u64::from_str_radix(&text, 8).ok()
    } else {
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "glibc.malloc.arena_max: 0x1 (min: 0x1, max: 0xffffffffffffffff)\n\
                           glibc.rtld.dynamic_sort: 2 (min: 1, max: 2)\n\
                           glibc.cpu.hwcaps: -AVX2\n";

    fn differing(text: &str) -> Vec<(String, Option<String>)> {
        differing_tunables(&parse_tunables(text).unwrap(), LISTING)
    }

    #[test]
    fn what_glibc_took_does_not_differ() {
        for text in [
            "glibc.malloc.arena_max=1",
            "glibc.malloc.arena_max=0x1:glibc.rtld.dynamic_sort=02",
            "glibc.cpu.hwcaps=-AVX2",
            "none",
        ] {
            assert_eq!(differing(text), [], "{text}");
        }
    }

    #[test]
    fn what_glibc_refused_or_does_not_know_differs() {
        let refused = ("glibc.rtld.dynamic_sort".to_owned(), Some("2".to_owned()));
        assert_eq!(differing("glibc.rtld.dynamic_sort=9"), [refused]);
        let unknown = ("glibc.malloc.arena".to_owned(), None);
        assert_eq!(differing("glibc.malloc.arena=1"), [unknown]);
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for text in [
            "",
            "glibc.malloc.arena_max",
            "malloc.arena_max=1",
            "glibc.=1",
            "glibc.malloc.arena_max=",
            "glibc.malloc.arena_max=1:",
            "glibc.a=1:glibc.a=2",
            "glibc.a=1 2",
        ] {
            assert_eq!(parse_tunables(text), None, "{text}");
        }
    }

    #[test]
    fn settings_are_passed_on_as_they_were_given() {
        let text = "glibc.malloc.arena_max=0x1:glibc.malloc.hugetlb=1";
        assert_eq!(tunables_text(&parse_tunables(text).unwrap()), text);
    }
}
