//! Factors that the experiment brings along.

mod environment;
mod folder;
mod verbs;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use datamill_protocol::{
    FactorOffer, FactorStage, IsolationKind, MissingLevel, TrialLimits, TrialSpec, UserFactorSpec,
};

pub use environment::{
    EnvironmentFactor, set_environment_factors, set_failure, show_factor_folders,
};
pub use folder::UserFactor;
pub use verbs::EnclosedVerbs;

use crate::interrupt::Interrupt;
use crate::trouble::{Step, failure, io_failure};
use folder::{Scope, prepare_user_factor};

/// Levels of user-contributed factors, by name; only their own executables can judge them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserLevels {
    /// Level asked for, by factor name.
    pub levels: BTreeMap<String, String>,
}

impl UserLevels {
    /// Takes a level of one of these factors.
    pub fn parse_level(
        &mut self,
        factors: &[UserFactorSpec],
        name: &str,
        level: &str,
    ) -> Option<Result<(), String>> {
        factors.iter().find(|factor| factor.name == name)?;
        self.levels.insert(name.to_owned(), level.to_owned());
        Some(Ok(()))
    }
}

/// The factors that a trial's experiment brings along, with the levels that they are to have.
#[derive(Default)]
pub struct UserFactors {
    /// Those of the host.
    pub host: Vec<(UserFactor, String)>,
    /// Those of the environment of `run.sh`.
    pub environment: Vec<EnvironmentFactor>,
}

/// Unpacks and checks the factors that a trial sets.
pub fn prepare_user_factors(
    spec: &TrialSpec,
    levels: &UserLevels,
    interrupt: &Interrupt,
) -> Step<UserFactors> {
    let mut factors = UserFactors::default();
    for given in &spec.user_factors {
        let Some(level) = levels.levels.get(&given.name) else {
            continue;
        };
        let factor = prepare_user_factor(
            Path::new(&given.path),
            given.sha256.as_deref(),
            Path::new(&spec.cache_dir),
            &spec.limits,
            interrupt,
        )?;
        if factor.manifest.name != given.name {
            return Err(failure(
                datamill_protocol::Phase::Unpack,
                datamill_protocol::FailureKind::BadPackage,
                format!(
                    "The factor in {} calls itself {}, not {}.",
                    given.path, factor.manifest.name, given.name
                ),
                "Plan the experiment anew: the name in factor.toml changed.",
            ));
        }
        match factor.manifest.scope {
            Scope::Host => factors.host.push((factor, level.clone())),
            Scope::Environment => {
                let folder = File::open(&factor.root).map_err(io_failure(
                    datamill_protocol::Phase::Unpack,
                    "opening the folder of a factor",
                ))?;
                factors.environment.push(EnvironmentFactor {
                    manifest: factor.manifest,
                    level: level.clone(),
                    folder: folder.into(),
                });
            }
        }
    }
    Ok(factors)
}

/// The first of the factors that a trial sets which changes settings of the host, if there is one.
pub fn find_host_factor(spec: &TrialSpec) -> Step<Option<String>> {
    let interrupt = Interrupt::deaf().map_err(io_failure(
        datamill_protocol::Phase::Unpack,
        "preparing to look at a factor",
    ))?;
    for given in &spec.user_factors {
        let cache = Path::new(&spec.cache_dir);
        let sha256 = given.sha256.as_deref();
        let factor = prepare_user_factor(
            Path::new(&given.path),
            sha256,
            cache,
            &spec.limits,
            &interrupt,
        )?;
        if factor.manifest.scope == Scope::Host {
            return Ok(Some(given.name.clone()));
        }
    }
    Ok(None)
}

/// What this host offers of factors in folders or archives; the error names the factor that is none.
pub fn offer_user_factors(
    paths: &[PathBuf],
    interrupt: &Interrupt,
) -> Result<Vec<FactorOffer>, String> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let place = std::env::temp_dir().join(format!("datamill-factors-{}", std::process::id()));
    let offers = paths
        .iter()
        .map(|path| {
            let limits = listing_limits();
            let factor = prepare_user_factor(path, None, &place, &limits, interrupt)
                .map_err(|failure| format!("{} {}", failure.message, failure.remedy))?;
            Ok(offer_user_factor(&factor, &place.join("world")))
        })
        .collect();
    crate::scratch::remove_tree(&place).ok();
    offers
}

fn offer_user_factor(factor: &UserFactor, scratch: &Path) -> FactorOffer {
    let manifest = &factor.manifest;
    let stage = match manifest.scope {
        Scope::Host => FactorStage::Host,
        Scope::Environment => FactorStage::Process,
    };
    let is_root = rustix::process::geteuid().is_root();
    if manifest.scope == Scope::Host && !is_root {
        let reason = "needs root: it changes settings of the host";
        return FactorOffer::none(&manifest.name, stage, reason);
    }
    let kinds: &[IsolationKind] = if is_root {
        &[
            IsolationKind::Confined,
            IsolationKind::Overlay,
            IsolationKind::Plain,
        ]
    } else {
        &[IsolationKind::UserNamespace, IsolationKind::Plain]
    };
    // A weaker world will do for factors that change nothing of the host.
    let kinds = match manifest.scope {
        Scope::Host => &[IsolationKind::Overlay],
        Scope::Environment => kinds,
    };
    let mut offer = FactorOffer::none(&manifest.name, stage, "");
    for kind in kinds {
        let verbs = EnclosedVerbs {
            kind: *kind,
            scratch: scratch.to_owned(),
        };
        match verbs.levels(&factor.root, manifest.timeout_s) {
            Ok(levels) => {
                offer.levels = levels;
                offer.reason.clear();
                if manifest.scope == Scope::Host {
                    use datamill_host::UserVerbs;
                    match verbs.verify(&factor.root, manifest.timeout_s) {
                        Ok(level) => offer.current = Some(level),
                        Err(reason) => {
                            return FactorOffer::none(&manifest.name, stage, &reason);
                        }
                    }
                }
                break;
            }
            Err(reason) => offer.reason = reason,
        }
    }
    offer
}

/// Adds a level that is asked about and that the factor's `levels` does not list.
pub fn add_unlisted_level(offer: &mut FactorOffer, level: &str) {
    if offer.levels.iter().any(|known| known == level) {
        return;
    }
    let reason = if offer.reason.is_empty() {
        "its `levels` does not list it".to_owned()
    } else {
        offer.reason.clone()
    };
    offer.missing.push(MissingLevel {
        level: level.to_owned(),
        reason,
    });
}

/// Bounds on a factor that is only listed.
fn listing_limits() -> TrialLimits {
    TrialLimits {
        setup_timeout_s: 60.0,
        run_timeout_s: 60.0,
        collect_timeout_s: 60.0,
        output_bytes: 1 << 16,
        archive_bytes: 1 << 20,
        package_bytes: 64 << 20,
        package_files: 10_000,
        ..TrialLimits::default()
    }
}
