//! Checks of an unpacked package.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use datamill_protocol::{Failure, FailureKind, Phase};

use crate::trouble::{Step, failure, io_failure};

/// The scripts of a package.
pub const SETUP: &str = "setup.sh";
/// Runs the experiment.
pub const RUN: &str = "run.sh";
/// Packs what the experiment produced, where built-in responses are not all that is wanted.
pub const COLLECT: &str = "collect.sh";
/// Profiles what `run.sh` executes, where profiles are asked for.
pub const PROFILE: &str = "profile.sh";

/// Which of the scripts that a package need not have are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionalScripts {
    /// `setup.sh`.
    pub setup: bool,
    /// `collect.sh`.
    pub collect: bool,
    /// `profile.sh`.
    pub profile: bool,
}

/// Checks that the scripts are where the contract wants them; returns which of the others are there.
pub fn check_scripts(root: &Path) -> Step<OptionalScripts> {
    if !root.join(RUN).is_file() {
        let remedy = match folder_that_holds(root, RUN) {
            Some(folder) => format!(
                "It was found one level down, as `{folder}/{RUN}`: pack the contents of `{folder}`, not the folder itself (`tar -czf package.tar.gz -C {folder} .`)."
            ),
            None => format!("Add an executable {RUN} at the root of the package."),
        };
        return Err(bad_package(
            format!("The package has no {RUN} at its root."),
            remedy,
        ));
    }
    check_executable(root, RUN)?;
    Ok(OptionalScripts {
        setup: has_script(root, SETUP)?,
        collect: has_script(root, COLLECT)?,
        profile: has_script(root, PROFILE)?,
    })
}

fn has_script(root: &Path, name: &str) -> Step<bool> {
    match fs::symlink_metadata(root.join(name)) {
        Ok(_) => check_executable(root, name).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_failure(Phase::Unpack, format!("reading {name}"))(error)),
    }
}

fn check_executable(root: &Path, name: &str) -> Step<()> {
    let path = root.join(name);
    let data = fs::metadata(&path).map_err(|error| {
        if path.is_symlink() {
            bad_package(
                format!("The package's {name} is a symbolic link that leads to no file."),
                format!("Make {name} lead to an executable file of the package, or remove it."),
            )
        } else {
            io_failure(Phase::Unpack, format!("reading {name}"))(error)
        }
    })?;
    if data.is_file() && data.permissions().mode() & 0o111 != 0 {
        return Ok(());
    }
    Err(bad_package(
        format!("The package's {name} is not an executable file."),
        format!("Make it executable (`chmod +x {name}`) and pack the package again."),
    ))
}

fn folder_that_holds(root: &Path, name: &str) -> Option<String> {
    fs::read_dir(root)
        .ok()?
        .flatten()
        .find(|entry| entry.path().join(name).is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// Refuses a package whose members, laid over the host's root, would hide parts of it: a folder in
/// place of a link such as `/bin`, or a file or link in place of a folder.
pub fn check_against_host(package: &Path, host: &Path) -> Step<()> {
    check_level_against_host(package, host, Path::new("/"))
}

fn check_level_against_host(package: &Path, host: &Path, inner: &Path) -> Step<()> {
    let entries =
        fs::read_dir(package).map_err(io_failure(Phase::Isolate, "reading the package"))?;
    for entry in entries {
        let entry = entry.map_err(io_failure(Phase::Isolate, "reading the package"))?;
        let on_host = host.join(entry.file_name());
        let Ok(host_data) = fs::symlink_metadata(&on_host) else {
            continue;
        };
        let kind = entry
            .file_type()
            .map_err(io_failure(Phase::Isolate, "reading the package"))?;
        let inner = inner.join(entry.file_name());
        let hidden = if kind.is_dir() && host_data.is_symlink() {
            Some("a folder, but there it is a link")
        } else if !kind.is_dir() && host_data.is_dir() {
            Some("not a folder, but there it is one")
        } else {
            None
        };
        if let Some(difference) = hidden {
            return Err(failure(
                Phase::Isolate,
                FailureKind::BadPackage,
                format!(
                    "The package's `{}` would replace a part of this host's root: in the package it is {difference}.",
                    inner.display()
                ),
                "Give it another name, for example a folder of the package's own.",
            ));
        }
        if kind.is_dir() && host_data.is_dir() {
            check_level_against_host(&entry.path(), &on_host, &inner)?;
        }
    }
    Ok(())
}

fn bad_package(message: String, remedy: impl Into<String>) -> Failure {
    failure(Phase::Unpack, FailureKind::BadPackage, message, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::TemporaryFolder;
    use std::os::unix::fs::symlink;

    #[test]
    fn scripts_one_level_down_are_pointed_out() {
        let folder = TemporaryFolder::new("checks");
        fs::create_dir(folder.path().join("xz-1.0")).unwrap();
        fs::write(folder.path().join("xz-1.0/run.sh"), "").unwrap();
        let refused = check_scripts(folder.path()).unwrap_err();
        assert_eq!(refused.message, "The package has no run.sh at its root.");
        assert!(
            refused.remedy.contains("`xz-1.0/run.sh`"),
            "{}",
            refused.remedy
        );
    }

    #[test]
    fn a_script_that_is_not_executable_is_named() {
        let folder = TemporaryFolder::new("checks");
        fs::write(folder.path().join("run.sh"), "").unwrap();
        let refused = check_scripts(folder.path()).unwrap_err();
        assert_eq!(
            refused.message,
            "The package's run.sh is not an executable file."
        );
    }

    #[test]
    fn a_script_that_leads_nowhere_is_not_taken_for_none() {
        let folder = TemporaryFolder::new("checks");
        let run = folder.path().join(RUN);
        fs::write(&run, "").unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        let scripts = check_scripts(folder.path()).unwrap();
        assert!(!scripts.setup && !scripts.collect && !scripts.profile);
        for name in [SETUP, COLLECT, PROFILE] {
            for target in ["gone.sh", name] {
                symlink(target, folder.path().join(name)).unwrap();
                let refused = check_scripts(folder.path()).unwrap_err();
                assert_eq!(
                    refused.message,
                    format!("The package's {name} is a symbolic link that leads to no file.")
                );
                assert_eq!(refused.kind, FailureKind::BadPackage);
                fs::remove_file(folder.path().join(name)).unwrap();
            }
            symlink(RUN, folder.path().join(name)).unwrap();
            check_scripts(folder.path()).unwrap();
        }
    }

    #[test]
    fn a_folder_in_place_of_a_link_of_the_host_is_refused() {
        let folder = TemporaryFolder::new("checks");
        let (package, host) = (folder.path().join("package"), folder.path().join("host"));
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::create_dir_all(host.join("usr/bin")).unwrap();
        symlink("usr/bin", host.join("bin")).unwrap();
        assert!(
            check_against_host(&package, &host)
                .unwrap_err()
                .message
                .contains("`/bin`")
        );
    }

    #[test]
    fn a_file_in_place_of_a_folder_of_the_host_is_refused() {
        let folder = TemporaryFolder::new("checks");
        let (package, host) = (folder.path().join("package"), folder.path().join("host"));
        fs::create_dir_all(package.join("usr")).unwrap();
        fs::write(package.join("usr/lib"), "").unwrap();
        fs::create_dir_all(host.join("usr/lib")).unwrap();
        assert!(
            check_against_host(&package, &host)
                .unwrap_err()
                .message
                .contains("`/usr/lib`")
        );
    }
}
