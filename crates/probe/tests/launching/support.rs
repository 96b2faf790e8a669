//! Launching one process in a test.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use datamill_probe::{
    Family, Interruption, Launch, LaunchError, Measured, Output as Stream, ProcessSettings,
    USUAL_UMASK, launch,
};

pub fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: OnceLock<Mutex<()>> = OnceLock::new();
    let turn = TURN.get_or_init(|| {
        // SAFETY: no pointers involved.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        Mutex::new(())
    });
    turn.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub struct Request<'a> {
    pub program: &'a str,
    pub arguments: &'a [&'a str],
    pub environment: &'a [&'a str],
    pub timeout: Option<Duration>,
    pub output_bytes: u64,
    pub settings: ProcessSettings,
    pub interrupt: Option<&'a Pipe>,
}

pub const QUIET: Request<'static> = Request {
    program: "/bin/true",
    arguments: &[],
    environment: &["PATH=/usr/bin:/bin"],
    timeout: Some(Duration::from_secs(60)),
    output_bytes: 1 << 20,
    settings: ProcessSettings::RANDOMIZED,
    interrupt: None,
};

/// An interruption that comes when the other end is closed; a byte is none.
pub struct Pipe(OwnedFd);

impl Interruption for Pipe {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn has_come(&self) -> bool {
        let mut byte = 0u8;
        // SAFETY: room for one byte.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut byte).cast(), 1) == 0 }
    }
}

pub fn interruption() -> (Pipe, File) {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, owned below.
    unsafe {
        assert_eq!(
            libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK),
            0
        );
        let [reading, writing] = ends.map(|end| OwnedFd::from_raw_fd(end));
        (Pipe(reading), File::from(writing))
    }
}

pub struct Output {
    pub measured: Measured,
    pub stdout: String,
    pub stderr: String,
}

pub fn try_run(request: &Request<'_>) -> Result<Output, LaunchError> {
    let strings = |list: &[&str]| {
        list.iter()
            .map(|text| CString::new(*text).unwrap())
            .collect::<Vec<_>>()
    };
    let (mut stdout, mut stderr) = (temporary_file(), temporary_file());
    let measured = launch(Launch {
        program: Path::new(request.program),
        name: None,
        arguments: &strings(request.arguments),
        environment: &strings(request.environment),
        directory: Path::new("/"),
        settings: &request.settings,
        confinement: None,
        own_session: true,
        with_counters: true,
        timeout: request.timeout,
        output_bytes: request.output_bytes,
        stdin: None,
        stdout: Stream::Kept(stdout.try_clone().unwrap()),
        stderr: Stream::Kept(stderr.try_clone().unwrap()),
        umask: USUAL_UMASK,
        family: Family::Subreaper,
        bounds: None,
        interrupt: request.interrupt.map(|pipe| pipe as &dyn Interruption),
    })?;
    Ok(Output {
        measured,
        stdout: content(&mut stdout),
        stderr: content(&mut stderr),
    })
}

pub fn run(request: &Request<'_>) -> Output {
    try_run(request).unwrap()
}

pub fn run_shell(script: &str) -> Output {
    run(&Request {
        program: "/bin/sh",
        arguments: &["-c", script],
        ..QUIET
    })
}

fn temporary_file() -> File {
    // SAFETY: a valid name; the descriptor is fresh.
    unsafe {
        let descriptor = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
        assert!(descriptor >= 0);
        File::from_raw_fd(descriptor)
    }
}

fn content(file: &mut File) -> String {
    let mut text = String::new();
    file.rewind().unwrap();
    file.read_to_string(&mut text).unwrap();
    text
}

pub fn processes_with(marker: &str) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}
