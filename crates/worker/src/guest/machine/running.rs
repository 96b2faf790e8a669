//! A guest from its switching on to its end.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use datamill_protocol::Accelerator;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::emulator::{Emulator, Machine};
use super::image::{GuestImage, make_initramfs};
use super::jail::{Jail, start};
use crate::interrupt::Interrupt;

/// What the guest's first process says when nothing of the package has run.
pub const UP: &str = "datamill: the guest is up";
/// What a kernel says of its end.
const PANIC: &str = "Kernel panic";
/// Kept bytes of what a guest says on its console.
const KEPT: usize = 8 << 10;

/// A guest about to be switched on.
pub struct Boot<'a> {
    /// What it boots.
    pub image: &'a GuestImage,
    /// What emulates it.
    pub emulator: &'a Emulator,
    /// What it is made of.
    pub machine: Machine,
    /// An empty folder of its own.
    pub stage: &'a Path,
    /// Disk with its job.
    pub job: &'a File,
    /// Disk for its result.
    pub result: &'a File,
    /// Size of that disk, in bytes.
    pub result_bytes: u64,
    /// Time until its first process runs.
    pub boot_timeout: Duration,
    /// Time after that.
    pub timeout: Duration,
}

/// How a guest ended.
#[derive(Debug)]
pub enum Ended {
    /// It went off: by itself, in a panic, or because it rebooted.
    Off,
    /// It never came up.
    NotUp(String),
    /// Its time was over, and it was switched off.
    Overdue,
    /// The worker was interrupted, and it was switched off.
    Interrupted,
    /// Somebody on the host ended the emulator, or the emulator failed.
    Broken(String),
}

/// How a guest ended, and what it said last.
#[derive(Debug)]
pub struct Seen {
    /// How it ended.
    pub ended: Ended,
    /// The last that it said on its console, without control characters.
    pub last_words: String,
}

/// Switches a guest on and waits for its end.
pub fn run_guest(boot: &Boot<'_>, interrupt: &Interrupt) -> io::Result<Seen> {
    let initramfs = make_initramfs(boot.image)?;
    let root = File::open(&boot.image.root)?;
    let (console, console_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let (complaints, complaints_end) = pipe_with(PipeFlags::CLOEXEC)?;
    let jail = Jail {
        program: &boot.emulator.program,
        arguments: boot.emulator.arguments(boot.machine),
        stage: boot.stage,
        kernel: &boot.image.kernel,
        initramfs: &initramfs,
        disks: [root.as_fd(), boot.job.as_fd(), boot.result.as_fd()],
        file_bytes: boot.result_bytes,
        with_kvm: boot.machine.accelerator == Accelerator::Kvm,
    };
    let pid = start(&jail, console_end, complaints_end)?;
    let mut watch = Watch {
        pid,
        said: Tail::default(),
        complained: Tail::default(),
        is_up: false,
    };
    let stopped = watch.follow(boot, console, complaints, interrupt);
    let status = watch.reap();
    Ok(Seen {
        ended: watch.judge(stopped, status, boot.boot_timeout),
        last_words: watch.said.words(),
    })
}

/// Why a guest was switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Overdue,
    Interrupted,
}

struct Watch {
    pid: libc::pid_t,
    said: Tail,
    complained: Tail,
    is_up: bool,
}

impl Watch {
    /// Reads what the guest says until the emulator has ended; tells why it was ended, if it was.
    fn follow(
        &mut self,
        boot: &Boot<'_>,
        console: OwnedFd,
        complaints: OwnedFd,
        interrupt: &Interrupt,
    ) -> Option<Stopped> {
        let mut deadline = Instant::now() + boot.boot_timeout;
        let mut stopped = None;
        let mut pipes = [Some(File::from(console)), Some(File::from(complaints))];
        while pipes.iter().any(Option::is_some) {
            let left = deadline.saturating_duration_since(Instant::now());
            let has_come = interrupt.is_pending();
            if stopped.is_none() && (has_come || left.is_zero()) {
                stopped = Some(if has_come {
                    Stopped::Interrupted
                } else {
                    Stopped::Overdue
                });
                kill(self.pid);
            }
            wait_for(&pipes, stopped.is_none().then_some((left, interrupt)));
            for (index, place) in pipes.iter_mut().enumerate() {
                let Some(pipe) = place else { continue };
                if !is_ready(pipe) {
                    continue;
                }
                let mut chunk = [0; 4096];
                match pipe.read(&mut chunk) {
                    Ok(0) | Err(_) => *place = None,
                    Ok(count) if index == 0 => self.said.add(&chunk[..count]),
                    Ok(count) => self.complained.add(&chunk[..count]),
                }
            }
            if !self.is_up && self.said.contains(UP) {
                self.is_up = true;
                deadline = Instant::now() + boot.timeout;
            }
        }
        stopped
    }

