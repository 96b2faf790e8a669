//! The search for what a trial does not see of the host.

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};

use super::cover::{Cover, EMPTY_FOLDERS, OWN_FOLDERS, SECRET_PLACES, Shows, without_covered};
use super::{aliases, closed, homes};
use crate::world::mounts::HostMount;

/// A part of the search for what is closed, which reads thousands of files.
type Part = fn() -> Vec<Cover>;

/// The search for what a trial does not see. It is made anew for each trial, because a file may be
/// closed without a trace in its folder, and took most of the time between trials: so it runs beside other
/// preparations, on as many processors as there are.
pub struct CoverSearch {
    parts: Vec<Result<JoinHandle<Vec<Cover>>, Part>>,
}

impl CoverSearch {
    /// Begins it, in threads that end before it does.
    pub fn begin() -> Self {
        let parts: [Part; 2] = [closed::find_closed_settings, find_closed_elsewhere];
        // Without threads it is made when its outcome is wanted.
        let begin = |part: Part| Builder::new().spawn(part).map_err(|_| part);
        Self {
            parts: parts.map(begin).into(),
        }
    }

    /// Ends it: all that a trial does not see, outer places first; `named` are those of this trial.
    pub fn end(mut self, named: &[PathBuf], mounts: &[HostMount]) -> Vec<Cover> {
        let mut covers: Vec<Cover> = EMPTY_FOLDERS
            .iter()
            .filter(|(at, _)| fs::symlink_metadata(at).is_ok_and(|data| data.is_dir()))
            .map(|(at, mode)| Cover {
                at: PathBuf::from(at),
                shows: Shows::EmptyFolder(*mode),
                is_closed: false,
            })
            .collect();
        let fixed = OWN_FOLDERS.iter().chain(&SECRET_PLACES).map(Path::new);
        let known = datamill_host::list_folders();
        let places = fixed.chain(named.iter().chain(&known).map(PathBuf::as_path));
        covers.extend(
            // By a link, what it leads to is seen; and what is a link itself shows nothing of its own.
            places.filter_map(|place| Cover::of(&fs::canonicalize(place).ok()?)),
        );
        for part in std::mem::take(&mut self.parts) {
            covers.extend(match part {
                // A walk that panicked has found nothing that can be relied upon.
                Ok(walk) => walk.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(part) => part(),
            });
        }
        // What lies in a covered folder is covered with it: only the outer one can have another name.
        let covers = without_covered(covers);
        let more = aliases::find_other_names(&covers, mounts);
        without_covered(covers.into_iter().chain(more).collect())
    }
}

impl Drop for CoverSearch {
    /// Nothing of it runs on where a world turns out impossible: the process may divide again.
    fn drop(&mut self) {
        for walk in self.parts.drain(..).flatten() {
            walk.join().ok();
        }
    }
}

fn find_closed_elsewhere() -> Vec<Cover> {
    let mut found = homes::find_private_places();
    found.extend(closed::find_closed_others());
    found
}
