//! What dead workers left of their changes to the machine: undone, or given up.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use datamill_host::{Host, Journal, JournalError, Restored, abandoned_states, restore_host};
use datamill_protocol::IsolationKind;
use serde::{Deserialize, Serialize};

use crate::factors::user::EnclosedVerbs;
use crate::scratch::remove_tree;

/// Folder, in the state folder, of the factors that a restoration may need.
pub const KEPT_FACTORS: &str = "factors";
/// File, in the state folder, of what was given up.
const GIVEN_UP: &str = "given-up";

/// What became of changes that dead workers left.
#[derive(Debug, Default)]
pub struct Settled {
    /// What was undone, and what was not.
    pub restored: Restored,
    /// What could not be undone and is in no journal any more, one sentence each.
    pub given_up: Vec<String>,
}

/// A line of the file of what was given up.
#[derive(Serialize, Deserialize)]
struct GivenUp {
    boot_id: String,
    sentence: String,
}

/// What runs the executables of factors that change the host.
pub fn host_verbs(host: &Host) -> EnclosedVerbs {
    EnclosedVerbs {
        kind: IsolationKind::Overlay,
        scratch: host.state().join("world"),
    }
}

/// Undoes what is in the journal of a state folder; `forget` gives up what cannot be undone.
///
/// Another trial may be putting the same right at this moment: it is waited for.
pub fn settle_state(host: &Host, forget: bool) -> Result<Settled, JournalError> {
    settle_opened(host, forget, Journal::open_patiently)
}

fn settle_opened(
    host: &Host,
    forget: bool,
    open: fn(&Host) -> Result<Journal, JournalError>,
) -> Result<Settled, JournalError> {
    let mut settled = Settled::default();
    let kept = host.state().join(KEPT_FACTORS);
    if Journal::is_empty(host) && !kept.exists() {
        return Ok(settled);
    }
    let verbs = host_verbs(host);
    let mut journal = open(host)?;
    settled.restored = restore_host(&mut journal, &verbs);
    if forget && !settled.restored.is_complete() {
        let troubles = settled.restored.troubles();
        // Noted first: what is in neither would be known to nobody.
        match note_given_up(host, &troubles).and_then(|()| journal.forget()) {
            Ok(()) => {
                settled.given_up = troubles;
                settled.restored.left.clear();
                settled.restored.damaged.clear();
            }
            Err(error) => settled.restored.left.push(format!(
                "What is left cannot be given up: the journal {} or the note of it cannot be written: {error}.",
                journal.path().display()
            )),
        }
    }
    if settled.restored.is_complete() {
        // Nothing in the journal needs them any more.
        remove_tree(&kept).ok();
    }
    remove_tree(&verbs.scratch).ok();
    Ok(settled)
}

/// The same for what workers with other state folders left that died; each sentence names the folder, and what is left
/// tells its remedy.
///
/// One that lives, or whose journal this user does not obey, is left alone.
pub fn settle_abandoned(host: &Host, forget: bool) -> Settled {
    let mut all = Settled::default();
    for state in abandoned_states(host) {
        let Ok(settled) = settle_opened(&host.with_state(&state), forget, Journal::open) else {
            continue;
        };
        let folder = state.display();
        let name = |sentences: &[String]| -> Vec<String> {
            let name = |it: &String| format!("{} (journal in {folder}).", it.trim_end_matches('.'));
            sentences.iter().map(name).collect()
        };
        let Restored {
            undone,
            overruled,
            forgotten,
            ..
        } = &settled.restored;
        all.restored.undone.extend(name(undone));
        all.restored.overruled.extend(name(overruled));
        all.restored.forgotten.extend(name(forgotten));
        all.given_up.extend(name(&settled.given_up));
        let troubles = settled.restored.troubles();
        if !troubles.is_empty() {
            all.restored.left.push(format!(
                "A worker with the state folder {folder} died and left what cannot be undone: {} When you have put it right \
                 by hand, `datamill-worker restore --forget` empties that journal.",
                troubles.join(" ")
            ));
        }
    }
    all
}

/// Notes in the state folder what was given up, for the records of trials until the machine boots again.
pub fn note_given_up(host: &Host, sentences: &[String]) -> io::Result<()> {
    if sentences.is_empty() {
        return Ok(());
    }
    let boot_id = host.boot_id();
    let known = list_given_up(host);
    let mut text = Vec::new();
    for sentence in known.iter().chain(sentences) {
        let line = GivenUp {
            boot_id: boot_id.clone(),
            sentence: sentence.clone(),
        };
        serde_json::to_writer(&mut text, &line)?;
        text.push(b'\n');
    }
    // As the journal's: one that others could write would not be obeyed.
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(host.state())?;
    let path = given_up_file(host);
    let draft = path.with_extension("draft");
    fs::write(&draft, text)?;
    fs::rename(&draft, &path)
}

