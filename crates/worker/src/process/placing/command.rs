//! The program that a `run.sh` becomes, where it says so.

use std::fs;
use std::path::{Path, PathBuf};

use super::program_bytes;
use crate::world::SEARCH_PATH;

/// Finds the compiled program that a script becomes: that of its last line, where this is an `exec` of a plain word
/// or of a shell whose command line begins with one.
///
/// Paths are relative to the folder of the last `cd`, or to that in which the script starts.
pub fn find_program(script: &str, directory: &Path) -> Option<PathBuf> {
    let lines = || {
        script
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let mut words = split_words(lines().next_back()?.strip_prefix("exec ")?).into_iter();
    let mut program = words.next()??;
    if program == "/bin/sh" && words.next()?? == "-c" {
        program = split_words(&words.next()??).into_iter().next()??;
    }
    let directory = lines()
        .filter_map(|line| line.strip_prefix("cd "))
        .next_back()
        .map_or(Some(directory.to_owned()), |rest| {
            let folder = split_words(rest).into_iter().next()??;
            Some(directory.join(folder))
        })?;
    let place = if program.contains('/') {
        directory.join(program)
    } else {
        let mut places = SEARCH_PATH
            .split(':')
            .map(|folder| Path::new(folder).join(&program));
        places.find(|place| place.is_file())?
    };
    let place = fs::canonicalize(place).ok()?;
    program_bytes(&place).map(|_| place)
}

/// Words of a line of a shell; `None` for one with anything that the shell replaces, and all after it left out.
fn split_words(line: &str) -> Vec<Option<String>> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let mut word = String::new();
        loop {
            let mut letters = rest.char_indices();
            match letters.next() {
                None => break,
                Some((_, letter)) if letter.is_whitespace() => break,
                Some((_, quote @ ('\'' | '"'))) => {
                    let Some(end) = rest[1..].find(quote) else {
                        words.push(None);
                        return words;
                    };
                    let quoted = &rest[1..=end];
                    if quote == '"' && quoted.contains(['$', '`', '\\']) {
                        words.push(None);
                        return words;
                    }
                    word.push_str(quoted);
                    rest = &rest[end + 2..];
                }
                Some((_, letter)) if letter.is_alphanumeric() || "_@%+=:,./-".contains(letter) => {
                    word.push(letter);
                    rest = &rest[letter.len_utf8()..];
                }
                Some(_) => {
                    words.push(None);
                    return words;
                }
            }
        }
        words.push(Some(word));
        rest = rest.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::scratch::TemporaryFolder;

    fn program_in(folder: &Path) -> PathBuf {
        let path = fs::canonicalize(folder).unwrap().join("a program");
        fs::write(&path, b"\x7fELF...").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_program_of_the_last_line_is_found() {
        let folder = TemporaryFolder::new("program");
        let program = program_in(folder.path());
        let directory = program.parent().unwrap();
        symlink("a program", directory.join("link")).unwrap();
        let place = directory.display();
        let sh = fs::canonicalize("/bin/sh").unwrap();
        for (script, found) in [
            ("exec './a program' -9 \"$LEVEL\"\n".to_owned(), &program),
            (format!("#!/bin/sh\nexec '{place}/a program' x\n"), &program),
            (
                format!(
                    "if ! [ -d /x ]; then\n exit 1\nfi\ncd {place} || exit 125\nexec ./link\n\n"
                ),
                &program,
            ),
            (
                format!("cd '{place}' || exit 125\nexec /bin/sh -c './link | wc -c'\n"),
                &program,
            ),
            ("exec sh -c x\n".to_owned(), &sh),
            ("exec /bin/sh script.sh\n".to_owned(), &sh),
        ] {
            let found_there = find_program(&script, directory);
            assert_eq!(found_there.as_ref(), Some(found), "{script}");
        }
    }

    #[test]
    fn a_script_that_does_not_say_it_has_no_program() {
        let folder = TemporaryFolder::new("program");
        let program = program_in(folder.path());
        let directory = program.parent().unwrap();
        fs::write(directory.join("script"), "#!/bin/sh\n").unwrap();
        for script in [
            "",
            "./link\n",
            "exec ./script\n",
            "exec $PROGRAM\n",
            "exec \"$PROGRAM\"\n",
            "exec 'unended\n",
            "exec `which x`\n",
            "exec ./gone\n",
            "exec no-such-program-anywhere\n",
            "exec /bin/sh -c\n",
            "exec /bin/sh -c '$(x)'\n",
            "cd \"$HOME\"\nexec './a program'\n",
            "exec \n",
            "exec ''\n",
        ] {
            assert_eq!(find_program(script, directory), None, "{script}");
        }
    }
}