    fn reap(&self) -> i32 {
        let mut status = 0;
        // Both pipes are closed: it has ended, or is about to.
        // SAFETY: valid pointer; the process is a child of this one.
        while unsafe { libc::waitpid(self.pid, &mut status, 0) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        status
    }

    fn judge(&self, stopped: Option<Stopped>, status: i32, boot_timeout: Duration) -> Ended {
        match stopped {
            Some(Stopped::Interrupted) => return Ended::Interrupted,
            Some(Stopped::Overdue) if self.is_up => return Ended::Overdue,
            Some(Stopped::Overdue) => {
                return Ended::NotUp(format!(
                    "it did not come up within {} s",
                    boot_timeout.as_secs()
                ));
            }
            None => {}
        }
        let complaint = self.complained.words();
        if libc::WIFSIGNALED(status) {
            return Ended::Broken(format!(
                "the emulator was killed by signal {}",
                libc::WTERMSIG(status)
            ));
        }
        if libc::WEXITSTATUS(status) != 0 {
            return Ended::Broken(format!(
                "the emulator ended with status {}: {complaint}",
                libc::WEXITSTATUS(status)
            ));
        }
        if !self.is_up {
            return Ended::NotUp(format!(
                "it went off while it booted: {}",
                self.said.words()
            ));
        }
        Ended::Off
    }
}

/// Waits until something can be read, until the interruption if it still counts, or until the time is over.
fn wait_for(pipes: &[Option<File>; 2], patience: Option<(Duration, &Interrupt)>) {
    let mut entries: Vec<PollFd<'_>> = pipes
        .iter()
        .flatten()
        .map(|pipe| PollFd::new(pipe, PollFlags::IN))
        .collect();
    let mut timeout = None;
    if let Some((left, interrupt)) = patience {
        entries.push(PollFd::from_borrowed_fd(interrupt.as_fd(), PollFlags::IN));
        timeout = Some(Timespec {
            tv_sec: left.as_secs().min(1 << 30) as i64,
            // Never too early: that would turn in circles.
            tv_nsec: i64::from((left.subsec_nanos() + 1_000_000).min(999_999_999)),
        });
    }
    poll(&mut entries, timeout.as_ref()).ok();
}

fn is_ready(pipe: &File) -> bool {
    let mut entries = [PollFd::new(pipe, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut entries, Some(&now)).is_ok_and(|count| count > 0)
}

fn kill(pid: libc::pid_t) {
    // SAFETY: signals a child that has not been reaped; its namespace dies with it.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// The last of what somebody says who may say anything, without end.
#[derive(Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        let surplus = self.0.len().saturating_sub(KEPT);
        self.0.drain(..surplus);
    }

    fn contains(&self, text: &str) -> bool {
        self.0
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    }

    /// Why it went down if it said so, else its last lines in one, without what a terminal would obey.
    fn words(&self) -> String {
        let text = String::from_utf8_lossy(&self.0);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
            .map(|line| {
                without_time(line.trim())
                    .chars()
                    .take(200)
                    .collect::<String>()
            })
            .filter(|line| !line.is_empty() && !line.contains(UP))
            .collect();
        if let Some(panic) = lines.iter().rfind(|line| line.starts_with(PANIC)) {
            return panic.clone();
        }
        lines[lines.len().saturating_sub(4)..].join("; ")
    }
}

/// A line of the kernel without the time before it.
fn without_time(line: &str) -> &str {
    match line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        Some((time, said)) if time.trim().parse::<f64>().is_ok() => said,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_guest_says_without_end_takes_no_more_memory() {
        let mut tail = Tail::default();
        for _ in 0..1000 {
            tail.add(&[b'x'; 4096]);
        }
        assert_eq!(tail.0.len(), KEPT);
    }

    #[test]
    fn a_panic_is_said_before_anything_else() {
        let mut tail = Tail::default();
        tail.add(b"[    1.5] Kernel panic - not syncing: so\n[    1.6] Kernel Offset: 0\n");
        assert_eq!(tail.words(), "Kernel panic - not syncing: so");
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_repeated() {
        let mut tail = Tail::default();
        tail.add(b"\x1b[2Jpanic\x07\r\n\xffoff\n");
        assert_eq!(tail.words(), "[2Jpanic; \u{fffd}off");
    }
}
