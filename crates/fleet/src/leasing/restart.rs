//! Rebooting the machine before a trial, also into what the trial asks for, and back into its own.

use std::path::Path;
use std::process::{Command, Stdio};

use datamill_host::{BootState, Host, WantedBoot, boot_into};

use super::policy::wanted_boot;
use crate::disk::{Identity, OpenAttempt};
use crate::reports::boot_id;

/// Whether this worker is able to reboot its machine; the error is one sentence.
pub fn check_reboot(identity: &Identity) -> Result<(), String> {
    if identity.reboot_command.is_some() || rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err("The worker is not root and its owner gave it no --reboot-command.".to_owned())
}

/// Whether the machine is in the boot that an attempt is to run in: one of its own where it is to be rebooted, one
/// that was made as its levels say, and else the machine's own.
pub fn is_ready(open: &OpenAttempt) -> bool {
    if open.lease.reboot && open.taken_boot_id == boot_id() {
        return false;
    }
    let wanted = wanted_boot(&open.lease);
    match BootState::read(&Host::here()) {
        Ok(state) => WantedBoot::is_met_or_own(wanted.as_ref(), &state),
        // Where the kernel does not tell, nothing was ever booted for a trial.
        Err(_) => wanted.is_none(),
    }
}

/// Whether this boot was made for a trial; the error of a kernel that does not tell is that it was not.
pub fn is_borrowed() -> bool {
    BootState::read(&Host::here()).is_ok_and(|state| state.is_borrowed)
}

/// Asks for the boot that an attempt is to run in; it comes soon after this returns without an error.
pub fn boot_for(identity: &Identity, open: &OpenAttempt) -> Result<(), String> {
    match wanted_boot(&open.lease) {
        Some(wanted) => boot_into(&Host::here(), &wanted),
        None => reboot_machine(identity),
    }
}

/// Asks for the reboot, everything written to the disks; it comes soon after this returns without an error.
pub fn reboot_machine(identity: &Identity) -> Result<(), String> {
    rustix::fs::sync();
    match &identity.reboot_command {
        Some(command) => run("sh", &["-c", command]),
        None if Path::new("/run/systemd/system").is_dir() => run("systemctl", &["reboot"]),
        None => rustix::system::reboot(rustix::system::RebootCommand::Restart)
            .map_err(|error| format!("the kernel does not reboot: {error}")),
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let told = format!("`{program} {}`", arguments.join(" "));
    let ended = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("{told} cannot be run: {error}"))?;
    if ended.success() {
        Ok(())
    } else {
        Err(format!("{told} does not reboot: {ended}"))
    }
}