/// What was given up since the machine booted, by those with this state folder, one sentence each.
pub fn list_given_up(host: &Host) -> Vec<String> {
    let boot_id = host.boot_id();
    let text = fs::read_to_string(given_up_file(host)).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &GivenUp| line.boot_id == boot_id)
        .map(|line| line.sentence)
        .collect()
}

fn given_up_file(host: &Host) -> PathBuf {
    host.state().join(GIVEN_UP)
}

#[cfg(test)]
pub mod tests {
    use std::path::Path;

    use datamill_host::{Change, PlannedChange};

    use super::*;
    use crate::factors::HostTurn;
    use crate::scratch::TemporaryFolder;

    /// A machine of plain files, and a worker with another state folder that died: what it changed is gone.
    pub struct Abandoned {
        place: TemporaryFolder,
        pub host: Host,
        other: Host,
    }

    impl Abandoned {
        pub fn new(name: &str) -> Self {
            let place = TemporaryFolder::new(name);
            let [root, state, other] = ["root", "state", "other"].map(|it| place.path().join(it));
            fs::create_dir_all(root.join("run")).unwrap();
            let host = Host::at(&root, &state);
            let other = host.with_state(&other);
            let abandoned = Self { place, host, other };
            abandoned.boot("first");
            let change = PlannedChange {
                factor: "swappiness".to_owned(),
                level: "10".to_owned(),
                change: Change::Setting {
                    path: abandoned.gone(),
                    before: "60".to_owned(),
                    after: "10".to_owned(),
                },
            };
            let mut journal = Journal::open(&abandoned.other).unwrap();
            journal.record(&[change]).unwrap();
            abandoned
        }

        fn gone(&self) -> PathBuf {
            self.place.path().join("gone")
        }

        fn boot(&self, id: &str) {
            let path = self.host.path("/proc/sys/kernel/random/boot_id");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, id).unwrap();
        }

        /// Whether a sentence tells what is left, and where.
        pub fn is_named_in(&self, sentence: &str) -> bool {
            let names = |path: &Path| sentence.contains(&path.display().to_string());
            names(&self.gone()) && names(self.other.state())
        }
    }

    #[test]
    fn a_trial_tells_what_another_worker_left_until_it_is_given_up_and_then_that_it_was() {
        let abandoned = Abandoned::new("given-up");
        for _ in 0..2 {
            let mut turn = HostTurn::begin(abandoned.host.clone());
            let left = turn.take_unrestored();
            assert_eq!(left.len(), 1, "{left:?}");
            assert!(abandoned.is_named_in(&left[0]), "{left:?}");
            assert!(left[0].contains("restore --forget"), "{left:?}");
            assert!(turn.notices.is_empty(), "{:?}", turn.notices);
        }
        let given_up = settle_abandoned(&abandoned.host, true).given_up;
        note_given_up(&abandoned.host, &given_up).unwrap();
        assert!(Journal::is_empty(&abandoned.other));
        // Also those of the worker that left it, when it comes back.
        let notices = HostTurn::begin(abandoned.other.clone()).notices;
        assert!(notices[0].contains("given up"), "{notices:?}");
        let mut turn = HostTurn::begin(abandoned.host.clone());
        assert!(turn.take_unrestored().is_empty());
        assert_eq!(turn.notices.len(), 1, "{:?}", turn.notices);
        assert!(turn.notices[0].contains("given up"), "{:?}", turn.notices);
        assert!(abandoned.is_named_in(&turn.notices[0]));
        abandoned.boot("second");
        assert!(HostTurn::begin(abandoned.host.clone()).notices.is_empty());
    }

    #[test]
    fn what_cannot_be_noted_is_not_given_up() {
        let abandoned = Abandoned::new("unnoted");
        // Where the note is drafted there is a folder, which not even root writes as a file.
        fs::create_dir(given_up_file(&abandoned.other).with_extension("draft")).unwrap();
        let settled = settle_abandoned(&abandoned.host, true);
        assert!(settled.given_up.is_empty(), "{settled:?}");
        assert!(
            settled.restored.left[0].contains("cannot be given up"),
            "{settled:?}"
        );
        assert!(
            abandoned.is_named_in(&settled.restored.left[0]),
            "{settled:?}"
        );
        assert!(!Journal::is_empty(&abandoned.other));
    }

    #[test]
    fn nothing_is_given_up_unasked_and_nothing_that_can_be_undone() {
        let abandoned = Abandoned::new("kept");
        assert!(settle_abandoned(&abandoned.host, false).given_up.is_empty());
        assert!(!Journal::is_empty(&abandoned.other));
        fs::write(abandoned.gone(), "10").unwrap();
        let settled = settle_abandoned(&abandoned.host, true);
        assert!(settled.given_up.is_empty(), "{settled:?}");
        assert_eq!(settled.restored.undone.len(), 1, "{settled:?}");
        let now = fs::read_to_string(abandoned.gone()).unwrap();
        assert_eq!(now.trim(), "60");
    }
}
