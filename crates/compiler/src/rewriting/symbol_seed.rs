//! The seed of names that the compiler makes up, `-frandom-seed`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::draws::Draws;
use crate::arguments::{DriverCall, Role};

/// Whether the option sets the seed, or leaves it to chance.
pub(crate) fn is_symbol_seed(option: &OsStr) -> bool {
    let option = option.as_bytes();
    option.starts_with(b"-frandom-seed") || option == b"-fno-random-seed"
}

/// Replaces the seed by one that is drawn for the files of this call.
///
/// Compilers want another one for each file, as names with the same seed may clash where objects are
/// merged; it must not depend on the folder that the trial runs in.
pub(crate) fn set_symbol_seed(call: &mut DriverCall, seed: u64) {
    call.remove_options(is_symbol_seed);
    let sources = call
        .arguments
        .iter()
        .filter(|a| matches!(a.role, Role::Source | Role::FixedSource))
        .map(|a| a.text.as_os_str());
    let mut names: Vec<&[u8]> = sources
        .chain(call.output.as_deref())
        .map(place_independent)
        .collect();
    names.sort_unstable();
    let drawn = Draws::new(seed, names).draw();
    call.append(
        OsString::from(format!("-frandom-seed=0x{drawn:016x}")),
        Role::Option,
    );
}

/// A relative path as it is, an absolute one without its folder.
fn place_independent(file: &OsStr) -> &[u8] {
    let path = Path::new(file);
    let name = path.file_name().filter(|_| path.is_absolute());
    name.unwrap_or(file).as_bytes()
}
