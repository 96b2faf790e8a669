//! Where the kernel keeps what trials execute.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr;

use datamill_protocol::{BuildPolicy, Outcome};
use rustix::fs::statfs;

use crate::support::{Bench, hold_caches};

/// What statfs says of a file system in memory.
const TMPFS: i64 = 0x0102_1994;

/// The number of the frame that holds the first page of a file; none where the kernel does not tell it.
fn first_frame(path: &Path) -> Option<u64> {
    const PAGE: usize = 4096;
    let file = File::open(path).unwrap();
    // SAFETY: a new mapping of one page, whose first byte is read while it lasts.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            PAGE,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    assert_ne!(start, libc::MAP_FAILED);
    // SAFETY: inside of the mapping.
    unsafe { ptr::read_volatile(start.cast::<u8>()) };
    let mut entry = [0; 8];
    let pagemap = File::open("/proc/self/pagemap").unwrap();
    pagemap
        .read_exact_at(&mut entry, (start as usize / PAGE * 8) as u64)
        .unwrap();
    // SAFETY: this function's own mapping, unmapped once.
    unsafe { libc::munmap(start, PAGE) };
    Some(u64::from_ne_bytes(entry) & ((1 << 55) - 1)).filter(|frame| *frame != 0)
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name() == name {
            return Some(entry.path());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(found) = find(&entry.path(), name)
        {
            return Some(found);
        }
    }
    None
}

/// Has a file lie elsewhere for each of three trials; says why where that cannot be seen.
fn assert_placed_anew(bench: &mut Bench, path: impl Fn(&Bench) -> PathBuf) {
    // What is dropped by another test would be read again elsewhere, too.
    let _held = hold_caches();
    let mut frames = Vec::new();
    for _ in 0..3 {
        let record = bench.run();
        if !Bench::has_asked_world(&record) {
            return;
        }
        assert_eq!(record.outcome, Outcome::Completed, "{record:?}");
        if let Some(notice) = record.notices.iter().find(|it| it.contains("be shared")) {
            eprintln!("skipped: {notice}");
            return;
        }
        let path = path(bench);
        if statfs(&path).unwrap().f_type == TMPFS {
            eprintln!("skipped: {} is in memory", path.display());
            return;
        }
        let Some(frame) = first_frame(&path) else {
            eprintln!("skipped: the kernel does not tell this user where a file lies");
            return;
        };
        frames.push(frame);
    }
    assert!(
        frames[0] != frames[1] && frames[1] != frames[2],
        "{frames:?}"
    );
}

#[test]
fn the_programs_of_a_shared_build_lie_elsewhere_for_each_trial() {
    for mut bench in Bench::in_private_worlds("./made/program") {
        bench.script("setup.sh", "mkdir made && cp /bin/true made/program");
        bench.spec.build = BuildPolicy::Shared;
        let stored = |bench: &Bench| find(&bench.path("state/cache/builds"), "program").unwrap();
        assert_placed_anew(&mut bench, stored);
    }
}

#[test]
fn a_program_that_run_sh_becomes_lies_elsewhere_for_each_trial() {
    let program = PathBuf::from("/usr/bin/pathchk");
    // Where many commands are one program, others are executing it.
    if fs::canonicalize(&program).ok().as_ref() != Some(&program) {
        eprintln!(
            "skipped: {} is not here, or is another program",
            program.display()
        );
        return;
    }
    for mut bench in Bench::in_private_worlds("exec pathchk name") {
        assert_placed_anew(&mut bench, |_| program.clone());
    }
}
