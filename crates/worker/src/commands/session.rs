//! A session: a greeting, then an answer to each request, a line each.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use datamill_host::KernelLog;
use datamill_protocol::{
    CommandAnswer, CommandGreeting, CommandRequest, FailureKind, IsolationFacts, IsolationKind,
    Phase, SCHEMA_VERSION,
};
use rustix::event::{PollFd, PollFlags, poll};
use serde::Serialize;

use super::execution::{Executions, execute};
use super::read_back::ReadBack;
use crate::host::this_worker;
use crate::interrupt::Interrupt;
use crate::trouble::failure;
use crate::world::{EncloseError, enclose};

/// What this kind of measuring keeps apart.
const NOTHING_APART: &str =
    "The command runs as the user who asked, in the user's own folder and environment.";

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
pub enum SessionEnd {
    /// Nothing more is asked.
    Done,
    /// It was interrupted.
    Interrupted,
    /// Nobody reads the answers.
    Unheard,
}

/// Answers the requests on standard input until it ends; files that commands make get no permissions of
/// `umask`. The error is the cause of there being no more answers.
///
/// Does so in a process below this one: should that be killed, this one ends what it left.
pub fn serve_commands(umask: u32, interrupt: &Interrupt) -> Result<SessionEnd, String> {
    let session = || {
        interrupt.heed_parent();
        converse(umask, interrupt).unwrap_or(SessionEnd::Unheard)
    };
    enclose(IsolationKind::Plain, true, interrupt, session).map_err(|error| match error {
        EncloseError::Impossible(cause) => cause,
        EncloseError::Died(cause) => format!("the process that measures is gone: {cause}"),
    })
}

fn converse(umask: u32, interrupt: &Interrupt) -> io::Result<SessionEnd> {
    say(&CommandGreeting {
        schema: SCHEMA_VERSION,
        worker: this_worker(),
        host: datamill_host::read_host_facts(),
        isolation: IsolationFacts::of(IsolationKind::Plain, NOTHING_APART.to_owned()),
    })?;
    let mut executions = Executions {
        umask,
        interrupt,
        kernel_log: KernelLog::open(),
        read_back: ReadBack::default(),
    };
    let mut requests = Requests::default();
    loop {
        match requests.next(interrupt)? {
            Next::End => return Ok(SessionEnd::Done),
            Next::Interruption => return Ok(SessionEnd::Interrupted),
            Next::Line(line) => say(&answer(&line, &mut executions))?,
        }
        if interrupt.is_pending() {
            return Ok(SessionEnd::Interrupted);
        }
    }
}

fn answer(line: &[u8], executions: &mut Executions<'_>) -> CommandAnswer {
    match serde_json::from_slice::<CommandRequest>(line) {
        Ok(request) => execute(&request, executions),
        Err(error) => CommandAnswer {
            schema: SCHEMA_VERSION,
            run: None,
            failure: Some(failure(
                Phase::Run,
                FailureKind::Internal,
                format!("The request is not one: {error}."),
                "Send one line of JSON as protocol/commands/command-request.schema.json describes it.",
            )),
            stdout_sha256: None,
            stderr_tail: String::new(),
            factors: Vec::new(),
            disturbance: None,
            build: None,
        },
    }
}

fn say(value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// What comes next on standard input.
enum Next {
    Line(Vec<u8>),
    End,
    Interruption,
}

/// The requests on standard input, and what was read of the next one.
#[derive(Default)]
struct Requests {
    read: Vec<u8>,
    has_ended: bool,
}

impl Requests {
    fn next(&mut self, interrupt: &Interrupt) -> io::Result<Next> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(end + 1);
                return Ok(Next::Line(std::mem::replace(&mut self.read, rest)));
            }
            if self.has_ended {
                let last = std::mem::take(&mut self.read);
                return Ok(match last.trim_ascii() {
                    [] => Next::End,
                    _ => Next::Line(last),
                });
            }
            let stdin = io::stdin();
            let mut entries = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::from_borrowed_fd(interrupt.as_fd(), PollFlags::IN),
            ];
            match poll(&mut entries, None) {
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled?,
            };
            if !entries[1].revents().is_empty() && interrupt.is_pending() {
                return Ok(Next::Interruption);
            }
            if !entries[0].revents().is_empty() {
                let mut chunk = [0u8; 1 << 13];
                let count = stdin.lock().read(&mut chunk)?;
                self.has_ended = count == 0;
                self.read.extend_from_slice(&chunk[..count]);
            }
        }
    }
}
