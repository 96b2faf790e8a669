//! Which kind of world this host allows, found by entering one.

use std::fs;
use std::io;
use std::path::Path;

use datamill_protocol::{IsolationKind, Needs};

use crate::interrupt::Interrupt;
use crate::world::{
    Changes, Confines, Keeping, WorldError, WorldRequest, WorldSettings, enclose, enter_world,
    own_binary, remove_scratch,
};

/// Size of the world that is entered, in bytes.
const WORLD_BYTES: u64 = 1 << 20;

/// The kind of world that a trial with `isolation = auto` gets here.
pub fn find_isolation() -> IsolationKind {
    let tried = own_binary().and_then(|worker| {
        let scratch = std::env::temp_dir().join(format!("datamill-look-{}", std::process::id()));
        let found = strongest_isolation(&scratch, &worker, &Interrupt::deaf()?);
        fs::remove_dir_all(&scratch).ok();
        found
    });
    tried.unwrap_or(IsolationKind::Plain)
}

/// The strongest kind of world that a trial with `isolation = auto` gets here; `scratch` is made and removed.
fn strongest_isolation(
    scratch: &Path,
    worker: &Path,
    interrupt: &Interrupt,
) -> io::Result<IsolationKind> {
    let package = scratch.join("package");
    fs::create_dir_all(&package)?;
    let world = scratch.join("world");
    fs::create_dir_all(&world)?;
    let request = WorldRequest {
        package: &package,
        build: None,
        changes: Changes::Memory(WORLD_BYTES),
        scratch: &world,
        worker,
        settings: WorldSettings::default(),
        confines: Confines::default(),
    };
    let needs = Needs::default();
    let mut found = IsolationKind::Plain;
    for kind in [
        IsolationKind::Confined,
        IsolationKind::UserNamespace,
        IsolationKind::Overlay,
    ] {
        if kind != IsolationKind::UserNamespace && !rustix::process::geteuid().is_root() {
            continue;
        }
        let Ok(keeping) = Keeping::usual(kind) else {
            continue;
        };
        let request = WorldRequest {
            confines: keeping.confines(&needs),
            ..request
        };
        let is_possible = enclose(kind, false, interrupt, || {
            !matches!(
                enter_world(kind, &request),
                Err(WorldError::Impossible(_) | WorldError::NoDiskLayer(_))
            )
        });
        if matches!(is_possible, Ok(true)) {
            found = kind;
            break;
        }
    }
    remove_scratch(&world).ok();
    fs::remove_dir_all(scratch)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::TemporaryFolder;

    #[test]
    fn looking_for_a_world_leaves_nothing() {
        let folder = TemporaryFolder::new("isolation-look");
        let scratch = folder.path().join("look");
        let found = strongest_isolation(
            &scratch,
            &own_binary().unwrap(),
            &Interrupt::deaf().unwrap(),
        )
        .unwrap();
        assert!(!scratch.exists());
        // Whoever is not root never gets what needs root.
        let of_root = matches!(found, IsolationKind::Confined | IsolationKind::Overlay);
        assert!(!of_root || rustix::process::geteuid().is_root());
    }
}
