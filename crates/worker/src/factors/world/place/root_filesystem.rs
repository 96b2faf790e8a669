//! `root_filesystem`: the file system that takes the changes of the trial.

use std::os::unix::fs::MetadataExt;

use datamill_protocol::{FactorFacts, FactorOffer, IsolationWanted, TrialSpec};

use crate::factors::fact::fact;
use crate::factors::world::factor::{
    WorldFactor, choices, missing, offer_all, offer_in_private_world, refuse_isolation,
};
use crate::factors::world::private_world::missing_world;
use crate::process::Witness;
use crate::world::{RootFilesystem, World, WorldSettings, filesystem_of};

/// The factor.
pub struct RootFilesystemFactor;

impl WorldFactor for RootFilesystemFactor {
    fn name(&self) -> &'static str {
        "root_filesystem"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = offer_all(self.name(), &[]);
        for filesystem in RootFilesystem::ALL {
            match filesystem.missing_reason() {
                None => offer.levels.push(filesystem.name().to_owned()),
                Some(reason) => offer.missing.push(missing(filesystem.name(), &reason)),
            }
        }
        offer_in_private_world(offer)
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        let Some(filesystem) = named(level) else {
            let names = RootFilesystem::ALL.map(RootFilesystem::name);
            return Err(names.join(", "));
        };
        match missing_filesystem(filesystem) {
            None => Ok(()),
            Some(reason) => {
                let offered = RootFilesystem::ALL
                    .into_iter()
                    .filter(|other| missing_filesystem(*other).is_none())
                    .map(RootFilesystem::name);
                Err(choices(offered, level, &reason))
            }
        }
    }

    fn check_spec(&self, level: Option<&str>, spec: &TrialSpec) -> Result<(), String> {
        match (spec.isolation, level.and_then(named)) {
            (IsolationWanted::Plain, Some(_)) => refuse_isolation(self.name(), "plain"),
            (IsolationWanted::UserNamespace, Some(RootFilesystem::Image(_))) => {
                refuse_isolation(self.name(), "user_namespace")
            }
            _ => Ok(()),
        }
    }

    fn shape_world(&self, level: &str, settings: &mut WorldSettings<'_>) {
        settings.root_filesystem = named(level);
    }

    fn observe(
        &self,
        level: &str,
        world: &World,
        _witness: Option<&Result<Witness, String>>,
    ) -> Option<FactorFacts> {
        Some(observe_filesystem(self.name(), level, world))
    }
}

fn named(level: &str) -> Option<RootFilesystem> {
    let mut all = RootFilesystem::ALL.into_iter();
    all.find(|it| it.name() == level)
}

/// Why this host cannot have a trial's root on such a file system.
fn missing_filesystem(filesystem: RootFilesystem) -> Option<String> {
    missing_world().or_else(|| filesystem.missing_reason())
}

fn observe_filesystem(name: &str, asked: &str, world: &World) -> FactorFacts {
    let look = || {
        let package = world.run_script.metadata()?.dev();
        let changes = world.space.metadata()?.dev();
        let kinds = (
            filesystem_of(&world.run_script)?,
            filesystem_of(&world.space)?,
        );
        Ok::<_, std::io::Error>((package == changes, kinds))
    };
    let (observed, evidence) = match look() {
        Ok((same, (package, changes))) => {
            let named = |kind: Option<&'static str>| kind.unwrap_or("another file system");
            let evidence = format!(
                "Below the overlay of the world, statfs says {} for the layer of changes and {} for run.sh of the package, on {} device.",
                named(changes),
                named(package),
                if same { "the same" } else { "another" }
            );
            let observed = match (same, changes) {
                (true, Some(kind)) => Some(kind),
                (false, Some("tmpfs")) => Some("memory"),
                _ => None,
            };
            (observed.map(str::to_owned), evidence)
        }
        Err(error) => (
            None,
            format!("The layers of the world could not be looked at: {error}."),
        ),
    };
    fact(name, asked, observed, evidence)
}
