//! Running one script of a package and saying in words how it failed.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use datamill_probe::{
    Bounds, ChildStep, Confinement, Launch, LaunchError, Measured, Output, ProcessSettings,
    USUAL_UMASK, launch,
};
use datamill_protocol::{Failure, FailureKind, Phase, PhaseFacts, TrialLimits};
use rustix::fs::{Mode, OFlags, fstatvfs, openat};

use crate::interrupt::Interrupt;
use crate::package::{COLLECT, PROFILE, RUN, SETUP};
use crate::resources::{
    Members, Reached, ScriptBounds, descriptor_failure, reached_failure, world_failure,
};
use crate::trouble::{Step, disk_full, failure, interrupted, io_failure};
use crate::world::World;

/// Less free space than this means that a failed script probably ran out of it.
const FULL_BELOW_BYTES: u64 = 64 * 1024;

/// Lines of output that a failure quotes.
const QUOTED_LINES: usize = 5;

/// One script to run.
pub struct Script<'a> {
    /// Phase that it is.
    pub phase: Phase,
    /// Which execution in its phase it is.
    pub execution: Execution,
    /// The whole environment, `NAME=value` each.
    pub environment: &'a [CString],
    /// What of its process is set.
    pub settings: &'a ProcessSettings,
}

/// Which execution in its phase a script is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The one that the phase is about.
    Main,
    /// One of `run.sh` before the measured one; numbers begin with 1.
    WarmUp(u32),
    /// `profile.sh` in place of `run.sh`.
    Profile,
}

/// What all scripts of a trial have in common.
pub struct Stage<'a> {
    /// The world that this process is in.
    pub world: &'a World,
    /// Bounds.
    pub limits: &'a TrialLimits,
    /// Folder that receives the output, opened before the world was entered.
    pub output: &'a OwnedFd,
    /// The pending interruption.
    pub interrupt: &'a Interrupt,
    /// The factor that a step of a launched process sets.
    pub set_at: SetAt,
}

/// The factor that a step of a launched process sets; absent when none does.
pub type SetAt = fn(ChildStep) -> Option<&'static str>;

/// How a script ended.
pub struct Ended {
    /// What was measured; absent when it could not be executed.
    pub facts: Option<PhaseFacts>,
    /// Last bytes of its stdout.
    pub stdout_tail: Vec<u8>,
    /// Why it did not end well.
    pub failure: Option<Failure>,
}

impl<'a> Stage<'a> {
    /// What the scripts are launched with.
    fn confinement(&self, phase: Phase) -> Step<Option<&'a Confinement>> {
        self.world
            .confinement()
            .map_err(io_failure(phase, "confining the package"))
    }
}

impl Ended {
    fn unexecuted(failure: Failure) -> Self {
        Self {
            facts: None,
            stdout_tail: Vec::new(),
            failure: Some(failure),
        }
    }
}

/// Runs and measures one script.
pub fn run_script(stage: &Stage<'_>, script: &Script<'_>) -> Ended {
    let bounds = stage
        .world
        .script_bounds(Members::Measured, stage.limits.world_bytes);
    let launched = launch_script(stage, script, bounds.as_ref());
    let reached = bounds.as_ref().and_then(ScriptBounds::settle);
    match launched {
        Err(failure) => Ended::unexecuted(failure),
        Ok(mut measured) => {
            // Why a counter is missing is the same for every phase: `run.sh` tells it once.
            if script.phase != Phase::Run || script.execution != Execution::Main {
                let counters = &mut measured.facts.counters;
                counters.retain(|counter| counter.value.is_some());
            }
            Ended {
                failure: judge(stage, script, &measured, reached),
                facts: Some(measured.facts),
                stdout_tail: measured.stdout_tail,
            }
        }
    }
}

fn launch_script(
    stage: &Stage<'_>,
    script: &Script<'_>,
    bounds: Option<&ScriptBounds<'_>>,
) -> Step<Measured> {
    let (name, timeout_s) = script_of(script, stage.limits);
    let program = stage.world.root.join(name);
    let stem = stem(script);
    let kept = |ending| {
        let file = output_file(stage.output, &format!("{stem}.{ending}"), script.phase);
        file.map(Output::Kept)
    };
    let is_run = script.phase == Phase::Run;
    launch(Launch {
        program: &program,
        name: None,
        arguments: &[],
        environment: script.environment,
        directory: if is_run {
            &stage.world.directory
        } else {
            &stage.world.root
        },
        settings: script.settings,
        confinement: stage.confinement(script.phase)?,
        own_session: !is_run || stage.world.own_session,
        with_counters: true,
        timeout: Duration::try_from_secs_f64(timeout_s).ok(),
        output_bytes: stage.limits.output_bytes,
        stdin: None,
        stdout: kept("out")?,
        stderr: kept("err")?,
        umask: USUAL_UMASK,
        family: stage.world.family,
        bounds: bounds.map(|bounds| bounds as &dyn Bounds),
        interrupt: Some(stage.interrupt),
    })
    .map_err(|error| launch_failure(script.phase, name, &program, &error, stage.set_at))
}

