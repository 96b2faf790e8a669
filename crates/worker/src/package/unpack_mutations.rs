//! Archives that are almost right: thousands of damaged ones, the same each time.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::tests::{LIMITS, pack_usual_members, unpack_bytes};
use crate::scratch::TemporaryFolder;

/// How many archives are tried in every change.
const ARCHIVES: u64 = 500;

/// What stands in a header where a reader may stumble.
const HARD: [&[u8]; 18] = [
    b"../../../escaped\0",
    b"/escaped\0",
    b"./././\0",
    b"..\0",
    b"\0",
    b"\xff\xfe\0",
    b"a/../../escaped\0",
    b"link/escaped\0",
    b"00000000000\0",
    b"77777777777\0",
    b"-0000000001\0",
    b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    b"0004755\0",
    b"ustar\0",
    b"ustar  \0",
    b"1234567890123456789 path=../escaped\n",
    b"27 GNU.sparse.major=1\n",
    b"9999999 path=",
];

/// Where the fields of a header begin: name, mode, size, time, checksum, kind, link, magic, device, prefix.
const FIELDS: [usize; 11] = [0, 100, 124, 136, 148, 156, 157, 257, 329, 345, 482];

/// Kinds of members: ordinary, links, devices, folders, pipes, long names, pax, sparse, unknown.
const KINDS: &[u8] = b"\x000123456789LKxgSMVND";

/// Numbers that look drawn, and are the same each time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Changes a few places of a tar archive; mostly keeps the checksums of headers right.
fn damage(tar: &mut Vec<u8>, draw: &mut Draw) {
    for _ in 0..=draw.below(3) {
        let blocks = tar.len() / 512;
        let header = draw.below(blocks) * 512;
        match draw.below(6) {
            0 => {
                let at = draw.below(tar.len());
                tar[at] = draw.below(256) as u8;
            }
            1 => tar[header + 156] = KINDS[draw.below(KINDS.len())],
            2 => tar.truncate(draw.below(tar.len()).max(512)),
            3 => {
                let copied = tar[header..header + 512].to_vec();
                tar.splice(header..header, copied);
            }
            _ => {
                let field = FIELDS[draw.below(FIELDS.len())];
                let value = HARD[draw.below(HARD.len())];
                let end = (header + field + value.len()).min(tar.len());
                tar[header + field..end].copy_from_slice(&value[..end - header - field]);
            }
        }
        if draw.below(8) > 0 && header + 512 <= tar.len() {
            set_checksum(&mut tar[header..header + 512]);
        }
    }
}

fn set_checksum(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn compress(tar: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(tar).unwrap();
    encoder.finish().unwrap()
}

/// Everything below a folder must be of a kind, a size and a place that a package may have.
fn check_unpacked(root: &Path, number: u64) {
    let (mut bytes, mut members) = (0, 0);
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let data = fs::symlink_metadata(&path).unwrap();
            let kind = data.file_type();
            assert!(
                !kind.is_fifo() && !kind.is_char_device() && !kind.is_block_device(),
                "archive {number} made {}",
                path.display()
            );
            assert!(
                kind.is_symlink() || data.permissions().mode() & 0o6000 == 0,
                "archive {number} made {} run as somebody else",
                path.display()
            );
            members += 1;
            bytes += if kind.is_file() { data.size() } else { 0 };
            if kind.is_dir() {
                pending.push(path);
            }
        }
    }
    // Of a path, every folder may be implied.
    assert!(members <= LIMITS.package_files * 130, "archive {number}");
    assert!(bytes <= LIMITS.package_bytes, "archive {number}");
}

#[test]
fn no_damaged_archive_leaves_its_folder_its_limits_or_the_kinds_that_packages_have() {
    let mut usual = Vec::new();
    std::io::copy(
        &mut flate2::read::GzDecoder::new(&pack_usual_members()[..]),
        &mut usual,
    )
    .unwrap();
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    for number in 0..ARCHIVES {
        let mut tar = usual.clone();
        damage(&mut tar, &mut draw);
        let mut packed = compress(&tar);
        if draw.below(10) == 0 {
            let at = draw.below(packed.len());
            packed[at] ^= 1 << draw.below(8);
        }
        let folder = TemporaryFolder::new("mutated");
        let result = unpack_bytes(&packed, &folder);
        let beside: BTreeSet<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(beside.len(), 2, "archive {number} wrote outside its folder");
        check_unpacked(&folder.path().join("target"), number);
        accepted += u64::from(result.is_ok());
    }
    // Damage that no reader notices, such as a time or an owner, is part of what is tried.
    assert!(
        accepted > ARCHIVES / 20 && accepted < ARCHIVES * 19 / 20,
        "{accepted}"
    );
}

/// Names, kinds, modes, times and contents of everything below a folder.
fn describe_tree(root: &Path) -> BTreeSet<(String, u32, i64, Vec<u8>)> {
    let mut found = BTreeSet::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let data = fs::symlink_metadata(&path).unwrap();
            let content = if data.is_file() {
                fs::read(&path).unwrap()
            } else if data.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                pending.push(path.clone());
                Vec::new()
            };
            // The time of a link is nobody's business.
            let time = if data.is_symlink() { 0 } else { data.mtime() };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert((name, data.permissions().mode(), time, content));
        }
    }
    found
}

#[test]
fn one_flipped_bit_is_refused_or_changes_nothing() {
    let usual = pack_usual_members();
    let folder = TemporaryFolder::new("whole");
    unpack_bytes(&usual, &folder).unwrap();
    let expected = describe_tree(&folder.path().join("target"));
    let mut unnoticed = 0;
    for bit in 0..usual.len() * 8 {
        let mut packed = usual.clone();
        packed[bit / 8] ^= 1 << (bit % 8);
        let folder = TemporaryFolder::new("flipped");
        if unpack_bytes(&packed, &folder).is_ok() {
            unnoticed += 1;
            let found = describe_tree(&folder.path().join("target"));
            assert_eq!(found, expected, "bit {bit}");
        }
    }
    // The time, the system and the hints in gzip's own header are under no checksum, and some bits say
    // nothing.
    assert!(unnoticed < usual.len(), "{unnoticed}");
}

#[test]
fn nothing_may_follow_an_archive() {
    let usual = pack_usual_members();
    let behind: [Vec<u8>; 4] = [
        b"garbage".to_vec(),
        vec![0; 100],
        compress(b"garbage"),
        usual.clone(),
    ];
    for more in behind {
        let packed = [&usual[..], &more].concat();
        let folder = TemporaryFolder::new("behind");
        unpack_bytes(&packed, &folder).unwrap_err();
    }
    // Padding is what tar itself writes.
    let folder = TemporaryFolder::new("padded");
    unpack_bytes(&[&usual[..], &compress(&[0; 10240])].concat(), &folder).unwrap();
}
