//! `env_padding`: variables of exactly as many bytes as asked for.

use std::ffi::CString;

use datamill_protocol::FactorOffer;

use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, offer_all};
use crate::factors::process::read_back::{Observer, Reading, witness_did};

/// Start of the names of padding variables; one letter follows.
const PADDING_NAME: &str = "PAD";

/// Longest string that the kernel passes to a program, its NUL included.
const LONGEST_STRING: u64 = 128 * 1024;

/// Name, `=` and NUL of a padding variable: what one takes with an empty value.
const SMALLEST_PADDING: u64 = PADDING_NAME.len() as u64 + 3;

/// Most padding that fits beside arguments and environment with the usual stack limit.
const LARGEST_PADDING: u64 = 1 << 20;

/// Variables that add exactly so many bytes to an environment, as `execve` takes them.
fn padding_variables(bytes: u64) -> Vec<CString> {
    let mut left = bytes;
    let mut variables = Vec::new();
    for letter in ('a'..='z').chain('A'..='Z') {
        if left == 0 {
            break;
        }
        let mut taken = left.min(LONGEST_STRING);
        if (1..SMALLEST_PADDING).contains(&(left - taken)) {
            // Leaves enough for the last variable to exist.
            taken -= SMALLEST_PADDING;
        }
        // Room from the start: the launcher's own memory is the least peak that can be measured.
        let mut variable = Vec::with_capacity(taken as usize);
        variable.extend(format!("{PADDING_NAME}{letter}=").into_bytes());
        variable.resize(taken as usize - 1, b'x');
        // No byte of it is NUL.
        variables.extend(CString::new(variable));
        left -= taken;
    }
    variables
}

/// The factor.
pub struct EnvPadding;

impl ProcessFactor for EnvPadding {
    /// Bytes.
    type Level = u64;
    /// Bytes of padding in the environment that the kernel delivered.
    type Seen = u64;

    fn name(&self) -> &'static str {
        "env_padding"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &["0", "10928"])
    }

    fn parse(&self, text: &str) -> Result<u64, String> {
        let bytes = text
            .parse()
            .ok()
            .filter(|bytes| *bytes == 0 || (SMALLEST_PADDING..=LARGEST_PADDING).contains(bytes));
        bytes.ok_or_else(|| format!("0, or {SMALLEST_PADDING} to {LARGEST_PADDING} bytes"))
    }

    fn sets_variable(&self, name: &str) -> bool {
        is_padding_name(name)
    }

    fn reserves_variable(&self, name: &str) -> bool {
        is_padding_name(name)
    }

    fn variable_remedy(&self) -> &'static str {
        "Rename the variable; PAD and one letter are taken."
    }

    fn apply(&self, level: &u64, conditions: &mut RunConditions) -> Result<(), String> {
        conditions.last_variables.extend(padding_variables(*level));
        Ok(())
    }

    fn read_back_handed(&self, environment: &[u8]) -> Option<Reading> {
        let bytes = padding_bytes(environment);
        let evidence = format!(
            "The environment that was handed to execve has {bytes} bytes of padding; no process was asked what it got."
        );
        Some((Some(bytes.to_string()), evidence))
    }

    fn observe(&self, environment: &[u8]) -> u64 {
        padding_bytes(environment)
    }

    fn read_back(&self, _asked: &Asked<'_, u64>, seen: &u64, _observer: &Observer<'_>) -> Reading {
        witness_did(
            seen.to_string(),
            format!("found {seen} bytes of padding in its environment"),
        )
    }
}

/// Bytes of the padding variables among NUL-terminated strings, their NULs included.
fn padding_bytes(environment: &[u8]) -> u64 {
    environment
        .split_inclusive(|byte| *byte == 0)
        .filter(|string| is_padding(string))
        .map(|string| string.len() as u64)
        .sum()
}

fn is_padding(string: &[u8]) -> bool {
    matches!(string.strip_prefix(PADDING_NAME.as_bytes()), Some([letter, b'=', ..]) if letter.is_ascii_alphabetic())
}

/// Whether a variable of the package would be taken for padding.
fn is_padding_name(name: &str) -> bool {
    is_padding(format!("{name}=").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(variables: &[CString]) -> u64 {
        variables
            .iter()
            .map(|variable| variable.as_bytes_with_nul().len() as u64)
            .sum()
    }

    #[test]
    fn padding_adds_exactly_the_bytes_asked_for() {
        let around = |bytes: u64| (bytes - 8..=bytes + 8).collect::<Vec<_>>();
        let mut sizes = vec![0, 6, 7, 100, 4096, 10_928, LARGEST_PADDING];
        sizes.extend(around(LONGEST_STRING));
        sizes.extend(around(3 * LONGEST_STRING));
        for bytes in sizes {
            let variables = padding_variables(bytes);
            assert_eq!(bytes_of(&variables), bytes);
            assert!(
                variables
                    .iter()
                    .all(|variable| variable.as_bytes_with_nul().len() <= LONGEST_STRING as usize)
            );
        }
    }

    #[test]
    fn only_padding_variables_count() {
        assert_eq!(
            padding_bytes(b"PATH=/bin\0PADa=xx\0PADDING=1\0PADb=\0PAD=1\0"),
            8 + 6
        );
    }
}
