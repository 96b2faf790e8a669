//! Which locales the C library finds here.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::factors::process::libraries::is_musl;

/// Built into the C library; musl has C.UTF-8 as well.
const BUILT_IN: [&str; 2] = ["C", "POSIX"];

const FOLDER: &str = "/usr/lib/locale";
const ARCHIVE: &str = "/usr/lib/locale/locale-archive";
const ARCHIVE_MAGIC: u32 = 0xde02_0109;
/// More entries than any archive has.
const MOST_ENTRIES: u32 = 1 << 16;

/// Whether a text can be the name of a locale.
pub fn is_locale_name(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.@-".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(known) && !text.starts_with(['.', '-'])
}

/// Where a locale is, in words; the error says that it is not here.
pub fn find_locale(name: &str) -> Result<String, String> {
    if BUILT_IN.contains(&name) || name == "C.UTF-8" && is_musl() {
        return Ok("it is built into the C library".to_owned());
    }
    let stored = stored_name(name);
    for folder in [name, stored.as_str()] {
        let path = Path::new(FOLDER).join(folder);
        if path.join("LC_CTYPE").is_file() {
            return Ok(format!("it is compiled in {}", path.display()));
        }
    }
    if archived_locales(Path::new(ARCHIVE))
        .iter()
        .any(|known| *known == stored || known == name)
    {
        return Ok(format!("it is compiled in {ARCHIVE}"));
    }
    Err("this locale is not installed here (`locale -a` lists those that are)".to_owned())
}

/// Locales that are here, under the names that people use, in alphabetical order; `POSIX`, another
/// name of `C`, is left out.
pub fn list_locales() -> Vec<String> {
    let folders = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut names: BTreeSet<String> = folders
        .filter(|entry| entry.path().join("LC_CTYPE").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.extend(archived_locales(Path::new(ARCHIVE)));
    names.insert("C".to_owned());
    // The archive also has names without a character set, for the same locales.
    let shown: BTreeSet<String> = names
        .into_iter()
        .filter(|name| is_locale_name(name) && name != "POSIX")
        .map(|name| name.replace(".utf8", ".UTF-8"))
        .collect();
    shown.into_iter().collect()
}

/// The name under which the C library stores a locale: of the character set, only letters and
/// digits count, in lower case, and one of digits alone is of ISO.
fn stored_name(name: &str) -> String {
    let (name, modifier) = name
        .split_once('@')
        .map_or((name, None), |(name, at)| (name, Some(at)));
    let mut stored = match name.split_once('.') {
        None => name.to_owned(),
        Some((language, set)) => {
            let plain: String = set
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|letter| letter.to_ascii_lowercase())
                .collect();
            let iso = if plain.bytes().all(|byte| byte.is_ascii_digit()) {
                "iso"
            } else {
                ""
            };
            format!("{language}.{iso}{plain}")
        }
    };
    if let Some(modifier) = modifier {
        stored.push('@');
        stored.push_str(modifier);
    }
    stored
}

/// Names in a locale archive of glibc; none when there is no archive, or one of another format.
fn archived_locales(archive: &Path) -> Vec<String> {
    read_archive(archive).unwrap_or_default()
}

/// The table of names: for each its hash, where its text is, and where its data is (`locarchive.h`).
fn read_archive(archive: &Path) -> Option<Vec<String>> {
    let file = File::open(archive).ok()?;
    let mut header = [0u8; 20];
    file.read_exact_at(&mut header, 0).ok()?;
    let word = |bytes: &[u8], index: usize| {
        let at = index * 4;
        u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let (table, entries) = (word(&header, 2), word(&header, 4));
    if word(&header, 0) != ARCHIVE_MAGIC || entries > MOST_ENTRIES {
        return None;
    }
    let mut bytes = vec![0u8; entries as usize * 12];
    file.read_exact_at(&mut bytes, table.into()).ok()?;
    let names = bytes.chunks_exact(12).filter_map(|entry| {
        let (at, data) = (word(entry, 1), word(entry, 2));
        if at == 0 || data == 0 {
            return None;
        }
        let mut text = [0u8; 64];
        let got = file.read_at(&mut text, at.into()).ok()?;
        let end = text[..got].iter().position(|byte| *byte == 0)?;
        String::from_utf8(text[..end].to_vec()).ok()
    });
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_as_the_c_library_normalises_them() {
        for (name, stored) in [
            ("C.UTF-8", "C.utf8"),
            ("de_DE.UTF-8@euro", "de_DE.utf8@euro"),
            ("de_DE.8859-1", "de_DE.iso88591"),
            ("de_DE", "de_DE"),
        ] {
            assert_eq!(stored_name(name), stored);
        }
    }

    #[test]
    fn c_is_everywhere_and_nonsense_is_not() {
        assert!(find_locale("C").unwrap().contains("built"));
        assert!(find_locale("xx_YY.UTF-8").is_err());
        assert!(list_locales().contains(&"C".to_owned()));
        assert!(!is_locale_name("../etc") && !is_locale_name("") && is_locale_name("C.UTF-8"));
    }

    #[test]
    fn names_are_read_from_an_archive() {
        // One name at 48, in a table of two entries of which one is empty.
        let mut bytes = Vec::new();
        for word in [ARCHIVE_MAGIC, 0, 20, 1, 2, 7, 48, 99, 0, 0, 0, 0] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.truncate(44);
        bytes.extend([0; 4]);
        bytes.extend(b"de_DE.utf8\0");
        let path = std::env::temp_dir().join(format!("datamill-archive-{}", std::process::id()));
        fs::write(&path, &bytes).unwrap();
        let names = archived_locales(&path);
        fs::write(&path, b"short").unwrap();
        let none = archived_locales(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(names, ["de_DE.utf8"]);
        assert!(none.is_empty());
    }
}
