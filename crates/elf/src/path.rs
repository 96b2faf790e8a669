//! A program from its path, with the separate file of its symbols.

use std::path::{Path, PathBuf};

use object::Object;

use crate::image::build::hexadecimal;
use crate::read::read_rows;
use crate::rows::Rows;
use crate::table::FunctionTable;
use crate::trouble::Trouble;

/// Reads the rows of the program at `path`, with names from its separate debug file where one is found, and returns what
/// `take` makes of them.
///
/// Debug files are looked for as gdb does: under `/usr/lib/debug/.build-id`, and by the name in `.gnu_debuglink` beside
/// the program, in `.debug` beside it, and under `/usr/lib/debug`. One of another build is not taken.
///
/// # Errors
/// [`Trouble`] where the file cannot be read or is not a program that is understood.
pub fn read_path_rows<T>(path: &Path, take: impl FnOnce(&Rows<'_>) -> T) -> Result<T, Trouble> {
    let bytes = std::fs::read(path).map_err(|why| Trouble::Unreadable(why.to_string()))?;
    let debug = debug_file(path, &bytes);
    read_rows(&bytes, debug.as_deref(), take)
}

/// Reads it as a table: see [`read_path_rows`].
///
/// # Errors
/// As there.
pub fn read_path(path: &Path) -> Result<FunctionTable, Trouble> {
    read_path_rows(path, |rows| FunctionTable::from(rows))
}

fn debug_file(path: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
    let file = object::File::parse(bytes).ok()?;
    if file.symbols().next().is_some() {
        return None;
    }
    separate_file(path, &file)
}

/// The separate file of a program's symbols and lines, where one is found.
pub(crate) fn separate_file(path: &Path, file: &object::File<'_>) -> Option<Vec<u8>> {
    let build_id = file.build_id().ok().flatten();
    let mut candidates: Vec<PathBuf> = Vec::new();
    if let Some(id) = build_id.map(hexadecimal).filter(|id| id.len() > 2) {
        candidates.push(
            Path::new("/usr/lib/debug/.build-id")
                .join(&id[..2])
                .join(format!("{}.debug", &id[2..])),
        );
    }
    if let Ok(Some((name, _))) = file.gnu_debuglink()
        && let Ok(name) = std::str::from_utf8(name)
        && !name.contains('/')
    {
        let folder = std::fs::canonicalize(path).ok()?.parent()?.to_path_buf();
        candidates.push(folder.join(name));
        candidates.push(folder.join(".debug").join(name));
        candidates.push(
            Path::new("/usr/lib/debug")
                .join(folder.strip_prefix("/").ok()?)
                .join(name),
        );
    }
    candidates.into_iter().find_map(|candidate| {
        let debug = std::fs::read(candidate).ok()?;
        let parsed = object::File::parse(debug.as_slice()).ok()?;
        (parsed.build_id().ok().flatten() == build_id).then_some(())?;
        Some(debug)
    })
}
