//! The process that keeps a background package: sets it up, runs it, tells of it, ends it.

use std::cell::Cell;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use datamill_probe::{
    Bounds, Family, Interruption, Launch, Measured, Output, ProcessSettings, USUAL_UMASK, launch,
};
use datamill_protocol::Phase;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::descendants::{Descendants, ended_time_ns};
use super::line::{LOOK, START, SetUp};
use crate::assignment::Assignment;
use crate::factors::LoadLook;
use crate::package::{Package, RUN, SETUP};
use crate::process::{autogroup_of, output_file, phase_environment};
use crate::resources::Members;
use crate::world::World;

/// What the keeper does: everything that is asked of it, until the line breaks.
pub fn keep(assignment: &Assignment<'_>, world: &World, package: &Package, control: UnixStream) {
    let line = Line {
        control,
        time_before_ns: Cell::new(0),
        is_cut: Cell::new(false),
    };
    if line.read() != Some(START) {
        return;
    }
    let set_up = set_up(assignment, world, package, &line);
    let failed = set_up.is_err();
    line.time_before_ns.set(ended_time_ns());
    line.answer(&set_up);
    if failed || line.is_cut.get() {
        return;
    }
    let ended = match launch_script(assignment, world, package, &line, RUN, None) {
        Ok(measured) => format!("its {RUN} {}", describe_end(&measured)),
        Err(cause) => cause,
    };
    // Who was told to stop while its run.sh ran owes the answer to that.
    let mut is_asked = line.is_cut.get() || line.read().is_some();
    while is_asked {
        line.answer(&line.look(Some(ended.clone())));
        is_asked = line.read().is_some();
    }
}

fn set_up(assignment: &Assignment<'_>, world: &World, package: &Package, line: &Line) -> SetUp {
    if !package.has_setup {
        return Ok(());
    }
    let limit = Duration::try_from_secs_f64(assignment.spec.limits.setup_timeout_s).ok();
    let measured = launch_script(assignment, world, package, line, SETUP, limit)?;
    match measured.facts.exit_code {
        Some(0) => Ok(()),
        _ => Err(format!("its {SETUP} {}", describe_end(&measured))),
    }
}

/// Launches a script of the background package with a process as usual as can be: the factors are
/// those of the package that is measured.
fn launch_script(
    assignment: &Assignment<'_>,
    world: &World,
    package: &Package,
    line: &Line,
    script: &str,
    timeout: Option<Duration>,
) -> Result<Measured, String> {
    let directory = world.background();
    let output = |ending: &str| {
        let stem = match script {
            SETUP => "background-setup",
            _ => "background",
        };
        let name = format!("{stem}.{ending}");
        output_file(assignment.output, &name, Phase::Isolate).map_err(|failure| failure.message)
    };
    let mut variables = package.variables.clone();
    if world.family == Family::Subreaper && !variables.iter().any(|(name, _)| name == "HOME") {
        variables.push(("HOME".to_owned(), directory.to_string_lossy().into_owned()));
    }
    let bounds = world.script_bounds(Members::Beside, assignment.spec.limits.world_bytes);
    launch(Launch {
        program: &directory.join(script),
        name: None,
        arguments: &[],
        environment: &phase_environment(world, &variables, false),
        directory: &directory,
        settings: &ProcessSettings::RANDOMIZED,
        confinement: world
            .confinement()
            .map_err(|error| format!("its {script} cannot be confined: {error}"))?,
        own_session: script == SETUP || world.own_session,
        with_counters: false,
        timeout,
        output_bytes: assignment.spec.limits.output_bytes,
        stdin: None,
        stdout: output("out").map(Output::Kept)?,
        stderr: output("err").map(Output::Kept)?,
        umask: USUAL_UMASK,
        family: world.family,
        bounds: bounds.as_ref().map(|bounds| bounds as &dyn Bounds),
        interrupt: Some(line),
    })
    .map_err(|error| format!("its {script} cannot be executed: {error}"))
}

/// Completes "it ...".
fn describe_end(measured: &Measured) -> String {
    let facts = &measured.facts;
    let end = match (facts.exit_code, facts.signal) {
        _ if facts.timed_out => "exceeded its time and was killed".to_owned(),
        (Some(status), _) => format!("exited with status {status}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    };
    let said = String::from_utf8_lossy(&measured.stderr_tail);
    match said.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!("{end} (it said: {})", line.trim()),
        None => end,
    }
}

/// The keeper's end of the line.
struct Line {
    control: UnixStream,
    /// Processor time of the package before the start of its `run.sh`.
    time_before_ns: Cell<u64>,
    /// Whether it is to end: it was told to, or nobody is there any more.
    is_cut: Cell<bool>,
}

impl Line {
    /// Waits for the next question; none when the line is broken.
    fn read(&self) -> Option<u8> {
        let mut question = [0];
        match (&self.control).read(&mut question) {
            Ok(1) => Some(question[0]),
            _ => None,
        }
    }

    fn answer(&self, answer: &impl Serialize) {
        let mut text = serde_json::to_vec(answer).unwrap_or_default();
        text.push(b'\n');
        // Nobody reads it when the line is broken, which the next question tells.
        (&self.control).write_all(&text).ok();
    }

    fn look(&self, end: Option<String>) -> LoadLook {
        let ended = ended_time_ns();
        let living = Descendants::find();
        let time_ns = ended + living.processor_time_ns();
        let leader = living.oldest_child();
        LoadLook {
            end,
            processor_time_ns: time_ns.saturating_sub(self.time_before_ns.get()),
            autogroup: leader.and_then(|leader| autogroup_of(&leader.pid.to_string())),
            leads_session: leader.is_some_and(|leader| leader.session == leader.pid),
        }
    }

    fn has_question(&self) -> bool {
        let mut entries = [PollFd::new(&self.control, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut entries, Some(&now)).is_ok_and(|count| count > 0)
    }
}

impl Interruption for Line {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    fn has_come(&self) -> bool {
        while !self.is_cut.get() && self.has_question() {
            match self.read() {
                Some(LOOK) => self.answer(&self.look(None)),
                Some(_) | None => self.is_cut.set(true),
            }
        }
        self.is_cut.get()
    }
}
