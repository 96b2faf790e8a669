//! `datamill-worker`: runs trials, one at a time, and tells what it saw.

mod assignment;
mod build;
mod command_line;
mod commands;
mod factors;
mod fleet;
mod guest;
mod host;
mod interrupt;
mod load;
mod package;
mod process;
mod resources;
mod scratch;
mod trial;
mod trouble;
mod world;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use datamill_fleet::RunOptions;
use datamill_protocol::{IsolationWanted, Outcome, TrialRecord};
use rustix::fs::Mode;
use rustix::process::{Signal, set_parent_process_death_signal, umask};
use serde::Serialize;

use assignment::Purpose;
use command_line::{Command, help_text, parse_command_line};
use commands::SessionEnd;
use fleet::FleetOptions;
use host::RestoreOptions;
use interrupt::Interrupt;

/// A trial that completed, a build that is there.
const DONE: u8 = 0;
/// A trial that did not complete but has its record; a build that failed.
const NOT_COMPLETED: u8 = 1;
/// Input that cannot be used.
const BAD_INPUT: u8 = 2;
/// Interrupted by Ctrl-C or a polite termination.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    if std::env::args_os()
        .next()
        .is_some_and(|name| datamill_compiler::is_wrapped_program(&name))
    {
        datamill_compiler::run_wrapper();
    }
    let arguments = std::env::args_os().skip(1).collect();
    if let Some(folder) = std::env::var_os(datamill_host::STATE_VARIABLE)
        && !Path::new(&folder).is_absolute()
    {
        return ExitCode::from(refuse(&format!(
            "{} is `{}`: name the state folder by an absolute path, or unset it",
            datamill_host::STATE_VARIABLE,
            folder.display()
        )));
    }
    let done = match parse_command_line(arguments) {
        Ok(Command::RunTrial {
            spec,
            record,
            parent,
        }) => run_trial(&spec, record.as_deref(), parent),
        Ok(Command::BuildPackage { spec, parent }) => build_package(&spec, parent),
        Ok(Command::MeasureCommands { parent }) => measure_commands(parent),
        Ok(Command::Inventory) => print_json(&datamill_host::read_host_facts()),
        Ok(Command::FleetInventory(options)) => print_json(&fleet::fleet_inventory(&options)),
        Ok(Command::Join { options, request }) => serve(fleet::join_fleet(&options, &request)),
        Ok(Command::ServeTrials(options)) => serve(fleet::serve_trials(&options)),
        Ok(Command::RunLeased {
            options,
            run,
            parent,
        }) => run_leased(&options, run, parent),
        Ok(Command::Noise { seconds }) => print_json(&datamill_host::measure_noise(seconds)),
        Ok(Command::Factors { asked, user, guest }) => print_offers(&asked, &user, guest),
        Ok(Command::Places(paths)) => print_json(&host::look_at_places(&paths)),
        Ok(Command::Restore(options)) => restore(options),
        Ok(Command::Witness) => factors::observe_witness().and_then(|seen| {
            writeln!(io::stdout(), "{}", serde_json::to_string(&seen)?)?;
            Ok(DONE)
        }),
        Ok(Command::BootGuest) => guest::boot_guest(),
        Ok(Command::RunGuestJob) => run_guest_job(),
        Ok(Command::Help(command)) => print(&help_text(command)),
        Ok(Command::Version) => print(&format!("datamill-worker {}\n", env!("CARGO_PKG_VERSION"))),
        Err(misuse) => Ok(refuse(&misuse.to_string())),
    };
    ExitCode::from(done.unwrap_or_else(|error| refuse(&error.to_string())))
}

fn run_trial(spec: &Path, record: Option<&Path>, parent: Option<u32>) -> io::Result<u8> {
    let (spec, levels) = match trial::read_spec(spec) {
        Ok(read) => read,
        Err(cause) => return Ok(refuse(&cause)),
    };
    let interrupt = prepare_process(parent)?;
    // Before the trial: a record that has no place would be lost only after hours of measuring.
    let draft = match record.map(RecordDraft::make).transpose() {
        Ok(draft) => draft,
        Err(cause) => return Ok(refuse(&cause)),
    };
    let told = match spec.isolation {
        IsolationWanted::Guest => {
            guest::run_trial_in_guest(&spec, Purpose::Measurements, &levels, None, &interrupt)
        }
        _ => trial::run_trial(&spec, Purpose::Measurements, &levels, &interrupt),
    };
    match draft {
        Some(draft) => draft.finish(&told)?,
        None => drop(print_json(&told)?),
    }
    Ok(match told.outcome {
        Outcome::Completed => DONE,
        Outcome::Lost if interrupt.is_pending() => INTERRUPTED,
        _ => NOT_COMPLETED,
    })
}

