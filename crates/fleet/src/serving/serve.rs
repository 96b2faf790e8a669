//! From a start of the process to its end or to its next form.

use std::ffi::OsString;
use std::io;

use super::agent::{Agent, Parting};
use crate::disk::{FleetFolder, Identity, OpenAttempt};
use crate::exec::become_worker;
use crate::leasing::{boot_for, is_borrowed, reboot_machine};
use crate::machine::Machine;
use crate::measuring::{Found, recover};
use crate::network::Delays;
use crate::reports::clock_unix_ns;
use crate::termination::Termination;

/// How the agent serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServeOptions {
    /// Leave when an attempt has its receipt.
    pub once: bool,
    /// Whether an attempt has ended since the worker was started.
    pub has_run: bool,
}

/// Left because an attempt has its receipt.
const DONE: u8 = 0;
/// Something is wrong with this machine or its state folder.
const TROUBLE: u8 = 1;
/// Left because of Ctrl-C or a polite termination.
const INTERRUPTED: u8 = 130;

/// Serves trials until it is told to end; returns the exit status.
///
/// The process becomes the runner for each trial, and comes back.
pub fn serve(folder: &FleetFolder, machine: &dyn Machine, options: ServeOptions) -> u8 {
    match try_serve(folder, machine, options) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("datamill-worker: {error}");
            TROUBLE
        }
    }
}

fn try_serve(folder: &FleetFolder, machine: &dyn Machine, options: ServeOptions) -> io::Result<u8> {
    let termination = Termination::listen()?;
    let identity = Identity::read(folder)?.ok_or_else(|| {
        io::Error::other(format!(
            "this machine has not joined a fleet ({} is missing); use `datamill-worker join`",
            folder.identity().display()
        ))
    })?;
    // Held by this process alone: the runner takes it anew.
    let Some(_lock) = folder.lock()? else {
        return Err(io::Error::other(format!(
            "another worker uses the state folder {}; give each its own --state",
            folder.state().display()
        )));
    };
    let mut delays = Delays::new(clock_unix_ns());
    loop {
        if termination.is_pending() {
            break;
        }
        match recover(folder, machine, &termination) {
            Ok(Found::Nothing) => break,
            Ok(Found::Run) => return become_runner(folder, options, None),
            Ok(Found::Reboot) => {
                if boot(folder, &identity, &termination)? {
                    return Ok(INTERRUPTED);
                }
            }
            Err(error) => {
                eprintln!("datamill-worker: {error}");
                // Most likely the disk is full.
                folder.make_room();
                wait(&termination, delays.next());
            }
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let parting = runtime.block_on(async {
        Agent::new(folder, &identity, machine, &termination, options)?
            .serve()
            .await
    })?;
    // Connections are closed before anything is measured.
    drop(runtime);
    match parting {
        Parting::Done => {
            tell_borrowed();
            Ok(DONE)
        }
        Parting::Interrupted => {
            tell_borrowed();
            Ok(INTERRUPTED)
        }
        Parting::Run(lock) => {
            let descriptor = lock.pass_on()?;
            become_runner(folder, options, Some(descriptor))
        }
        Parting::Reboot => {
            if boot(folder, &identity, &termination)? {
                return Ok(INTERRUPTED);
            }
            // The journal tells that it was tried.
            drop(_lock);
            Err(become_worker(&agent_arguments(folder, options)))
        }
    }
}

/// Asks for the boot that the open attempt is to run in, else for the machine's own, and waits for it; tells whether
/// this process was told to end meanwhile.
fn boot(folder: &FleetFolder, identity: &Identity, termination: &Termination) -> io::Result<bool> {
    let asked = match OpenAttempt::read(folder)? {
        Some(open) => boot_for(identity, &open),
        None => reboot_machine(identity),
    };
    match asked {
        Ok(()) => wait(termination, std::time::Duration::from_secs(600)),
        Err(cause) => {
            eprintln!("datamill-worker: {cause}");
            wait(termination, std::time::Duration::from_secs(5));
        }
    }
    Ok(termination.is_pending())
}

/// Says that the machine is left in the boot of a trial.
fn tell_borrowed() {
    if is_borrowed() {
        eprintln!(
            "datamill-worker: this machine was booted for a trial, and stays so until it is rebooted: see /proc/cmdline"
        );
    }
}

fn wait(termination: &Termination, time: std::time::Duration) {
    let ends = std::time::Instant::now() + time;
    while !termination.is_pending() && std::time::Instant::now() < ends {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

fn become_runner(folder: &FleetFolder, options: ServeOptions, lock: Option<i32>) -> io::Result<u8> {
    let mut arguments: Vec<OsString> = vec![
        "run-leased".into(),
        "--state".into(),
        folder.state().as_os_str().to_owned(),
    ];
    if let Some(descriptor) = lock {
        arguments.push("--lock".into());
        arguments.push(descriptor.to_string().into());
    }
    if options.once {
        arguments.push("--once".into());
    }
    Err(become_worker(&arguments))
}

/// Arguments with which the runner becomes the agent again.
pub fn agent_arguments(folder: &FleetFolder, options: ServeOptions) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec![
        "serve-trials".into(),
        "--state".into(),
        folder.state().as_os_str().to_owned(),
    ];
    if options.once {
        arguments.push("--once".into());
    }
    if options.has_run {
        arguments.push("--has-run".into());
    }
    arguments
}
