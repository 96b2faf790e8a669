//! Shared builds of guests: made in one guest, kept packed, and unpacked by the guests that measure them.
//!
//! The worker never opens what is in one: a package wrote it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use datamill_protocol::digest::hash_file;
use datamill_protocol::{
    BuildFacts, BuildPolicy, FailureKind, GuestFacts, IsolationKind, Phase, TrialSpec,
};
use serde::{Deserialize, Serialize};

use super::job::{GuestJob, place_trial};
use super::probe::{Guests, find_guests};
use super::run::{Handed, Run, run_job};
use super::troubles::{forged, no_guest};
use super::trust::{check_build, clip_failure};
use crate::build::{
    BUILD_ARTIFACT, IDENTITY_DIGITS, Kept, builds_folder, find_or_make, name_build, storing,
};
use crate::factors::Levels;
use crate::interrupt::Interrupt;
use crate::scratch::remove_tree;
use crate::trouble::{Step, failure};
use crate::world::impossible_failure;

/// File of a stored build that says how it was made.
const FACTS: &str = "guest-build.json";

/// A build for guests.
#[derive(Debug, Clone)]
pub struct GuestBuild {
    /// The packed build.
    pub archive: PathBuf,
    /// Its digest, by which guests know it.
    pub sha256: String,
    /// What was seen when it was made; absent for one from another machine.
    pub facts: Option<BuildFacts>,
    /// The guest that made it; absent for one from another machine, or kept by a worker that did not note it.
    pub guest: Option<GuestFacts>,
}

#[derive(Serialize, Deserialize)]
enum Stored {
    Made {
        sha256: String,
        facts: Box<BuildFacts>,
        guest: Option<GuestFacts>,
    },
    /// Why it cannot be shared.
    Unshared(String),
}

/// Finds the build that a trial is to measure, or makes it in a guest of its own, `anew` in place of a kept one. The
/// inner error is one sentence that says why it cannot be shared.
pub fn obtain_build(
    spec: &TrialSpec,
    levels: &Levels,
    guests: &Guests,
    anew: bool,
    interrupt: &Interrupt,
) -> Step<Result<GuestBuild, String>> {
    let Some(package) = &spec.package.sha256 else {
        return Ok(Err("the package is not an archive".to_owned()));
    };
    if !Path::new(&spec.package.path).is_file() {
        return Ok(Err("the package's archive is gone".to_owned()));
    }
    let key = name_build(package, spec, levels, IsolationKind::Guest);
    let make = |unfinished: &Path| {
        let stored = make_build(spec, guests, unfinished, interrupt)?;
        let text = serde_json::to_vec(&stored).map_err(|error| storing(spec)(error.into()))?;
        fs::write(unfinished.join(FACTS), text).map_err(storing(spec))?;
        match remove_tree(&builds_folder(spec).join(&key)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(storing(spec)(error)),
            _ => Ok(()),
        }
    };
    let read = |folder: &Path| if anew { None } else { read_stored(folder) };
    match find_or_make(spec, &key, interrupt, read, make)? {
        Kept::Found(found) => Ok(found),
        Kept::Made(folder, ()) => read_stored(&folder)
            .map(|found| found.map(made_now))
            .ok_or_else(|| forged("its build cannot be read")),
    }
}

fn made_now(build: GuestBuild) -> GuestBuild {
    GuestBuild {
        facts: build.facts.map(|facts| BuildFacts {
            reused: false,
            ..facts
        }),
        ..build
    }
}

fn make_build(
    spec: &TrialSpec,
    guests: &Guests,
    target: &Path,
    interrupt: &Interrupt,
) -> Step<Stored> {
    let (placed, shipped) = place_trial(spec);
    let job = GuestJob::Build(Box::new(TrialSpec {
        build: BuildPolicy::Shared,
        ..placed
    }));
    let run = Run {
        guests,
        spec,
        executions: 0,
        output: target,
    };
    let Handed {
        told,
        circumstances,
    } = run_job(&job, &shipped, &run, interrupt)?;
    if let Some(mut failure) = told.failure {
        clip_failure(&mut failure);
        if failure.kind == FailureKind::BadPackage && failure.phase == Phase::Setup {
            return Ok(Stored::Unshared(failure.message));
        }
        return Err(failure);
    }
    let mut facts = told
        .build
        .ok_or_else(|| forged("it made no build and does not say why"))?;
    check_build(&mut facts, &circumstances).map_err(|cause| forged(&cause))?;
    let packed = target.join(BUILD_ARTIFACT);
    let (_, sha256) =
        hash_file(&packed).map_err(|_| forged("it made no build and does not say why"))?;
    let sha256 = sha256.to_string();
    facts.id = sha256[..IDENTITY_DIGITS].to_owned();
    Ok(Stored::Made {
        sha256,
        facts: Box::new(facts),
        guest: Some(circumstances.guest),
    })
}

/// Makes the build of a trial alone.
pub fn build_in_guest(
    spec: &TrialSpec,
    levels: &Levels,
    guests: &Guests,
    anew: bool,
    interrupt: &Interrupt,
) -> Step<GuestBuild> {
    let obtained = obtain_build(spec, levels, guests, anew, interrupt);
    remove_tree(Path::new(&spec.scratch_dir)).ok();
    obtained?.map_err(|cause| {
        failure(
            Phase::Setup,
            FailureKind::BadPackage,
            cause,
            "Change setup.sh to add files only, or choose build = \"fresh\".",
        )
    })
}

/// The same for `build-package`: what is known of the build.
pub fn build_package_in_guest(
    spec: &TrialSpec,
    levels: &Levels,
    interrupt: &Interrupt,
) -> Step<BuildFacts> {
    let guests = find_guests(interrupt).map_err(|cause| no_guest(&cause))?;
    build_in_guest(spec, levels, &guests, false, interrupt)?
        .facts
        .ok_or_else(|| impossible_failure("a guest made it elsewhere"))
}

fn read_stored(folder: &Path) -> Option<Result<GuestBuild, String>> {
    let text = fs::read(folder.join(FACTS)).ok()?;
    Some(match serde_json::from_slice(&text).ok()? {
        Stored::Unshared(cause) => Err(cause),
        Stored::Made {
            sha256,
            facts,
            guest,
        } => Ok(GuestBuild {
            archive: folder.join(BUILD_ARTIFACT),
            sha256,
            facts: Some(BuildFacts {
                reused: true,
                ..*facts
            }),
            guest,
        }),
    })
}

#[cfg(test)]
mod tests {
    use datamill_protocol::Accelerator;

    use super::*;
    use crate::scratch::TemporaryFolder;

    #[test]
    fn a_kept_build_says_in_which_guest_it_was_made() {
        let kept = TemporaryFolder::new("guest-build");
        let guest = GuestFacts {
            accelerator: Accelerator::Tcg,
            kernel: "6.1.0".to_owned(),
            processors: 1,
            memory_bytes: 1 << 30,
        };
        let facts = BuildFacts {
            id: "b".to_owned(),
            policy: BuildPolicy::Shared,
            reused: false,
            setup: None,
            compiler: Default::default(),
            executables_sha256: None,
        };
        let stored = Stored::Made {
            sha256: "0".repeat(64),
            facts: Box::new(facts),
            guest: Some(guest.clone()),
        };
        fs::write(
            kept.path().join(FACTS),
            serde_json::to_vec(&stored).unwrap(),
        )
        .unwrap();
        let found = read_stored(kept.path()).unwrap().unwrap();
        assert_eq!(found.guest, Some(guest));
        assert!(found.facts.unwrap().reused);
    }
}
