//! What a trial is kept from: made and listed before it is enclosed.

use std::path::{Path, PathBuf};

use datamill_host::Host;
use datamill_protocol::{IsolationKind, Needs, TrialSpec};

use super::confined::TrialIdentity;
use super::request::Confines;

/// What of the host one trial gets and does not get, as far as it takes making.
pub struct Keeping {
    identity: Option<TrialIdentity>,
    covered: Vec<PathBuf>,
}

impl Keeping {
    /// For a trial in one kind of world; the error is why this host cannot have that kind.
    pub fn of(kind: IsolationKind, spec: &TrialSpec) -> Result<Self, String> {
        let mut identity = make_identity(kind)?;
        if let Some(identity) = &mut identity {
            identity
                .prepare_folders(&spec.needs.folders)
                .map_err(refused)?;
        }
        Ok(Self {
            identity,
            covered: named_places(spec).collect(),
        })
    }

    /// The same for a build, whose changes are kept.
    pub fn of_build(kind: IsolationKind, spec: &TrialSpec) -> Result<Self, String> {
        let mut keeping = Self::of(kind, spec)?;
        if let Some(identity) = &mut keeping.identity {
            identity.prepare_changes().map_err(refused)?;
        }
        Ok(keeping)
    }

    /// For what is no trial, but runs in a world.
    pub fn usual(kind: IsolationKind) -> Result<Self, String> {
        Ok(Self {
            identity: make_identity(kind)?,
            covered: state_folders().collect(),
        })
    }

    /// What a world is asked for.
    pub fn confines<'a>(&'a self, needs: &'a Needs) -> Confines<'a> {
        Confines {
            identity: self.identity.as_ref(),
            needs: Some(needs),
            covered: &self.covered,
        }
    }
}

fn make_identity(kind: IsolationKind) -> Result<Option<TrialIdentity>, String> {
    match kind {
        IsolationKind::Confined => TrialIdentity::make().map(Some).map_err(refused),
        _ => Ok(None),
    }
}

fn refused(error: std::io::Error) -> String {
    format!("the kernel refused a user namespace: {error}")
}

/// Places that one trial must not see, besides those that no trial sees.
pub fn named_places(spec: &TrialSpec) -> impl Iterator<Item = PathBuf> {
    let named = spec.covered.iter().map(PathBuf::from);
    let folders = [&spec.scratch_dir, &spec.cache_dir, &spec.output_dir];
    let folders = folders.into_iter().map(PathBuf::from);
    named.chain(folders).chain(state_folders())
}

/// Where this worker keeps its state.
pub fn state_folders() -> impl Iterator<Item = PathBuf> {
    let state = Host::here().state().to_owned();
    // A folder at the root holds more than this worker's state.
    let is_own = state
        .parent()
        .is_some_and(|parent| parent != Path::new("/"));
    std::iter::once(state).filter(move |_| is_own)
}
