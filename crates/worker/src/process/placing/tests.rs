use std::os::unix::fs::{PermissionsExt, symlink};
use std::ptr;

use super::*;
use crate::scratch::TemporaryFolder;
use crate::world::filesystem_of;

const PAGE: usize = 4096;
const PAGES: usize = 40;

fn write_program(path: &Path, mode: u32) {
    let mut content = vec![7u8; PAGES * PAGE];
    content[..4].copy_from_slice(b"\x7fELF");
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Numbers of the frames that hold a file; none where the kernel does not tell them.
fn frames(path: &Path) -> Option<Vec<u64>> {
    let file = File::open(path).unwrap();
    let bytes = PAGES * PAGE;
    // SAFETY: a new mapping, whose first byte of each page is read while it lasts.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_SHARED | libc::MAP_POPULATE,
            file.as_raw_fd(),
            0,
        )
    };
    assert_ne!(start, libc::MAP_FAILED);
    let pagemap = File::open("/proc/self/pagemap").unwrap();
    let mut found = Vec::new();
    for page in 0..PAGES {
        let address = start as usize + page * PAGE;
        // SAFETY: inside of the mapping.
        unsafe { ptr::read_volatile(address as *const u8) };
        let mut entry = [0; 8];
        pagemap
            .read_exact_at(&mut entry, (address / PAGE * 8) as u64)
            .unwrap();
        found.push(u64::from_ne_bytes(entry) & ((1 << 55) - 1));
    }
    // SAFETY: this function's own mapping, unmapped once.
    unsafe { libc::munmap(start, bytes) };
    found.iter().any(|frame| *frame != 0).then_some(found)
}

fn lies_in_memory(path: &Path) -> bool {
    let is_in_memory = matches!(filesystem_of(&File::open(path).unwrap()), Ok(Some("tmpfs")));
    if is_in_memory {
        eprintln!("skipped: the temporary folder is in memory");
    }
    is_in_memory
}

fn names_of(programs: Programs) -> (Vec<String>, bool) {
    let names = programs.found.iter().map(|path| {
        let name = path.file_name().unwrap();
        name.to_string_lossy().into_owned()
    });
    (names.collect(), programs.has_more)
}

#[test]
fn a_program_lies_elsewhere_afterwards_and_says_the_same() {
    let folder = TemporaryFolder::new("placing");
    let path = folder.path().join("deep");
    fs::create_dir(&path).unwrap();
    let path = path.join("program");
    write_program(&path, 0o755);
    let content = fs::read(&path).unwrap();
    if lies_in_memory(&path) {
        return;
    }
    let Some(before) = frames(&path) else {
        eprintln!("skipped: the kernel does not tell this user where a file lies");
        return;
    };
    let programs = find_programs([folder.path()]);
    assert_eq!(programs.found, std::slice::from_ref(&path));
    place_anew(&programs.found);
    let after = frames(&path).unwrap();
    assert_ne!(before, after);
    assert_eq!(fs::read(&path).unwrap(), content);
}

#[test]
fn only_what_is_mapped_as_code_is_read_again() {
    let folder = TemporaryFolder::new("placing");
    let place = |name: &str| folder.path().join(name);
    let found = || names_of(find_programs([folder.path()]));
    write_program(&place("object.o"), 0o644);
    fs::write(place("script"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(place("script"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(place("empty.so"), "").unwrap();
    symlink("/bin/sh", place("link")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o755),
        0,
    )
    .unwrap();
    assert_eq!(found(), (vec![], false));
    write_program(&place("libz.so.1"), 0o644);
    write_program(&place("program"), 0o755);
    assert_eq!(found().0, ["libz.so.1", "program"]);
    assert_eq!(find_programs([&*place("gone")]).found.len(), 0);
    place_anew(&[place("gone")]);
}

#[test]
fn what_is_too_large_stays_and_the_smallest_come_first() {
    let folder = TemporaryFolder::new("placing");
    let place = |name: &str| folder.path().join(name);
    let found = || names_of(find_programs([folder.path()]));
    let make = |name: &str, bytes| {
        write_program(&place(name), 0o755);
        let file = OpenOptions::new().write(true).open(place(name)).unwrap();
        file.set_len(bytes).unwrap();
    };
    make("small", 1 << 20);
    make("large", LARGEST_BYTES + 1);
    assert_eq!(found(), (vec!["small".to_owned()], true));
    fs::remove_file(place("large")).unwrap();
    for name in ["a", "b", "c", "d"] {
        make(name, LARGEST_BYTES);
    }
    let (names, has_more) = found();
    assert_eq!((names.len(), has_more), (4, true));
    assert!(names.contains(&"small".to_owned()));
}

#[test]
fn a_program_that_is_not_in_memory_is_not_read() {
    let folder = TemporaryFolder::new("placing");
    let path = folder.path().join("program");
    write_program(&path, 0o755);
    if lies_in_memory(&path) {
        return;
    }
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    assert_eq!(find_programs([folder.path()]).found.len(), 0);
    assert_eq!(resident_pages(&file).unwrap().resident, 0);
}
