//! The running kernel loads another one and starts it: kexec.

use std::env;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::kernels::{InstalledKernel, list_kernels};
use super::reboots::are_kept_by_reboots;
use super::state::BootState;
use super::wanted::WantedBoot;
use crate::state::Host;

/// The kernel is to be started without an initial memory disk.
const NO_INITRAMFS: libc::c_ulong = 4;

/// What loads a kernel here.
enum Loader {
    /// The running kernel reads the files itself.
    Kernel,
    /// The program of kexec-tools prepares them.
    Program(PathBuf),
}

/// Whether this machine can boot kernels for trials, its own among them; the error is one sentence without a
/// full stop.
pub fn check_boots(host: &Host) -> Result<(), String> {
    find_loader(host)?;
    match are_kept_by_reboots(host) {
        Ok(false) => {}
        Ok(true) => {
            return Err(
                "its reboots keep the command line of the boot that runs (LOAD_KEXEC=true in /etc/default/kexec), and it \
                 would not get its own boot back"
                    .to_owned(),
            );
        }
        Err(cause) => {
            return Err(format!(
                "its worker cannot tell whether kexec-tools would give it its own boot back: {cause}"
            ));
        }
    }
    let state = BootState::read(host)?;
    if state.own_line.split(' ').any(|word| word == "--") {
        return Err(
            "words for its first process end its command line, and nothing can be added".to_owned(),
        );
    }
    find_kernel(host, &state.own_release).map(drop)
}

/// Boots into what a trial wants; it comes soon after this returns without an error, which is one sentence.
///
/// Everything written is on the disks then. Nothing that outlives this boot and the next is changed.
pub fn boot_into(host: &Host, wanted: &WantedBoot) -> Result<(), String> {
    let state = BootState::read(host)?;
    let kernel = find_kernel(host, wanted.release_on(&state))?;
    let line = state.line_with(&wanted.parameters);
    match find_loader(host)? {
        Loader::Kernel => load(&kernel, &line)?,
        Loader::Program(program) => load_with(&program, &kernel, &line)?,
    }
    // SAFETY: no pointers involved.
    unsafe { libc::sync() };
    if Path::new("/run/systemd/system").is_dir() {
        // It ends services and unmounts file systems, as before any other reboot.
        return run(Command::new("systemctl").arg("kexec"));
    }
    // SAFETY: no pointers involved.
    unsafe { libc::reboot(libc::LINUX_REBOOT_CMD_KEXEC) };
    Err(format!(
        "the kernel does not start the one that it loaded: {}",
        io::Error::last_os_error()
    ))
}

fn find_kernel(host: &Host, release: &str) -> Result<InstalledKernel, String> {
    list_kernels(host)
        .into_iter()
        .find(|kernel| kernel.release == release)
        .ok_or_else(|| {
            format!("there is no image of the kernel {release} in /boot or /lib/modules")
        })
}

fn find_loader(host: &Host) -> Result<Loader, String> {
    // SAFETY: no pointers involved.
    if unsafe { libc::geteuid() } != 0 {
        return Err("starting another kernel needs a worker that is root".to_owned());
    }
    if host
        .read("/proc/sys/kernel/kexec_load_disabled")
        .is_ok_and(|told| told == "1")
    {
        return Err("its kernel was told to load no other (kexec_load_disabled)".to_owned());
    }
    // No file is open under these numbers: nothing is loaded, and the error tells what would be.
    // SAFETY: there is no command line to read.
    let refused = unsafe {
        libc::syscall(
            libc::SYS_kexec_file_load,
            -1,
            -1,
            0 as libc::c_ulong,
            std::ptr::null::<libc::c_char>(),
            0 as libc::c_ulong,
        )
    };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        _ if refused == 0 => Ok(Loader::Kernel),
        Some(libc::ENOSYS) => {
            let program =
                find_program("kexec").filter(|_| host.path("/sys/kernel/kexec_loaded").exists());
            program.map(Loader::Program).ok_or_else(|| {
                "its kernel cannot load another (CONFIG_KEXEC_FILE), and there is no program kexec for CONFIG_KEXEC"
                    .to_owned()
            })
        }
        Some(libc::EPERM | libc::EACCES) => Err(
            "this process may not load a kernel: this is a container, or the kernel is locked down"
                .to_owned(),
        ),
        _ => Ok(Loader::Kernel),
    }
}

fn load(kernel: &InstalledKernel, line: &str) -> Result<(), String> {
    let open =
        |path: &Path| File::open(path).map_err(|error| format!("{}: {error}", path.display()));
    let image = open(&kernel.image)?;
    let initrd = kernel.initrd.as_deref().map(open).transpose()?;
    let flags = if initrd.is_some() { 0 } else { NO_INITRAMFS };
    let line = CString::new(line).map_err(|error| error.to_string())?;
    // SAFETY: the line lives until the call ends, and has the length given with its final NUL.
    let told = unsafe {
        libc::syscall(
            libc::SYS_kexec_file_load,
            image.as_raw_fd(),
            initrd.as_ref().map_or(-1, AsRawFd::as_raw_fd),
            line.as_bytes_with_nul().len() as libc::c_ulong,
            line.as_ptr(),
            flags,
        )
    };
    if told == 0 {
        return Ok(());
    }
    Err(format!(
        "the kernel does not load {}: {}",
        kernel.image.display(),
        io::Error::last_os_error()
    ))
}

fn load_with(program: &Path, kernel: &InstalledKernel, line: &str) -> Result<(), String> {
    let mut command = Command::new(program);
    command.arg("--load").arg(&kernel.image);
    if let Some(initrd) = &kernel.initrd {
        command.arg(format!("--initrd={}", initrd.display()));
    }
    command.arg(format!("--command-line={line}"));
    run(&mut command)
}

fn run(command: &mut Command) -> Result<(), String> {
    let told = format!("{command:?}").replace('"', "");
    let ended = command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("`{told}` cannot be run: {error}"))?;
    match ended.success() {
        true => Ok(()),
        false => Err(format!("`{told}` does not boot: {ended}")),
    }
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    #[test]
    fn a_machine_that_cannot_boot_for_trials_says_why() {
        // SAFETY: no pointers involved.
        if unsafe { libc::geteuid() } != 0 {
            let cause = check_boots(&FakeHost::new().host).unwrap_err();
            assert!(cause.contains("root"), "{cause}");
            return;
        }
        let host = FakeHost::new();
        host.write("/proc/sys/kernel/kexec_load_disabled", "1");
        let cause = check_boots(&host.host).unwrap_err();
        assert!(cause.contains("kexec_load_disabled"), "{cause}");
    }

    #[test]
    fn a_kernel_without_an_image_is_named() {
        let host = FakeHost::new();
        let cause = find_kernel(&host.host, "6.1.0-gone").unwrap_err();
        assert_eq!(
            cause,
            "there is no image of the kernel 6.1.0-gone in /boot or /lib/modules"
        );
    }
}
