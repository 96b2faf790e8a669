use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;
use crate::scratch::TemporaryFolder;

type TestBuilder = Builder<GzEncoder<Vec<u8>>>;

pub(super) const LIMITS: TrialLimits = TrialLimits {
    setup_timeout_s: 1.0,
    run_timeout_s: 1.0,
    collect_timeout_s: 1.0,
    output_bytes: 0,
    archive_bytes: 0,
    package_bytes: 1 << 20,
    package_files: 20,
    world_bytes: 0,
    processes: 0,
    memory_bytes: 0,
    descriptors: 0,
};

/// Adds a member under any name, also those that the builder itself would refuse.
fn add(
    builder: &mut TestBuilder,
    name: &str,
    kind: EntryType,
    mode: u32,
    link: &str,
    content: &[u8],
) {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(1_000_000_000);
    header.set_size(content.len() as u64);
    header.set_cksum();
    builder.append(&header, content).unwrap();
}

fn file(builder: &mut TestBuilder, name: &str, content: &[u8]) {
    add(builder, name, EntryType::Regular, 0o644, "", content);
}

pub(super) fn unpack_bytes(bytes: &[u8], folder: &TemporaryFolder) -> Step<()> {
    let archive = folder.path().join("package.tar.gz");
    fs::write(&archive, bytes).unwrap();
    let target = folder.path().join("target");
    fs::create_dir(&target).unwrap();
    let interrupt = Interrupt::listen().unwrap();
    unpack_archive(File::open(archive).unwrap(), &target, &LIMITS, &interrupt)
}

fn unpack_members(fill: impl FnOnce(&mut TestBuilder)) -> (Step<()>, TemporaryFolder) {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    fill(&mut builder);
    let bytes = builder.into_inner().unwrap().finish().unwrap();
    let folder = TemporaryFolder::new("unpack");
    (unpack_bytes(&bytes, &folder), folder)
}

fn refusal(fill: impl FnOnce(&mut TestBuilder)) -> String {
    let (result, _folder) = unpack_members(fill);
    let refused = result.unwrap_err();
    assert_eq!(
        (refused.phase, refused.kind),
        (Phase::Unpack, FailureKind::BadPackage)
    );
    refused.message
}

/// A member of each kind that packages have.
fn add_usual_members(builder: &mut TestBuilder) {
    add(builder, "./", EntryType::Directory, 0o755, "", b"");
    add(builder, "./src/", EntryType::Directory, 0o750, "", b"");
    add(
        builder,
        "./src/run.sh",
        EntryType::Regular,
        0o755,
        "",
        b"#!/bin/sh\n",
    );
    add(
        builder,
        "./link",
        EntryType::Symlink,
        0o777,
        "src/run.sh",
        b"",
    );
    add(builder, "./hard", EntryType::Link, 0o644, "src/run.sh", b"");
}

/// An archive with a member of each kind that packages have.
pub(super) fn pack_usual_members() -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    add_usual_members(&mut builder);
    builder.into_inner().unwrap().finish().unwrap()
}

#[test]
fn files_folders_links_modes_and_times_come_out_as_packed() {
    let (result, folder) = unpack_members(add_usual_members);
    result.unwrap();
    let target = folder.path().join("target");
    let data = fs::metadata(target.join("src/run.sh")).unwrap();
    assert_eq!(data.permissions().mode() & 0o7777, 0o755);
    assert_eq!(
        data.modified()
            .unwrap()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs(),
        1_000_000_000
    );
    assert_eq!(
        fs::metadata(target.join("src"))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777,
        0o750
    );
    assert_eq!(
        fs::read(target.join("link")).unwrap(),
        fs::read(target.join("hard")).unwrap()
    );
}

#[test]
fn a_member_that_climbs_is_refused() {
    assert!(refusal(|builder| file(builder, "a/../../evil", b"")).contains("climbs with `..`"));
}

#[test]
fn an_absolute_member_is_refused() {
    assert!(refusal(|builder| file(builder, "/etc/evil", b"")).contains("its path is absolute"));
}

