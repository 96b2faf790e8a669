//! Rebooting the machine before a trial.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::disk::Identity;

/// Whether this worker is able to reboot its machine; the error is one sentence.
pub fn check_reboot(identity: &Identity) -> Result<(), String> {
    if identity.reboot_command.is_some() || rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err("The worker is not root and its owner gave it no --reboot-command.".to_owned())
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