fn script_of(script: &Script<'_>, limits: &TrialLimits) -> (&'static str, f64) {
    match script.phase {
        Phase::Collect => (COLLECT, limits.collect_timeout_s),
        Phase::Run if script.execution == Execution::Profile => (PROFILE, limits.run_timeout_s),
        Phase::Run => (RUN, limits.run_timeout_s),
        Phase::Setup | Phase::Unpack | Phase::Isolate => (SETUP, limits.setup_timeout_s),
    }
}

/// What the files that keep the output of a script are called, without their endings.
fn stem(script: &Script<'_>) -> String {
    match (script.phase, script.execution) {
        (Phase::Run, Execution::WarmUp(number)) => format!("run-warmup-{number}"),
        (Phase::Run, Execution::Profile) => "profile".to_owned(),
        (Phase::Run, Execution::Main) => "run".to_owned(),
        (Phase::Collect, _) => "collect".to_owned(),
        (Phase::Setup | Phase::Unpack | Phase::Isolate, _) => "setup".to_owned(),
    }
}

/// Makes a file in the folder that receives the output.
pub fn output_file(output: &OwnedFd, name: &str, phase: Phase) -> Step<File> {
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(output, name, flags, Mode::from_raw_mode(0o644))
        .map(File::from)
        .map_err(io::Error::from)
        .map_err(io_failure(
            phase,
            format!("making {name} in the output folder"),
        ))
}

/// Why a program was not launched.
pub fn launch_failure(
    phase: Phase,
    name: &str,
    program: &Path,
    error: &LaunchError,
    set_at: SetAt,
) -> Failure {
    let bad =
        |message: String, remedy: &str| failure(phase, FailureKind::BadPackage, message, remedy);
    if let LaunchError::Child { step, .. } = error
        && let Some(factor) = set_at(*step)
    {
        return failure(
            phase,
            FailureKind::Factor,
            format!("{name} could not be started: {error}."),
            format!(
                "Ask what this host has of it with `datamill-worker factors --ask {factor}=LEVEL`; \
                 some levels need root."
            ),
        );
    }
    match error.execute_error().and_then(io::Error::raw_os_error) {
        Some(libc::ENOEXEC) => bad(
            format!(
                "{name} cannot be executed: it has no `#!` line and is not a program for this machine."
            ),
            "Begin the script with a line such as `#!/bin/sh`.",
        ),
        Some(libc::ENOENT) => bad(
            format!(
                "{name} cannot be executed: {}.",
                missing_interpreter(program)
            ),
            "Name an interpreter that exists on this host in the script's first line, and end that line with a newline alone.",
        ),
        Some(libc::EACCES) => bad(
            format!("{name} cannot be executed: permission denied for it or for its interpreter."),
            "Make the script executable and name a program, not a folder, in its `#!` line.",
        ),
        Some(libc::E2BIG) => bad(
            format!("{name} cannot be executed: its environment is too long."),
            "Shorten the package's env file, or ask for less env_padding or a larger stack_limit: the kernel gives a quarter of the stack to them.",
        ),
        _ => failure(
            phase,
            FailureKind::Internal,
            format!("{name} could not be started: {error}."),
            "Look whether this host is out of memory or processes; the trial can be attempted again.",
        ),
    }
}

fn missing_interpreter(program: &Path) -> String {
    let content = fs::read(program).unwrap_or_default();
    let line = content
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    match line.strip_prefix(b"#!") {
        Some(interpreter) => {
            format!(
                "its interpreter `{}` does not exist",
                String::from_utf8_lossy(interpreter)
                    .trim_ascii()
                    .escape_debug()
            )
        }
        None => "it, or the loader that it names, does not exist".to_owned(),
    }
}

