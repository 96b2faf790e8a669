//! A package that runs beside `run.sh`: kept by a process of its own, so that neither finds, counts
//! or ends the processes of the other.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use datamill_protocol::{FactorFacts, FailureKind, Phase, PhaseFacts};
use rustix::event::{PollFd, PollFlags, poll};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::keeper::keep;
use super::line::{LOOK, Look, START, STOP, SetUp};
use crate::assignment::Assignment;
use crate::factors::{WorldLevels, fact};
use crate::interrupt::Interrupt;
use crate::package::Package;
use crate::process::Witness;
use crate::trouble::{Step, failure, interrupted};
use crate::world::{Companion, EncloseError, World, enclose_within};

/// A background package, as the process that carries `run.sh` reaches it.
pub struct Load<'a> {
    control: UnixStream,
    name: &'a str,
    interrupt: &'a Interrupt,
}

/// Carries `body` in a process beside one that keeps the background package.
pub fn perform_beside<T: Serialize + DeserializeOwned>(
    assignment: &Assignment<'_>,
    world: &World,
    package: &Package,
    body: impl FnOnce(&Load<'_>) -> T,
) -> Result<T, EncloseError> {
    let impossible =
        |doing: &str, error: io::Error| EncloseError::Impossible(format!("{doing}: {error}"));
    if !world.own_session {
        // Both scripts stay in the session of this process, their common parent.
        rustix::process::setsid().map_err(|error| impossible("making a session", error.into()))?;
    }
    let (control, keepers) =
        UnixStream::pair().map_err(|error| impossible("making a socket", error))?;
    let name = assignment.levels.world.load().unwrap_or_default();
    let body = |control: UnixStream| {
        let load = Load {
            control,
            name,
            interrupt: assignment.interrupt,
        };
        body(&load)
    };
    let ours = OwnedFd::from(control);
    let raw = ours.as_raw_fd();
    let keeper = Companion::start(world.family, keepers.into(), |lifeline| {
        // SAFETY: this process' own copy of the other end, used by nobody in it; with it open, the
        // line would never break.
        unsafe { libc::close(raw) };
        keep(assignment, world, package, UnixStream::from(lifeline));
    })
    .map_err(|error| impossible("starting its keeper", error))?;
    let carried = ours
        .try_clone()
        .map_err(|error| impossible("sharing a socket", error))
        .and_then(|control| {
            enclose_within(world.family, assignment.interrupt, || {
                Ok(body(UnixStream::from(control)))
            })
        });
    drop(ours);
    keeper.end();
    carried
}

impl Load<'_> {
    /// Sets it up and starts it.
    pub fn start(&self) -> Step<()> {
        let set_up: SetUp = self.ask(START)?;
        set_up.map_err(|cause| {
            failure(
                Phase::Isolate,
                FailureKind::Factor,
                format!("The background package {}: {cause}.", self.name),
                "Read its output in background-setup.err and background.err beside the trial's record.",
            )
        })
    }

    /// Looks at it while it runs.
    pub fn look(&self) -> Step<Look> {
        self.ask(LOOK)
    }

    /// Ends it; nothing of it is left afterwards.
    pub fn stop(&self) -> Step<()> {
        self.ask::<Look>(STOP).map(drop)
    }

    fn ask<T: DeserializeOwned>(&self, question: u8) -> Step<T> {
        let lost = |cause: String| {
            failure(
                Phase::Isolate,
                FailureKind::Internal,
                format!("The process that keeps the background package was lost: {cause}."),
                "Look whether this host is out of memory; the trial can be attempted again.",
            )
        };
        (&self.control)
            .write_all(&[question])
            .map_err(|error| lost(error.to_string()))?;
        let mut answer = Vec::new();
        while answer.last() != Some(&b'\n') {
            let mut entries = [
                PollFd::new(&self.control, PollFlags::IN),
                PollFd::from_borrowed_fd(self.interrupt.as_fd(), PollFlags::IN),
            ];
            poll(&mut entries, None).ok();
            let readable = !entries[0].revents().is_empty();
            if self.interrupt.is_pending() {
                return Err(interrupted(Phase::Isolate));
            }
            let mut chunk = [0; 4096];
            if readable {
                match (&self.control).read(&mut chunk) {
                    Ok(0) => return Err(lost("it ended".to_owned())),
                    Ok(count) => answer.extend_from_slice(&chunk[..count]),
                    Err(error) => return Err(lost(error.to_string())),
                }
            }
        }
        serde_json::from_slice(&answer).map_err(|error| lost(error.to_string()))
    }
}

