//! The environment of a phase: fixed, never the worker's own.

use std::ffi::CString;

use crate::world::World;

/// Where programs are looked for, behind the compiler wrappers.
pub const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The same variables in every trial, then those of the package's `env` file.
///
/// `with_wrappers` puts the compiler wrappers first in PATH, also before a PATH of the package's own.
pub fn phase_environment(
    world: &World,
    package: &[(String, String)],
    with_wrappers: bool,
) -> Vec<(String, String)> {
    let home = if world.root.as_os_str() == "/" {
        "/root".into()
    } else {
        world.root.to_string_lossy()
    };
    let mut variables: Vec<(String, String)> = [
        ("PATH", SEARCH_PATH),
        ("HOME", home.as_ref()),
        ("LANG", "C.UTF-8"),
        ("SHELL", "/bin/sh"),
        ("USER", "root"),
        ("LOGNAME", "root"),
        // A compiler cache that outlives the trial knows nothing of the level that the wrapper sets.
        ("CCACHE_DISABLE", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    for (name, value) in package {
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.clone_from(value),
            None => variables.push((name.clone(), value.clone())),
        }
    }
    if with_wrappers && let Some((_, path)) = variables.iter_mut().find(|(name, _)| name == "PATH")
    {
        *path = format!("{}/bin:{path}", world.tools.display());
    }
    variables
}

/// Variables as `execve` takes them; those with a NUL byte cannot exist and are left out.
pub fn c_strings(variables: &[(String, String)]) -> Vec<CString> {
    variables
        .iter()
        .filter_map(|(name, value)| CString::new(format!("{name}={value}")).ok())
        .collect()
}
