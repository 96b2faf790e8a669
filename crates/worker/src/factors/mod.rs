//! The factors of a trial: what is asked for, who sets each, what this host offers.

mod fact;
mod host;
mod left_behind;
mod process;
mod user;
mod world;

use std::collections::BTreeMap;

use datamill_compiler::{WrapperSettings, find_triplet, lacks_build_level};
use datamill_host::{Host, HostLevels, lacks_level};
use datamill_protocol::{FactorFacts, FactorOffer, MissingLevel, TrialSpec};

pub use fact::fact;
pub use host::HostTurn;
#[cfg(test)]
pub use left_behind::tests::Abandoned;
pub use left_behind::{note_given_up, settle_abandoned, settle_state};
pub use process::{
    Observer, ProcessLevels, RunConditions, find_factor_set_at, launch_witness, observe_witness,
    prepare_command, prepare_run, read_back_handed, read_back_levels, read_back_process_factors,
};
pub use user::{
    EnvironmentFactor, UserFactors, UserLevels, add_unlisted_level, find_host_factor,
    offer_user_factors, prepare_user_factors, set_environment_factors, show_factor_folders,
};
pub use world::{
    BACKGROUND_LOAD, BeforeRun, BesideRun, LoadLook, Moment, WorldLevels, time_between,
};

/// Levels of one trial, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels {
    /// For the compiler wrapper.
    pub compiler: WrapperSettings,
    /// For the process of `run.sh`.
    pub process: ProcessLevels,
    /// For the trial's private world.
    pub world: WorldLevels,
    /// For the machine.
    pub host: HostLevels,
    /// For factors that the experiment brings along.
    pub user: UserLevels,
}

impl Levels {
    /// Understands the levels of a specification; the error names the factor and what it can be.
    pub fn parse(spec: &TrialSpec) -> Result<Self, String> {
        let mut parsed = Self::default();
        parsed.compiler.seed = spec.build_seed.unwrap_or(spec.seed);
        if let Some(arch) = &spec.build_for {
            let triplet = find_triplet(arch)
                .ok_or_else(|| format!("build_for: no tools are known that build for {arch}"))?;
            parsed.compiler.cross = Some(triplet.to_owned());
        }
        for factor in &spec.user_factors {
            if is_built_in(&factor.name) {
                return Err(format!(
                    "user_factors: {} is a factor of the worker's own; give yours another name",
                    factor.name
                ));
            }
        }
        for (name, level) in &spec.levels {
            match parsed.parse_level(spec, name, level) {
                Some(Ok(())) => {}
                Some(Err(choices)) => {
                    return Err(format!(
                        "levels.{name}: `{level}` is not a level; it can be {choices}"
                    ));
                }
                None => {
                    let known: Vec<String> = offer_factors()
                        .into_iter()
                        .map(|offer| offer.name)
                        .collect();
                    return Err(format!(
                        "levels.{name}: this worker has no such factor; it has {}",
                        known.join(", ")
                    ));
                }
            }
        }
        Ok(parsed)
    }

    /// Whether this host has a level of a built-in factor; the error says why not. Nothing else may
    /// have been asked for.
    fn check_level(&mut self, name: &str, level: &str) -> Result<(), String> {
        match self.parse_built_in(name, level) {
            Some(Err(choices)) => Err(format!("it can be {choices}")),
            Some(Ok(())) => self
                .process
                .check_on_this_host()
                .and_then(|()| lacks_build_level(name, level).map_or(Ok(()), Err))
                .and_then(|()| lacks_level(&Host::here(), name, level).map_or(Ok(()), Err)),
            None => Err("this worker has no such factor".to_owned()),
        }
    }

    fn parse_built_in(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        self.compiler
            .parse_level(name, level)
            .or_else(|| self.process.parse_level(name, level))
            .or_else(|| self.world.parse_level(name, level))
            .or_else(|| self.host.parse_level(name, level))
    }

    fn parse_level(
        &mut self,
        spec: &TrialSpec,
        name: &str,
        level: &str,
    ) -> Option<Result<(), String>> {
        self.user
            .parse_level(&spec.user_factors, name, level)
            .or_else(|| self.parse_built_in(name, level))
    }
}

/// Whether a factor of this name comes with the worker, whatever this host has of it.
pub fn is_built_in(name: &str) -> bool {
    Levels::default().parse_built_in(name, "").is_some()
}

/// Whether this host has a level of a built-in factor; the error says why not.
pub fn check_level(name: &str, level: &str) -> Result<(), String> {
    Levels::default().check_level(name, level)
}

/// What this host offers of every built-in factor.
pub fn offer_factors() -> Vec<FactorOffer> {
    let groups = [
        datamill_compiler::offer_factors(),
        process::offer_factors(),
        world::offer_factors(),
        datamill_host::offer_factors(&Host::here()),
    ];
    groups.into_iter().flatten().collect()
}

/// What this host offers of the built-in factors and of those of an experiment, with the levels that
/// are asked about and that it does not have among the missing ones.
pub fn offer_asked(asked: &[(String, String)], user: Vec<FactorOffer>) -> Vec<FactorOffer> {
    let mut offers = offer_factors();
    let built_in = offers.len();
    offers.extend(user);
    for (name, level) in asked {
        let found = offers.iter().position(|offer| offer.name == *name);
        let Some((place, offer)) = found.map(|place| (place, &mut offers[place])) else {
            continue;
        };
        let known = offer.levels.contains(level)
            || offer.missing.iter().any(|missing| missing.level == *level);
        if known {
            continue;
        }
        if place >= built_in {
            add_unlisted_level(offer, level);
        } else if let Err(reason) = Levels::default().check_level(name, level) {
            let level = level.clone();
            offer.missing.push(MissingLevel { level, reason });
        }
    }
    offers
}

/// Facts for the factors that a trial never came to read back.
pub fn add_unread_factors(levels: &BTreeMap<String, String>, factors: &mut Vec<FactorFacts>) {
    for (name, asked) in levels {
        if !factors.iter().any(|fact| fact.name == *name) {
            let evidence = "The trial ended before this factor could be read back.".to_owned();
            factors.push(fact(name, asked, None, evidence));
        }
    }
    factors.sort_by(|left, right| left.name.cmp(&right.name));
}
