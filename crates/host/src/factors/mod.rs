//! Factors that are settings of the host's kernel.

mod boot;
mod c_states;
mod file_setting;
mod huge_pages;
mod kernel_settings;
mod placement;
mod processors;
mod sampling_rate;
mod swap;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};

use datamill_protocol::{FactorFacts, FactorOffer};

use crate::changes::{Change, PlannedChange};
use crate::state::Host;

pub use boot::offer_with_boots;
pub use file_setting::FileSetting;

/// One factor of the host.
pub trait HostFactor {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What this host has of it.
    fn offer(&self) -> FactorOffer;
    /// Whether a text can be a level on some host; the error says what it can be.
    fn check(&self, level: &str) -> Result<(), String>;
    /// Changes that bring the host to the level from where it is; empty when it is there already.
    /// Changes nothing; the error says why this host cannot have the level.
    fn plan(&self, level: &str) -> Result<Vec<Change>, String>;
    /// What must stay open while the level is to hold; the kernel undoes it when it is closed.
    fn hold(&self, _level: &str) -> Result<Option<File>, String> {
        Ok(None)
    }
    /// The level that the host is at, named as it was asked for where it agrees, and how it was
    /// read, in one sentence.
    fn read_back(&self, asked: &str) -> Result<(String, String), String>;
}

/// All factors of the host, in the order in which they are set.
pub fn host_factors(host: &Host) -> Vec<Box<dyn HostFactor>> {
    vec![
        // First: a host that was not booted so has no other level to set.
        Box::new(boot::KernelRelease::new(host)),
        Box::new(boot::BootParameters::new(host)),
        Box::new(kernel_settings::autogroup(host)),
        Box::new(kernel_settings::clock_source(host)),
        Box::new(kernel_settings::ksm(host)),
        Box::new(kernel_settings::nmi_watchdog(host)),
        Box::new(huge_pages::HugePages::new(host)),
        Box::new(sampling_rate::SamplingRate::new(host)),
        Box::new(c_states::CStates::new(host)),
        Box::new(processors::governor(host)),
        Box::new(processors::CpuFrequency::new(host)),
        Box::new(processors::turbo(host)),
        Box::new(placement::IrqAffinity::new(host)),
        Box::new(placement::Shield::new(host)),
        Box::new(swap::Swap::new(host)),
        // Last: it takes processors away, and with them the files of their other settings.
        Box::new(processors::smt(host)),
    ]
}

/// What this host offers of its factors.
pub fn offer_factors(host: &Host) -> Vec<FactorOffer> {
    host_factors(host)
        .iter()
        .map(|factor| factor.offer())
        .collect()
}

/// Levels of the host's factors, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostLevels {
    /// Level asked for, by factor name.
    pub levels: BTreeMap<String, String>,
}

/// A factor, its level, and a sentence without a full stop that says what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelError {
    /// The factor.
    pub factor: String,
    /// Its level.
    pub level: String,
    /// File and cause.
    pub cause: String,
}

impl HostLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let factor = find_factor(&Host::here(), name)?;
        Some(factor.check(level).map(|()| {
            self.levels.insert(name.to_owned(), level.to_owned());
        }))
    }

    /// The list of processors that the trial has for itself once these levels are set; this process is on them.
    pub fn shielded_processors(&self) -> Option<String> {
        self.levels
            .get(placement::SHIELD)
            .filter(|level| *level != "off")?;
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some(line.trim().to_owned())
    }

    /// Changes that bring a host to these levels, in the order in which they are to be made.
    pub fn plan(&self, host: &Host) -> Result<Vec<PlannedChange>, LevelError> {
        let mut planned = Vec::new();
        self.for_each(host, |factor, level| {
            for change in factor.plan(level)? {
                planned.push(PlannedChange {
                    factor: factor.name().to_owned(),
                    level: level.to_owned(),
                    change,
                });
            }
            Ok(())
        })?;
        Ok(planned)
    }

    /// Opens what must stay open while the levels are to hold.
    pub fn hold(&self, host: &Host) -> Result<Vec<File>, LevelError> {
        let mut held = Vec::new();
        self.for_each(host, |factor, level| {
            held.extend(factor.hold(level)?);
            Ok(())
        })?;
        Ok(held)
    }

    /// Reads all of them back.
    pub fn read_back(&self, host: &Host) -> Vec<FactorFacts> {
        let mut facts = Vec::new();
        self.for_each(host, |factor, asked| {
            let (observed, evidence) = match factor.read_back(asked) {
                Ok((observed, evidence)) => (Some(observed), evidence),
                Err(cause) => (None, format!("It could not be read back: {cause}.")),
            };
            facts.push(FactorFacts {
                name: factor.name().to_owned(),
                asked: asked.to_owned(),
                observed,
                evidence,
            });
            Ok(())
        })
        .ok();
        facts
    }

    fn for_each(
        &self,
        host: &Host,
        mut act: impl FnMut(&dyn HostFactor, &str) -> Result<(), String>,
    ) -> Result<(), LevelError> {
        if self.levels.is_empty() {
            return Ok(());
        }
        for factor in host_factors(host) {
            let Some(level) = self.levels.get(factor.name()) else {
                continue;
            };
            act(factor.as_ref(), level).map_err(|cause| LevelError {
                factor: factor.name().to_owned(),
                level: level.clone(),
                cause,
            })?;
        }
        Ok(())
    }
}

/// Why a host does not have a level that it could have elsewhere; none when it has it, or when this
/// is no factor of the host.
pub fn lacks_level(host: &Host, name: &str, level: &str) -> Option<String> {
    let factor = find_factor(host, name)?;
    factor.check(level).ok()?;
    factor.plan(level).err()
}

fn find_factor(host: &Host, name: &str) -> Option<Box<dyn HostFactor>> {
    host_factors(host)
        .into_iter()
        .find(|factor| factor.name() == name)
}