/// The factors `background_load` and `session`, as far as they are asked for; `looks` are from just
/// before and just after `run.sh`.
pub fn observe_load(
    levels: &WorldLevels,
    witness: Option<&Result<Witness, String>>,
    looks: Option<(&Look, &Look)>,
    run: Option<&PhaseFacts>,
) -> Vec<FactorFacts> {
    let mut facts = Vec::new();
    if let Some(asked) = &levels.background_load {
        let (observed, evidence) = match looks {
            None => (
                "none".to_owned(),
                "Nothing was started beside run.sh.".to_owned(),
            ),
            Some((before, after)) => describe_load(asked, before, after, run),
        };
        facts.push(fact("background_load", asked, Some(observed), evidence));
    }
    if let Some(same) = levels.shares_session {
        let asked = session_name(same);
        let (observed, evidence) = match (looks, witness) {
            (Some((look, _)), Some(witness)) => compare_sessions(look, witness),
            _ => (
                Some(asked),
                "No background load runs, whose session could be shared or not.".to_owned(),
            ),
        };
        facts.push(fact(
            "session",
            asked,
            observed.map(str::to_owned),
            evidence,
        ));
    }
    facts
}

/// Processor time of the background package between two looks.
pub fn time_between(before: &Look, after: &Look) -> u64 {
    after
        .processor_time_ns
        .saturating_sub(before.processor_time_ns)
}

fn describe_load(
    name: &str,
    before: &Look,
    after: &Look,
    run: Option<&PhaseFacts>,
) -> (String, String) {
    let used = time_between(before, after) as f64 / 1e9;
    let ran = run.map_or(0.0, |run| run.wall_time_ns as f64 / 1e9);
    let times = format!("{name} used {used:.2} s of processor time while run.sh ran {ran:.2} s");
    match &after.end {
        None => (name.to_owned(), format!("{times}.")),
        Some(end) => (
            "ended early".to_owned(),
            format!("{times}, and ended before it: {end}."),
        ),
    }
}

fn compare_sessions(
    look: &Look,
    witness: &Result<Witness, String>,
) -> (Option<&'static str>, String) {
    let witness = match witness {
        Ok(witness) => witness,
        Err(cause) => return (None, cause.clone()),
    };
    if look.end.is_some() {
        return (None, "The background load had ended already.".to_owned());
    }
    match (&look.autogroup, &witness.autogroup) {
        (Some(load), Some(run)) => (
            Some(session_name(load == run)),
            format!(
                "The scheduler has the background load in {load} and a witness process launched like run.sh in {run}."
            ),
        ),
        _ => {
            let said = |leads: bool| {
                if leads {
                    "leads its own session"
                } else {
                    "leads none"
                }
            };
            let observed = match (look.leads_session, witness.leads_session) {
                (false, false) => Some("same"),
                (true, true) => Some("different"),
                _ => None,
            };
            (
                observed,
                format!(
                    "The background load {}, a witness process launched like run.sh {}; this kernel has no autogroup.",
                    said(look.leads_session),
                    said(witness.leads_session)
                ),
            )
        }
    }
}

fn session_name(same: bool) -> &'static str {
    if same { "same" } else { "different" }
}