#[test]
fn a_member_below_a_link_is_refused() {
    let message = refusal(|builder| {
        add(builder, "sub/", EntryType::Directory, 0o755, "", b"");
        add(builder, "dir", EntryType::Symlink, 0o777, "sub", b"");
        file(builder, "dir/evil", b"");
    });
    assert!(
        message.contains("below a member that is not a folder"),
        "{message}"
    );
}

#[test]
fn a_link_to_an_absolute_path_is_refused() {
    let message = refusal(|builder| {
        add(
            builder,
            "link",
            EntryType::Symlink,
            0o777,
            "/etc/passwd",
            b"",
        )
    });
    assert!(message.contains("links outside the package"), "{message}");
}

#[test]
fn a_link_that_climbs_out_is_refused() {
    let message =
        refusal(|builder| add(builder, "a/link", EntryType::Symlink, 0o777, "../../x", b""));
    assert!(message.contains("links outside the package"), "{message}");
}

#[test]
fn a_link_that_climbs_out_by_way_of_another_link_is_refused() {
    let message = refusal(|builder| {
        add(builder, "a/b/", EntryType::Directory, 0o755, "", b"");
        add(builder, "down", EntryType::Symlink, 0o777, "a/b", b"");
        add(
            builder,
            "x/y/out",
            EntryType::Symlink,
            0o777,
            "../../down/../../..",
            b"",
        );
    });
    assert!(message.contains("`x/y/out`"), "{message}");
}

#[test]
fn a_hard_link_to_a_file_that_is_not_packed_is_refused() {
    for link in ["/etc/passwd", "../outside", "missing"] {
        let message = refusal(|builder| add(builder, "hard", EntryType::Link, 0o644, link, b""));
        assert!(message.contains("`hard`"), "{message}");
    }
}

#[test]
fn a_hard_link_to_a_symbolic_link_is_refused() {
    let message = refusal(|builder| {
        add(builder, "soft", EntryType::Symlink, 0o777, "later", b"");
        add(builder, "hard", EntryType::Link, 0o644, "soft", b"");
    });
    assert!(
        message.contains("hard link to the symbolic link `soft`"),
        "{message}"
    );
}

#[test]
fn devices_and_pipes_are_refused() {
    for kind in [EntryType::Char, EntryType::Block] {
        assert!(
            refusal(|builder| add(builder, "node", kind, 0o666, "", b""))
                .contains("it is a device")
        );
    }
    assert!(
        refusal(|builder| add(builder, "pipe", EntryType::Fifo, 0o666, "", b""))
            .contains("named pipe")
    );
}

#[test]
fn a_name_that_comes_twice_is_refused_however_it_is_written() {
    let message = refusal(|builder| {
        file(builder, "run.sh", b"good");
        file(builder, ".//run.sh", b"evil");
    });
    assert!(
        message.contains("a member of this name came before"),
        "{message}"
    );
}

#[test]
fn a_file_where_a_folder_came_before_is_refused() {
    let message = refusal(|builder| {
        file(builder, "a/b", b"");
        file(builder, "a", b"");
    });
    assert!(
        message.contains("a member of this name came before"),
        "{message}"
    );
}

#[test]
fn a_member_without_a_name_is_refused() {
    assert!(refusal(|builder| file(builder, "./", b"x")).contains("it has no name"));
}

