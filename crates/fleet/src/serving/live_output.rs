//! Debug trials, which measure nothing: the agent stays connected and sends what their scripts print.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::Client;
use datamill_protocol::ReportContent;
use tokio::time::sleep;

use crate::disk::{FleetFolder, Identity, OpenAttempt, is_spooled, work_output};
use crate::exec::own_program;
use crate::locks::HostLock;
use crate::reports::make_report;
use crate::termination::Termination;

/// Time between two looks at the output.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// Longest piece, in bytes.
const LONGEST_PIECE: usize = 32 * 1024;
/// Most that is sent of one attempt, in bytes; the whole is among its files.
const MOST_OUTPUT: u64 = 4 << 20;

/// Runs the attempt in the journal in a child, and sends its output while it grows.
pub async fn run_with_live_output(
    folder: &FleetFolder,
    identity: &Identity,
    client: &Client,
    open: &OpenAttempt,
    lock: HostLock,
    termination: &Termination,
) -> io::Result<()> {
    let attempt = &open.lease.attempt;
    let mut runner = start_runner(folder, lock)?;
    let mut pieces = Pieces::default();
    let mut was_told = false;
    loop {
        let ended = runner.try_wait()?.is_some();
        // The spool is where the output goes at the end.
        let output = if is_spooled(folder, attempt) {
            folder.spool().join(attempt).join("output")
        } else {
            work_output(folder, attempt)
        };
        for (phase, text) in pieces.read_new(&output) {
            let content = ReportContent::Output {
                attempt: attempt.clone(),
                phase,
                number: pieces.number,
                text,
            };
            pieces.number += 1;
            let report = make_report(&identity.worker_id, content);
            let subject = format!("status.{}", identity.worker_id);
            // It may be lost: the whole output comes with the record.
            client
                .publish(subject, serde_json::to_vec(&report)?.into())
                .await
                .ok();
        }
        if ended {
            return Ok(());
        }
        if termination.is_pending() && !was_told {
            was_told = true;
            tell_to_end(&runner);
        }
        sleep(LOOK_EVERY).await;
    }
}

fn start_runner(folder: &FleetFolder, lock: HostLock) -> io::Result<Child> {
    let arguments: [OsString; 7] = [
        "run-leased".into(),
        "--state".into(),
        folder.state().as_os_str().to_owned(),
        "--lock".into(),
        lock.pass_on()?.to_string().into(),
        "--child-of".into(),
        std::process::id().to_string().into(),
    ];
    // The agent's own descriptor of the lock is closed when this returns.
    Command::new(own_program()?)
        .args(arguments)
        .stdin(Stdio::null())
        .spawn()
}

fn tell_to_end(runner: &Child) {
    if let Some(pid) = i32::try_from(runner.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
    }
}

/// How much of each file was sent.
#[derive(Default)]
struct Pieces {
    offsets: BTreeMap<OsString, u64>,
    sent_bytes: u64,
    number: u64,
}

impl Pieces {
    /// What has been added to the files of a folder: phase and text.
    fn read_new(&mut self, output: &Path) -> Vec<(String, String)> {
        let mut names: Vec<OsString> = fs::read_dir(output)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        names.sort_by_cached_key(|name| phase_order(name));
        let mut found = Vec::new();
        for name in names {
            let phase = match name.to_str().and_then(|name| name.rsplit_once('.')) {
                Some((phase, "out" | "err")) => phase.to_owned(),
                _ => continue,
            };
            let offset = self.offsets.entry(name.clone()).or_default();
            while self.sent_bytes < MOST_OUTPUT {
                let piece = match read_piece(&output.join(&name), *offset) {
                    Ok(piece) if !piece.is_empty() => piece,
                    _ => break,
                };
                *offset += piece.len() as u64;
                self.sent_bytes += piece.len() as u64;
                found.push((phase.clone(), String::from_utf8_lossy(&piece).into_owned()));
            }
        }
        found
    }
}

/// Phases one after the other, as they ran.
fn phase_order(name: &OsStr) -> (usize, OsString) {
    const PHASES: [&str; 4] = ["setup", "run-warmup", "run", "collect"];
    let text = name.to_string_lossy();
    let place = PHASES.iter().position(|phase| text.starts_with(phase));
    (place.unwrap_or(0), name.to_owned())
}

fn read_piece(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut piece = Vec::new();
    file.take(LONGEST_PIECE as u64).read_to_end(&mut piece)?;
    // A character that is cut in two waits for its other half, unless that never comes.
    if let Err(error) = std::str::from_utf8(&piece)
        && error.error_len().is_none()
        && error.valid_up_to() > 0
    {
        piece.truncate(error.valid_up_to());
    }
    Ok(piece)
}
