//! Where builds are kept: each under the name of all that it depends on, made once, found by everybody after.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use datamill_protocol::digest::hash_parts;
use datamill_protocol::{Failure, IsolationKind, Phase, TrialSpec};
use rustix::fs::{FlockOperation, flock};

use crate::factors::Levels;
use crate::interrupt::Interrupt;
use crate::scratch::UnfinishedFolder;
use crate::trouble::{Step, interrupted, io_failure};

/// A build in the store.
pub enum Kept<B, M> {
    /// It was there.
    Found(B),
    /// It was made for this trial, in this folder; with what its making told.
    Made(PathBuf, M),
}

/// Finds the build of a name, or has it made in an unfinished folder; safe beside other workers doing the same.
pub fn find_or_make<B, M, E: From<Failure>>(
    spec: &TrialSpec,
    key: &str,
    interrupt: &Interrupt,
    read: impl Fn(&Path) -> Option<B>,
    make: impl FnOnce(&Path) -> Result<M, E>,
) -> Result<Kept<B, M>, E> {
    let builds = builds_folder(spec);
    let folder = builds.join(key);
    if let Some(found) = read(&folder) {
        return Ok(Kept::Found(found));
    }
    let storing = || storing(spec);
    fs::create_dir_all(&builds).map_err(storing())?;
    let _lock = lock(&builds.join(format!("{key}.lock")), interrupt)?;
    if let Some(found) = read(&folder) {
        return Ok(Kept::Found(found));
    }
    let unfinished = UnfinishedFolder::make_in(&builds).map_err(storing())?;
    let told = make(unfinished.path())?;
    unfinished.finish(&folder).map_err(storing())?;
    Ok(Kept::Made(folder, told))
}

/// What to say when a build cannot be stored.
pub fn storing(spec: &TrialSpec) -> impl FnOnce(std::io::Error) -> Failure {
    io_failure(
        Phase::Setup,
        format!("storing a build in `{}`", builds_folder(spec).display()),
    )
}

/// Folder of the stored builds.
pub fn builds_folder(spec: &TrialSpec) -> PathBuf {
    Path::new(&spec.cache_dir).join("builds")
}

/// Identity of the build of a package, by its key in the cache, that a trial in one kind of world measures.
pub fn name_build(package: &str, spec: &TrialSpec, levels: &Levels, kind: IsolationKind) -> String {
    let seed = spec.build_seed;
    let hash = hash_parts(&[
        package,
        &levels.compiler.canonical_text(),
        &seed.map_or_else(String::new, |seed| seed.to_string()),
        &format!("{kind:?}"),
        &serde_json::to_string(&spec.needs).unwrap_or_default(),
        env!("CARGO_PKG_VERSION"),
    ]);
    hash.to_string()[..32].to_owned()
}

/// Waits for other workers that make the same build.
fn lock(path: &Path, interrupt: &Interrupt) -> Step<File> {
    let locking = || io_failure(Phase::Setup, format!("locking `{}`", path.display()));
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(locking())?;
    while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK {
            return Err(locking()(error.into()));
        }
        if interrupt.is_pending() {
            return Err(interrupted(Phase::Setup));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(file)
}