#[test]
fn set_user_id_does_not_survive() {
    let (result, folder) =
        unpack_members(|builder| add(builder, "su", EntryType::Regular, 0o6755, "", b"x"));
    result.unwrap();
    let mode = fs::metadata(folder.path().join("target/su"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn too_many_members_are_refused() {
    let message = refusal(|builder| (0..21).for_each(|i| file(builder, &format!("f{i}"), b"")));
    assert!(message.contains("more than 20 members"), "{message}");
}

#[test]
fn folders_that_only_paths_imply_count_as_members() {
    let message = refusal(|builder| (0..11).for_each(|i| file(builder, &format!("d{i}/f"), b"")));
    assert!(message.contains("more than 20 members"), "{message}");
}

#[test]
fn a_package_that_unpacks_to_too_much_is_refused_before_it_fills_the_disk() {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    file(&mut builder, "zeros", &vec![0; 8 << 20]);
    let bytes = builder.into_inner().unwrap().finish().unwrap();
    assert!(bytes.len() < 1 << 17);
    let folder = TemporaryFolder::new("unpack");
    let refused = unpack_bytes(&bytes, &folder).unwrap_err();
    assert!(refused.message.contains("more than"), "{}", refused.message);
    assert!(
        fs::metadata(folder.path().join("target/zeros"))
            .unwrap()
            .len()
            <= LIMITS.package_bytes
    );
}

#[test]
fn a_bomb_outside_the_content_of_members_is_refused() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(8 << 20);
    header.set_cksum();
    builder
        .append(&header, std::io::Read::take(std::io::repeat(b'n'), 8 << 20))
        .unwrap();
    encoder.write_all(&builder.into_inner().unwrap()).unwrap();
    let folder = TemporaryFolder::new("unpack");
    let refused = unpack_bytes(&encoder.finish().unwrap(), &folder).unwrap_err();
    assert!(
        refused.message.contains("limits.package_bytes"),
        "{}",
        refused.message
    );
}

#[test]
fn what_is_not_compressed_is_named_as_such() {
    let folder = TemporaryFolder::new("unpack");
    let refused = unpack_bytes(b"just text", &folder).unwrap_err();
    assert!(
        refused.message.contains("not gzip-compressed"),
        "{}",
        refused.message
    );
}

#[test]
fn a_damaged_archive_is_named_as_such() {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let noise: Vec<u8> = (0..100_000u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    file(&mut builder, "noise", &noise);
    let bytes = builder.into_inner().unwrap().finish().unwrap();
    let folder = TemporaryFolder::new("unpack");
    let refused = unpack_bytes(&bytes[..bytes.len() / 2], &folder).unwrap_err();
    assert!(refused.message.contains("damaged"), "{}", refused.message);
}

fn sparse_package(format: &str, folder: &TemporaryFolder) -> Option<Vec<u8>> {
    let original = folder.path().join("holes");
    let mut file = File::create(&original).unwrap();
    file.write_all(&[b'a'; 5000]).unwrap();
    io::Seek::seek(&mut file, io::SeekFrom::Start(400_000)).unwrap();
    file.write_all(&[b'b'; 5000]).unwrap();
    drop(file);
    let packed = std::process::Command::new("tar")
        .args(["-S", "-cz", "-f", "-", format, "-C"])
        .arg(folder.path())
        .arg("holes")
        .output();
    match packed {
        Ok(packed) if packed.status.success() => Some(packed.stdout),
        other => {
            eprintln!("skipped: no GNU tar here: {other:?}");
            None
        }
    }
}

#[test]
fn a_sparse_file_in_the_format_of_gnu_comes_out_whole() {
    let folder = TemporaryFolder::new("unpack");
    let Some(bytes) = sparse_package("--format=gnu", &folder) else {
        return;
    };
    unpack_bytes(&bytes, &folder).unwrap();
    let unpacked = fs::read(folder.path().join("target/holes")).unwrap();
    assert!(unpacked == fs::read(folder.path().join("holes")).unwrap());
}

#[test]
fn a_sparse_file_in_the_format_pax_is_refused() {
    let folder = TemporaryFolder::new("unpack");
    let Some(bytes) = sparse_package("--format=posix", &folder) else {
        return;
    };
    let refused = unpack_bytes(&bytes, &folder).unwrap_err();
    assert!(
        refused.message.contains("holes`") && refused.message.contains("sparse"),
        "{}",
        refused.message
    );
    assert!(
        refused.remedy.contains("--format=gnu"),
        "{}",
        refused.remedy
    );
}

#[test]
fn a_member_is_sparse_by_any_record_of_that_family() {
    for key in ["GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.numblocks"] {
        let message = refusal(|builder| {
            let records = [(key, b"1".as_slice()), ("mtime", b"1.5".as_slice())];
            builder.append_pax_extensions(records).unwrap();
            file(builder, "holes", b"x");
        });
        assert!(message.contains("sparse"), "{key}: {message}");
    }
}