fn judge(
    stage: &Stage<'_>,
    script: &Script<'_>,
    measured: &Measured,
    reached: Option<Reached>,
) -> Option<Failure> {
    let phase = script.phase;
    let (name, timeout_s) = script_of(script, stage.limits);
    let setting = name.trim_end_matches(".sh");
    let stem = stem(script);
    let name = match script.execution {
        Execution::WarmUp(number) => format!("{name} (warm-up {number})"),
        Execution::Main | Execution::Profile => name.to_owned(),
    };
    let facts = &measured.facts;
    if measured.interrupted {
        return Some(interrupted(phase));
    }
    let resources = stage.world.resources.as_deref();
    if let Some((resources, reached)) = resources.zip(reached) {
        return Some(reached_failure(resources, phase, &name, reached));
    }
    if let Some(error) = &measured.storage_error {
        let error = io::Error::new(error.kind(), error.to_string());
        return Some(io_failure(phase, format!("storing the output of {name}"))(
            error,
        ));
    }
    let suspected = resources
        .filter(|_| facts.timed_out)
        .and_then(|it| it.suspect_processes(|text| says(measured, text)));
    if let Some((resources, reached)) = resources.zip(suspected) {
        return Some(reached_failure(resources, phase, &name, reached));
    }
    if facts.timed_out {
        return Some(failure(
            phase,
            FailureKind::Timeout,
            format!(
                "{name} exceeded its {timeout_s} s and was killed with everything it had started."
            ),
            format!(
                "Raise the limit {setting}_timeout, or find out what it waited for{}.",
                quotation(&stem, measured)
            ),
        ));
    }
    let end = match (facts.exit_code, facts.signal) {
        (Some(0), _) => return None,
        (Some(status), _) => format!("exited with status {status}"),
        (None, Some(signal)) => format!("was killed by signal {signal} ({})", signal_name(signal)),
        (None, None) => "ended in an unknown way".to_owned(),
    };
    let suspected =
        resources.and_then(|it| it.suspect(facts.peak_memory_bytes, |text| says(measured, text)));
    let is_too_large = facts.signal == Some(libc::SIGXFSZ)
        || ["File too large", "File size limit exceeded"]
            .into_iter()
            .any(|text| says(measured, text));
    let suspected = match is_too_large && !stage.world.in_memory {
        true => Some(Reached::Disk),
        false => suspected,
    };
    if let Some((resources, reached)) = resources.zip(suspected) {
        return Some(reached_failure(resources, phase, &name, reached));
    }
    let message = format!("{name} {end}{}", quotation(&stem, measured));
    if let Some(resources) = resources.filter(|_| stage.world.in_memory)
        && ran_out_of_space(stage.world, measured)
    {
        return Some(world_failure(resources, phase, &message));
    }
    if ran_out_of_space(stage.world, measured) {
        return Some(disk_full(phase, message));
    }
    if let Some(resources) = resources.filter(|_| says(measured, "Too many open files")) {
        return Some(descriptor_failure(resources, phase, &message));
    }
    let kind = if facts.signal.is_some() {
        FailureKind::Signal
    } else {
        FailureKind::ExitStatus
    };
    let remedy = match facts.signal {
        Some(libc::SIGKILL) => {
            "Nobody in the worker killed it, and no limit was reached: look for who did, in the package first."
                .to_owned()
        }
        _ => format!(
            "Read the whole output in {stem}.out and {stem}.err beside the trial's record{}.",
            if stage.world.root == Path::new("/") {
                ""
            } else {
                "; in a plain world the package is not at the root, and absolute paths into it do not work"
            }
        ),
    };
    Some(failure(phase, kind, message, remedy))
}

fn ran_out_of_space(world: &World, measured: &Measured) -> bool {
    says(measured, "No space left on device")
        || says(measured, "Disk quota exceeded")
        || is_full(world)
}

/// Whether the last that a script wrote holds a text.
fn says(measured: &Measured, text: &str) -> bool {
    [&measured.stderr_tail, &measured.stdout_tail]
        .iter()
        .any(|tail| String::from_utf8_lossy(tail).contains(text))
}

/// Whether the file system that receives the package's changes is full.
pub fn is_full(world: &World) -> bool {
    fstatvfs(&world.space).is_ok_and(|space| {
        let is_bounded = space.f_blocks > 0;
        let is_full = space.f_bavail.saturating_mul(space.f_frsize) < FULL_BELOW_BYTES;
        is_bounded && is_full || space.f_files > 0 && space.f_favail == 0
    })
}

/// The last lines that a script wrote, or nothing when it was silent.
fn quotation(stem: &str, measured: &Measured) -> String {
    for (tail, stream) in [
        (&measured.stderr_tail, "err"),
        (&measured.stdout_tail, "out"),
    ] {
        let text = String::from_utf8_lossy(tail);
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect();
        if !lines.is_empty() {
            let last = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n");
            return format!("; last lines of {stem}.{stream}: {last}");
        }
    }
    String::new()
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "segmentation fault",
        libc::SIGABRT => "abort",
        libc::SIGBUS => "bus error",
        libc::SIGFPE => "arithmetic error",
        libc::SIGILL => "illegal instruction",
        libc::SIGKILL => "killed",
        libc::SIGTERM => "terminated",
        libc::SIGPIPE => "broken pipe",
        libc::SIGINT => "interrupt",
        libc::SIGXCPU => "processor time exceeded",
        libc::SIGXFSZ => "file size exceeded",
        _ => "see `kill -l`",
    }
}
