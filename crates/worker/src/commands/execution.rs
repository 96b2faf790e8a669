//! One execution of a command, from its request to its answer.

use std::path::Path;

use datamill_host::{HostLook, KernelLog};
use datamill_probe::{ChildStep, Family, Launch, LaunchError, Measured, launch};
use datamill_protocol::{
    CommandAnswer, CommandBuild, CommandRequest, DisturbanceFacts, FactorFacts, Failure,
    FailureKind, Phase, SCHEMA_VERSION,
};

use super::read_back::ReadBack;
use super::request::{UnderstoodCommand, open_input, open_output, unusable};
use crate::factors::{fact, find_factor_set_at};
use crate::interrupt::Interrupt;
use crate::process::launch_failure;
use crate::trouble::{Step, failure};

/// Bytes of stderr that an answer shows.
const SHOWN_BYTES: usize = 2048;

/// What the executions of a session have in common.
pub struct Executions<'a> {
    /// Permissions that files of commands do not get.
    pub umask: u32,
    /// The pending interruption.
    pub interrupt: &'a Interrupt,
    /// The kernel's log, where it can be read.
    pub kernel_log: Option<KernelLog>,
    /// Factors that were read back before.
    pub read_back: ReadBack,
}

/// What was seen of an execution.
struct Seen {
    measured: Measured,
    factors: Vec<FactorFacts>,
    disturbance: DisturbanceFacts,
    build: Option<CommandBuild>,
}

/// Executes a command once; whatever happens, the answer tells it.
pub fn execute(request: &CommandRequest, executions: &mut Executions<'_>) -> CommandAnswer {
    match measure(request, executions) {
        Ok(seen) => answer_of(request, seen),
        Err(failure) => CommandAnswer {
            schema: SCHEMA_VERSION,
            run: None,
            failure: Some(failure),
            stdout_sha256: None,
            stderr_tail: String::new(),
            factors: unread_factors(request),
            disturbance: None,
            build: None,
        },
    }
}

fn measure(request: &CommandRequest, executions: &mut Executions<'_>) -> Step<Seen> {
    let command = UnderstoodCommand::of(request)?;
    let interrupt = executions.interrupt;
    let mut factors = executions.read_back.of(request, &command, interrupt);
    let stdin = open_input(request)?;
    let (stdout, stderr) = open_output(request)?;
    let log = executions.kernel_log.as_ref();
    let before = HostLook::take(log);
    let launched = launch(Launch {
        program: &command.program,
        name: Some(&command.words[0]),
        arguments: &command.words[1..],
        environment: &command.conditions.environment,
        directory: &command.directory,
        settings: &command.conditions.settings,
        confinement: None,
        own_session: true,
        with_counters: true,
        timeout: command.timeout,
        output_bytes: 0,
        stdin,
        stdout,
        stderr,
        umask: executions.umask,
        family: Family::Subreaper,
        bounds: None,
        interrupt: Some(interrupt),
    });
    let after = HostLook::take(log);
    let measured = launched.map_err(|error| not_launched(request, &command, &error))?;
    let mut build = None;
    if let Some(building) = &command.building {
        let (seen, of_build) = building.look()?;
        factors.extend(of_build);
        factors.sort_by(|left, right| left.name.cmp(&right.name));
        build = Some(seen);
    }
    let own_time_ns = measured.facts.user_time_ns + measured.facts.system_time_ns;
    Ok(Seen {
        disturbance: before.compare(&after, own_time_ns),
        measured,
        factors,
        build,
    })
}

fn answer_of(request: &CommandRequest, seen: Seen) -> CommandAnswer {
    let failure = judge(request, &seen.measured);
    CommandAnswer {
        schema: SCHEMA_VERSION,
        failure,
        stdout_sha256: seen.measured.stdout_digest.map(|digest| digest.to_string()),
        stderr_tail: last_text(&seen.measured.stderr_tail),
        run: Some(seen.measured.facts),
        factors: seen.factors,
        disturbance: Some(seen.disturbance),
        build: seen.build,
    }
}

/// Why a command was not left to its end.
fn judge(request: &CommandRequest, measured: &Measured) -> Option<Failure> {
    let name = &request.command[0];
    if measured.interrupted {
        return Some(failure(
            Phase::Run,
            FailureKind::Internal,
            "The worker was interrupted.",
            "Measure again.",
        ));
    }
    measured.facts.timed_out.then(|| {
        failure(
            Phase::Run,
            FailureKind::Timeout,
            format!(
                "`{name}` exceeded its {} s and was killed with everything it had started.",
                request.timeout_s
            ),
            "Give it more time, or find out what it waited for.",
        )
    })
}

fn not_launched(
    request: &CommandRequest,
    command: &UnderstoodCommand,
    error: &LaunchError,
) -> Failure {
    let name = format!("`{}`", request.command[0]);
    if let LaunchError::Child {
        step: ChildStep::Directory,
        error,
    } = error
    {
        return unusable(
            format!(
                "The folder {} cannot be entered: {error}.",
                request.directory
            ),
            "Name a folder that you may enter.",
        );
    }
    if error.execute_error().and_then(std::io::Error::raw_os_error) == Some(libc::E2BIG) {
        return unusable(
            format!("{name} cannot be executed: its arguments and environment are too long."),
            "Shorten them, or ask for less env_padding or a larger stack_limit: the kernel gives a quarter of the stack to them.",
        );
    }
    launch_failure(
        Phase::Run,
        &name,
        Path::new(&command.program),
        error,
        find_factor_set_at,
    )
}

fn unread_factors(request: &CommandRequest) -> Vec<FactorFacts> {
    let evidence = "The command was not executed.";
    let levels = request.levels.iter();
    levels
        .map(|(name, level)| fact(name, level, None, evidence.to_owned()))
        .collect()
}

/// The end of a stream as text, from the start of a character on.
fn last_text(tail: &[u8]) -> String {
    let shown = &tail[tail.len().saturating_sub(SHOWN_BYTES)..];
    let is_inside = |byte: &&u8| **byte & 0xc0 == 0x80;
    let cut = match shown.len() < tail.len() {
        true => shown.iter().take(3).take_while(is_inside).count(),
        false => 0,
    };
    String::from_utf8_lossy(&shown[cut..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_stream_begins_with_a_whole_character() {
        let text = "é".repeat(2000);
        assert_eq!(last_text(text.as_bytes()), "é".repeat(1024));
        assert_eq!(last_text(format!("{text}x").as_bytes()).len(), 2047);
        assert_eq!(last_text(b"\x80x"), "\u{fffd}x");
    }
}
