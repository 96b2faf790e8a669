//! The first process of a guest: makes a machine of what booted, and starts the worker in it.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, mount, mount_move};
use rustix::process::{chdir, chroot};

use crate::guest::machine::{ROOT_DISK, UP};

/// Where the root is before it is the root.
const NEW_ROOT: &str = "/root-to-be";
/// The worker in the guest.
const WORKER: &str = "/run/datamill-worker";
/// Time that the kernel gets to show a disk.
const PATIENCE: Duration = Duration::from_secs(30);

/// Boots, runs the job and switches the machine off; never returns.
pub fn boot_guest() -> ! {
    // Anywhere else this would take the machine down.
    // SAFETY: no pointers involved.
    if unsafe { libc::getpid() } != 1 || !Path::new("/modules").is_dir() {
        eprintln!("datamill-worker: boot-guest is for the first process of a guest");
        std::process::exit(2);
    }
    match make_machine() {
        Ok(()) => {
            println!("{UP}");
            run_job();
        }
        Err(error) => println!("datamill: the guest cannot boot: {error}"),
    }
    // SAFETY: the whole machine ends here.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
        loop {
            libc::pause();
        }
    }
}

fn make_machine() -> io::Result<()> {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount_new(kind, Path::new(at), c"")?;
    }
    let mut modules: Vec<PathBuf> = fs::read_dir("/modules")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    modules.sort();
    for module in modules {
        load_module(&module)?;
    }
    let root = find_disk(ROOT_DISK)?;
    fs::create_dir_all(NEW_ROOT)?;
    mount(&root, NEW_ROOT, "ext4", MountFlags::RDONLY, c"noload")?;
    let new_root = Path::new(NEW_ROOT);
    for (name, options) in [
        ("run", c"mode=755"),
        ("tmp", c"mode=1777"),
        ("var", c"mode=755,size=75%"),
        ("root", c"mode=700"),
    ] {
        mount_new("tmpfs", &new_root.join(name), options)?;
    }
    fs::copy("/init", below(new_root, WORKER))?;
    for at in ["/proc", "/sys", "/dev"] {
        mount_move(at, below(new_root, at))?;
    }
    chdir(new_root)?;
    mount_move(".", "/")?;
    chroot(".")?;
    chdir("/")?;
    for (kind, at, options) in [
        ("devpts", "/dev/pts", c"ptmxmode=0666,mode=0600"),
        ("tmpfs", "/dev/shm", c"mode=1777"),
        ("mqueue", "/dev/mqueue", c""),
    ] {
        fs::create_dir_all(at)?;
        mount_new(kind, Path::new(at), options)?;
    }
    // Without it there are no bounds by groups, which a guest has less need of.
    mount_new("cgroup2", Path::new("/sys/fs/cgroup"), c"").ok();
    for folder in ["/var/tmp", "/var/lib", "/var/log", "/var/cache"] {
        fs::create_dir_all(folder)?;
    }
    rustix::system::sethostname(b"guest")?;
    raise_loopback()
}

fn below(root: &Path, place: &str) -> PathBuf {
    root.join(place.trim_start_matches('/'))
}

fn mount_new(kind: &str, at: &Path, options: &std::ffi::CStr) -> io::Result<()> {
    mount(kind, at, kind, MountFlags::empty(), options)
        .map_err(|error| io::Error::other(format!("mounting {}: {error}", at.display())))
}

fn load_module(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // SAFETY: the descriptor is open and the text ends.
    let loaded =
        unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    let error = io::Error::last_os_error();
    if loaded != 0 && error.raw_os_error() != Some(libc::EEXIST) {
        return Err(io::Error::other(format!("{}: {error}", path.display())));
    }
    Ok(())
}

/// Finds the disk with a serial number; the kernel may still be looking for disks.
pub fn find_disk(serial: &str) -> io::Result<PathBuf> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        for entry in fs::read_dir("/sys/block")? {
            let entry = entry?;
            let told = fs::read_to_string(entry.path().join("serial")).unwrap_or_default();
            let device = Path::new("/dev").join(entry.file_name());
            if told.trim_matches(['\0', '\n', ' ']) == serial && device.exists() {
                return Ok(device);
            }
        }
        if Instant::now() >= deadline {
            return Err(io::Error::other(format!("there is no disk {serial}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn raise_loopback() -> io::Result<()> {
    // SAFETY: the request lives on this stack and is all zero but for what is set here.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let raised = libc::ioctl(socket, libc::SIOCSIFFLAGS as _, ptr::from_ref(&request));
        libc::close(socket);
        if raised < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Runs the worker as a process of its own, and buries every other orphan until it has ended.
fn run_job() {
    // SAFETY: a single thread; the child executes or exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        execute_worker();
    }
    loop {
        let mut status = 0;
        // SAFETY: valid pointer.
        let ended = unsafe { libc::wait(&mut status) };
        if ended == child || (ended < 0 && child < 0) {
            if libc::WIFSIGNALED(status) {
                println!(
                    "datamill: the worker inside was killed by signal {}",
                    libc::WTERMSIG(status)
                );
            }
            return;
        }
    }
}

fn execute_worker() -> ! {
    let program = CString::new(Path::new(WORKER).as_os_str().as_bytes()).unwrap_or_default();
    let arguments = [program.as_ptr(), c"run-guest-job".as_ptr(), ptr::null()];
    let variables = [
        c"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".as_ptr(),
        c"HOME=/root".as_ptr(),
        c"LANG=C.UTF-8".as_ptr(),
        ptr::null(),
    ];
    // SAFETY: all texts outlive the call.
    unsafe {
        libc::setsid();
        libc::execve(program.as_ptr(), arguments.as_ptr(), variables.as_ptr());
        libc::_exit(127)
    }
}
