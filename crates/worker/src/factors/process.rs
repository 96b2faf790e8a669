//! Factors that act on the process of `run.sh`: what is asked for, how it is set, how it is read back.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Seek};
use std::time::Duration;

use datamill_probe::{Launch, launch};
use datamill_protocol::{FactorFacts, FactorOffer, FactorStage};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::interrupt::Interrupt;
use crate::witness::{PADDING_NAME, Witness};
use crate::world::World;

/// Longest string that the kernel passes to a program, its NUL included.
const LONGEST_STRING: u64 = 128 * 1024;

/// Name, `=` and NUL of a padding variable: what one takes with an empty value.
const SMALLEST_PADDING: u64 = PADDING_NAME.len() as u64 + 3;

/// Most padding that fits beside arguments and environment with the usual stack limit.
const LARGEST_PADDING: u64 = 1 << 20;

/// Levels of the process factors, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessLevels {
    /// Whether address-space randomisation is asked to be on; absent leaves it to the host.
    pub aslr: Option<bool>,
    /// Bytes asked to be added to the environment of `run.sh`.
    pub env_padding: Option<u64>,
}

impl ProcessLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        match name {
            "aslr" => match level {
                "on" | "off" => self.aslr = Some(level == "on"),
                _ => return Some(Err("on, off".to_owned())),
            },
            "env_padding" => match level.parse() {
                Ok(bytes)
                    if bytes == 0 || (SMALLEST_PADDING..=LARGEST_PADDING).contains(&bytes) =>
                {
                    self.env_padding = Some(bytes);
                }
                _ => {
                    return Some(Err(format!(
                        "0, or {SMALLEST_PADDING} to {LARGEST_PADDING} bytes"
                    )));
                }
            },
            _ => return None,
        }
        Some(Ok(()))
    }

    /// Variables that add exactly the bytes asked for to an environment, as `execve` takes them.
    pub fn padding(&self) -> Vec<CString> {
        padding_variables(self.env_padding.unwrap_or(0))
    }
}

/// What this host offers of the process factors.
pub fn offer_factors() -> Vec<FactorOffer> {
    vec![
        FactorOffer::of("aslr", FactorStage::Process, &["on", "off"]),
        FactorOffer::of("env_padding", FactorStage::Process, &["0", "10928"]),
    ]
}

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

/// Reads back the factors that act on `run.sh`, by launching witnesses exactly as it will be launched.
pub fn read_back_process_factors(
    levels: &ProcessLevels,
    world: &World,
    environment: &[CString],
    interrupt: &Interrupt,
) -> Vec<FactorFacts> {
    let mut factors = Vec::new();
    if levels.aslr.is_none() && levels.env_padding.is_none() {
        return factors;
    }
    let witness = || launch_witness(levels, world, environment, interrupt);
    let first = witness();
    if let Some(on) = levels.aslr {
        let asked = if on { "on" } else { "off" };
        let (observed, evidence) = match (&first, witness()) {
            (Ok(first), Ok(second)) => judge_randomization(first, &second, kernel_randomizes()),
            (Err(cause), _) => (None, cause.clone()),
            (_, Err(cause)) => (None, cause),
        };
        factors.push(fact("aslr", asked, observed.map(str::to_owned), evidence));
    }
    if let Some(bytes) = levels.env_padding {
        let (observed, evidence) = match &first {
            Ok(seen) => (
                Some(seen.padding_bytes.to_string()),
                format!(
                    "A witness process launched like run.sh found {} bytes of padding in its environment.",
                    seen.padding_bytes
                ),
            ),
            Err(cause) => (None, cause.clone()),
        };
        factors.push(fact("env_padding", &bytes.to_string(), observed, evidence));
    }
    factors
}

pub(super) fn fact(
    name: &str,
    asked: &str,
    observed: Option<String>,
    evidence: String,
) -> FactorFacts {
    FactorFacts {
        name: name.to_owned(),
        asked: asked.to_owned(),
        observed,
        evidence,
    }
}

fn judge_randomization(
    first: &Witness,
    second: &Witness,
    kernel_randomizes: bool,
) -> (Option<&'static str>, String) {
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
        (true, true) => Some("on"),
        (false, false) if switched_off || !kernel_randomizes => Some("off"),
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

fn launch_witness(
    levels: &ProcessLevels,
    world: &World,
    environment: &[CString],
    interrupt: &Interrupt,
) -> Result<Witness, String> {
    let cannot = |cause: String| format!("No witness process could be observed: {cause}.");
    let mut stdout: File = memfd_create("witness", MemfdFlags::CLOEXEC)
        .map_err(|error| cannot(error.to_string()))?
        .into();
    let writer = stdout
        .try_clone()
        .map_err(|error| cannot(error.to_string()))?;
    let stderr = File::options()
        .write(true)
        .open("/dev/null")
        .map_err(|error| cannot(error.to_string()))?;
    let measured = launch(Launch {
        program: &world.tools.join("datamill-worker"),
        arguments: &[c"witness".to_owned()],
        environment,
        directory: &world.root,
        address_randomization: levels.aslr,
        with_counters: false,
        timeout: Some(Duration::from_secs(10)),
        output_bytes: 4096,
        stdout: writer,
        stderr,
        family: world.family,
        interrupt: Some(interrupt),
    })
    .map_err(|error| cannot(error.to_string()))?;
    if measured.facts.exit_code != Some(0) {
        let tail = String::from_utf8_lossy(&measured.stderr_tail)
            .trim()
            .to_owned();
        return Err(cannot(format!("it failed: {tail}")));
    }
    let mut text = String::new();
    stdout
        .rewind()
        .and_then(|()| stdout.read_to_string(&mut text))
        .map_err(|error| cannot(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| cannot(error.to_string()))
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
    fn a_padding_too_small_to_be_a_variable_is_refused() {
        for bytes in ["1", "5", "-1", "many", "1048577"] {
            let parsed = ProcessLevels::default().parse_level("env_padding", bytes);
            assert!(parsed.unwrap().is_err(), "{bytes}");
        }
    }

    fn witness(stack: u64, mapping: u64, randomization_off: bool) -> Witness {
        Witness {
            stack,
            mapping,
            randomization_off,
            padding_bytes: 0,
        }
    }

    #[test]
    fn equal_addresses_alone_do_not_prove_that_randomisation_is_off() {
        let still = witness(1, 1, false);
        assert_eq!(judge_randomization(&still, &still, true).0, None);
        assert_eq!(judge_randomization(&still, &still, false).0, Some("off"));
    }

    #[test]
    fn moving_addresses_show_randomisation_even_where_it_was_asked_to_be_off() {
        let (first, second) = (witness(1, 1, true), witness(2, 2, true));
        assert_eq!(judge_randomization(&first, &second, true).0, Some("on"));
    }
}
