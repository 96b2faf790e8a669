//! Where the kernel keeps what trials execute.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr;

use datamill_protocol::BuildPolicy;

use crate::support::Bench;

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

/// Whether this file lies elsewhere for each of three trials; none where that cannot be seen.
fn is_placed_anew(bench: &mut Bench, path: impl Fn(&Bench) -> PathBuf) -> Option<bool> {
    let mut frames = Vec::new();
    for _ in 0..3 {
        let record = bench.complete();
        if let Some(notice) = record.notices.iter().find(|it| it.contains("be shared")) {
            eprintln!("skipped: {notice}");
            return None;
        }
        let Some(frame) = first_frame(&path(bench)) else {
            eprintln!("skipped: the kernel does not tell this user where a file lies");
            return None;
        };
        frames.push(frame);
    }
    eprintln!("frames {frames:?}");
    Some(frames[0] != frames[1] && frames[1] != frames[2])
}

#[test]
fn the_programs_of_a_shared_build_lie_elsewhere_for_each_trial() {
    let Some(mut bench) = Bench::as_root("./made/program") else {
        return;
    };
    bench.script("setup.sh", "mkdir made && cp /bin/true made/program");
    bench.spec.build = BuildPolicy::Shared;
    let stored = |bench: &Bench| find(&bench.path("state/cache/builds"), "program").unwrap();
    assert_ne!(is_placed_anew(&mut bench, stored), Some(false));
}

#[test]
fn a_program_that_run_sh_becomes_lies_elsewhere_for_each_trial() {
    let Some(bench) = Bench::as_root("true") else {
        return;
    };
    let program = bench.path("a-program-of-the-host");
    fs::copy("/bin/true", &program).unwrap();
    // A world that hides the host's temporary folders does not have it.
    let script = format!("exec {}", program.display());
    let mut bench = bench;
    bench.script("run.sh", &script);
    bench.spec.isolation = datamill_protocol::IsolationWanted::Plain;
    assert_ne!(is_placed_anew(&mut bench, |_| program.clone()), Some(false));
}
