//! Finding the program of a command as a shell would.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Where programs are looked for without a PATH, as the C library does.
pub const WITHOUT_PATH: &[u8] = b"/bin:/usr/bin";

/// The path of a program that is started in a folder with an environment; the error is a clause that
/// tells why there is none.
pub fn find_program(
    name: &str,
    directory: &Path,
    environment: &[CString],
) -> Result<PathBuf, String> {
    if name.contains('/') {
        let path = directory.join(name);
        return match path.exists() {
            true => Ok(path),
            false => Err(format!("{} does not exist", path.display())),
        };
    }
    let mut variables = environment.iter().rev();
    let path = variables.find_map(|variable| variable.as_bytes().strip_prefix(b"PATH="));
    let folders = path.unwrap_or(WITHOUT_PATH);
    let mut forbidden = None;
    for folder in folders.split(|byte| *byte == b':') {
        // An empty name is the working folder.
        let candidate = directory.join(OsStr::from_bytes(folder)).join(name);
        if !candidate.is_file() {
            continue;
        }
        if access(&candidate, Access::EXEC_OK).is_ok() {
            return Ok(candidate);
        }
        forbidden.get_or_insert(candidate);
    }
    let searched = String::from_utf8_lossy(folders);
    Err(match (forbidden, path) {
        (Some(found), _) => format!("{} may not be executed", found.display()),
        (None, Some(_)) => format!("no folder of PATH ({searched}) has it"),
        (None, None) => format!("PATH is not set, and none of {searched} has it"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str, directory: &str, path: Option<&str>) -> Result<PathBuf, String> {
        let environment: Vec<CString> = path
            .iter()
            .map(|path| CString::new(format!("PATH={path}")).unwrap())
            .collect();
        find_program(name, Path::new(directory), &environment)
    }

    #[test]
    fn a_bare_name_is_looked_up_in_the_path_that_the_command_gets() {
        assert_eq!(find("sh", "/", Some("/none:/bin")), Ok("/bin/sh".into()));
        assert_eq!(find("sh", "/", Some("bin")), Ok("/bin/sh".into()));
        assert_eq!(find("sh", "/bin", Some("/none:")), Ok("/bin/sh".into()));
        assert_eq!(find("sh", "/", None), Ok("/bin/sh".into()));
    }

    #[test]
    fn a_name_with_a_slash_is_relative_to_the_working_folder() {
        assert_eq!(find("./sh", "/bin", Some("")), Ok("/bin/./sh".into()));
        assert_eq!(find("/bin/sh", "/proc", None), Ok("/bin/sh".into()));
        let missing = find("./no-such", "/bin", None).unwrap_err();
        assert!(missing.contains("/bin/./no-such"), "{missing}");
    }

    #[test]
    fn what_is_missing_is_told_with_where_it_was_looked_for() {
        let missing = find("no-such", "/", Some("/bin:/sbin")).unwrap_err();
        assert_eq!(missing, "no folder of PATH (/bin:/sbin) has it");
        let forbidden = find("passwd", "/", Some("/etc")).unwrap_err();
        assert_eq!(forbidden, "/etc/passwd may not be executed");
    }
}