/// What cannot be used ends like bad input.
fn serve(served: Result<u8, String>) -> io::Result<u8> {
    Ok(served.unwrap_or_else(|cause| refuse(&cause)))
}

fn run_leased(options: &FleetOptions, run: RunOptions, parent: Option<u32>) -> io::Result<u8> {
    if parent.is_some() {
        prepare_process(parent)?;
    }
    serve(fleet::run_leased_trial(options, run))
}

fn build_package(spec: &Path, parent: Option<u32>) -> io::Result<u8> {
    let (spec, levels) = match trial::read_spec(spec) {
        Ok(read) => read,
        Err(cause) => return Ok(refuse(&cause)),
    };
    let interrupt = prepare_process(parent)?;
    let built = match spec.isolation {
        IsolationWanted::Guest => guest::build_package_in_guest(&spec, &levels, &interrupt),
        _ => trial::build_shared_package(&spec, &levels, &interrupt),
    };
    match built {
        Ok(build) => print_json(&build),
        Err(failure) => {
            eprintln!("datamill-worker: {}\n{}", failure.message, failure.remedy);
            Ok(if interrupt.is_pending() {
                INTERRUPTED
            } else {
                NOT_COMPLETED
            })
        }
    }
}

fn measure_commands(parent: Option<u32>) -> io::Result<u8> {
    let users = umask(Mode::from_raw_mode(0o022));
    let interrupt = prepare_process(parent)?;
    // What the commands of a user make is the user's.
    umask(users);
    Ok(match commands::serve_commands(users.bits(), &interrupt) {
        Ok(SessionEnd::Done) => DONE,
        Ok(SessionEnd::Interrupted) => INTERRUPTED,
        Ok(SessionEnd::Unheard) => NOT_COMPLETED,
        Err(cause) => {
            eprintln!("datamill-worker: {cause}");
            NOT_COMPLETED
        }
    })
}

fn print_offers(asked: &[(String, String)], user: &[PathBuf], guest: bool) -> io::Result<u8> {
    let interrupt = prepare_process(None)?;
    if guest {
        return match guest::offer_in_guest(asked, user, &interrupt) {
            Ok(offers) => print_json(&offers),
            Err(cause) => Ok(refuse(&format!("--guest: {cause}"))),
        };
    }
    match factors::offer_user_factors(user, &interrupt) {
        Ok(user) => print_json(&factors::offer_asked(asked, user)),
        Err(cause) => Ok(refuse(&format!("--user: {cause}"))),
    }
}

fn run_guest_job() -> io::Result<u8> {
    umask(Mode::from_raw_mode(0o022));
    guest::run_guest_job(&Interrupt::listen()?)?;
    Ok(DONE)
}

fn restore(options: RestoreOptions) -> io::Result<u8> {
    // From here on an interruption waits: half a restoration helps nobody.
    let _interrupt = Interrupt::listen()?;
    Ok(match host::restore(options) {
        Ok(true) => DONE,
        Ok(false) => NOT_COMPLETED,
        Err(cause) => {
            eprintln!("datamill-worker: {cause}");
            NOT_COMPLETED
        }
    })
}

/// What holds for the whole process: it ends with whoever started it, listens for interruptions and
/// gives its files ordinary modes.
fn prepare_process(parent: Option<u32>) -> io::Result<Interrupt> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // Whoever started us may have died before it could be asked to signal that.
    if parent.is_some_and(|parent| std::os::unix::process::parent_id() != parent) {
        return Err(io::Error::other(
            "the process that started this one is gone",
        ));
    }
    umask(Mode::from_raw_mode(0o022));
    Interrupt::listen()
}

/// A record on its way to a file, under a temporary name so that a reader never sees half of it.
struct RecordDraft<'a> {
    path: &'a Path,
    draft: PathBuf,
    file: File,
}

impl<'a> RecordDraft<'a> {
    /// Makes the draft; the error is one sentence for the user.
    fn make(path: &'a Path) -> Result<Self, String> {
        let refused = |cause: String| {
            format!(
                "--record: {} cannot be written: {cause}; name a file in an existing, writable folder",
                path.display()
            )
        };
        if path.is_dir() {
            return Err(refused("it is a folder".to_owned()));
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(".part");
        let file = File::create(&draft).map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            path,
            draft: draft.into(),
            file,
        })
    }

    fn finish(mut self, record: &TrialRecord) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.file, record)?;
        self.file.write_all(b"\n")?;
        self.file.sync_data()?;
        fs::rename(&self.draft, self.path)
    }
}

fn print_json(value: &impl Serialize) -> io::Result<u8> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
}

fn print(text: &str) -> io::Result<u8> {
    io::stdout().write_all(text.as_bytes())?;
    Ok(DONE)
}

fn refuse(cause: &str) -> u8 {
    eprintln!("datamill-worker: {cause}");
    BAD_INPUT
}
