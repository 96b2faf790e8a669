//! A package that runs beside `run.sh`: kept by a process of its own, so that neither finds, counts
//! or ends the processes of the other.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use datamill_protocol::{FailureKind, Phase};
use rustix::event::{PollFd, PollFlags, poll};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::keeper::keep;
use super::line::{LOOK, START, STOP, SetUp};
use crate::assignment::Assignment;
use crate::factors::LoadLook;
use crate::interrupt::Interrupt;
use crate::package::Package;
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
    let name = assignment
        .spec
        .background
        .as_ref()
        .map_or("", |package| package.name.as_str());
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
    pub fn look(&self) -> Step<LoadLook> {
        self.ask(LOOK)
    }

    /// Ends it; nothing of it is left afterwards.
    pub fn stop(&self) -> Step<()> {
        self.ask::<LoadLook>(STOP).map(drop)
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
