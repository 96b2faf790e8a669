//! Which wrappers there are.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use datamill_compiler::{BuildLook, WrapperSettings, install_wrappers, read_compiler_log};

fn fresh_folder(name: &str) -> std::path::PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn make_file(path: &Path, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn only_programs_that_exist_below_the_root_get_a_wrapper() {
    let dir = fresh_folder("install");
    let root = dir.join("root");
    for program in [
        "usr/bin/gcc-12",
        "usr/bin/x86_64-linux-gnu-ld",
        "opt/tools/clang-99",
        "usr/bin/tar",
    ] {
        make_file(&root.join(program), 0o755);
    }
    make_file(&root.join("usr/bin/ar"), 0o644);
    fs::create_dir_all(root.join("usr/bin/g++")).unwrap();
    fs::create_dir_all(root.join("etc/alternatives")).unwrap();
    // Below this root these lead to a file, to nothing, and to nothing below it.
    symlink("/etc/alternatives/cc", root.join("usr/bin/cc")).unwrap();
    symlink("/usr/bin/gcc-12", root.join("etc/alternatives/cc")).unwrap();
    symlink("/etc/alternatives/c++", root.join("usr/bin/c++")).unwrap();
    symlink(dir.join("root/usr/bin/gcc-12"), root.join("usr/bin/clang")).unwrap();
    symlink("usr/bin", root.join("bin")).unwrap();

    let wrappers = dir.join("wrappers");
    let settings = WrapperSettings {
        levels: [("optimization".into(), "-O2".into())].into(),
        ..WrapperSettings::default()
    };
    let search_path = "/nonexistent:/usr/bin:/bin::/opt/tools:/usr/bin/ar";
    let names = install_wrappers(&wrappers, &root, search_path, &settings).unwrap();
    assert_eq!(names, ["cc", "clang-99", "gcc-12", "x86_64-linux-gnu-ld"]);

    let mut made: Vec<_> = fs::read_dir(wrappers.join("bin"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    made.sort();
    assert_eq!(
        made,
        names
            .iter()
            .map(std::ffi::OsString::from)
            .collect::<Vec<_>>()
    );
    let link = fs::read_link(wrappers.join("bin/cc")).unwrap();
    assert_eq!(link, Path::new("../datamill-worker"));
    let kept: WrapperSettings =
        serde_json::from_slice(&fs::read(wrappers.join("compiler.json")).unwrap()).unwrap();
    assert_eq!(kept, settings);
    assert_eq!(read_compiler_log(&wrappers).unwrap(), BuildLook::default());
}

#[test]
fn installing_again_starts_a_new_log_and_ignores_the_wrappers() {
    let dir = fresh_folder("install-again");
    make_file(&dir.join("root/bin/gcc"), 0o755);
    let wrappers = dir.join("root/wrappers");
    let settings = WrapperSettings::default();
    for _ in 0..2 {
        let names = install_wrappers(
            &wrappers,
            &dir.join("root"),
            "/wrappers/bin:/bin",
            &settings,
        );
        assert_eq!(names.unwrap(), ["gcc"]);
        assert_eq!(fs::read(wrappers.join("compiler.log")).unwrap(), b"");
        fs::write(wrappers.join("compiler.log"), "old").unwrap();
    }
}

#[test]
fn unknown_levels_are_refused() {
    let dir = fresh_folder("install-unknown");
    for unknown in [
        ("optimization", "-O4"),
        ("optimization", "O2"),
        ("link_order", "shuffled"),
        ("pie", "static"),
        ("symbol_seed", "-1"),
        ("compiler_flags", "-O2"),
        ("compiler_version", "icc-2"),
        ("aslr", "on"),
    ] {
        let settings = WrapperSettings {
            levels: [(unknown.0.into(), unknown.1.into())].into(),
            ..WrapperSettings::default()
        };
        let error = install_wrappers(&dir, Path::new("/"), "/usr/bin", &settings).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
}
