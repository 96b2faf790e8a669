//! The program that a `run.sh` becomes, where it says so.

use std::fs;
use std::path::{Path, PathBuf};

use super::{LARGEST_BYTES, program_bytes};

/// Finds the compiled program that a script becomes: that of its last line, where this is an `exec` of a plain word,
/// or of a shell whose command line begins with one.
///
/// Variables that are set before the program are left out, as is an `env` that sets them. Relative paths lead from
/// the folder of the last `cd`, or from that in which the script starts. What cannot be told is not found: all
/// that a wrong guess would do is to have another program read again.
pub fn find_program(script: &str, directory: &Path, search_path: &str) -> Option<PathBuf> {
    let script = script.replace("\\\n", " ");
    let lines = || {
        let lines = script.lines().map(str::trim);
        lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
    };
    let words = split_words(lines().next_back()?.strip_prefix("exec ")?);
    let mut words = skip_settings(&words);
    let inner;
    if let [Some(shell), Some(option), Some(text), ..] = words
        && shell == "/bin/sh"
        && option == "-c"
    {
        inner = split_words(text);
        words = skip_settings(&inner);
    }
    let program = words.first()?.as_ref()?;
    let place = if program.starts_with('/') {
        PathBuf::from(program)
    } else if program.contains('/') {
        match lines()
            .filter_map(|line| line.strip_prefix("cd "))
            .next_back()
        {
            Some(rest) => directory
                .join(split_words(rest).first()?.as_ref()?)
                .join(program),
            None => directory.join(program),
        }
    } else {
        let folders = search_path.split(':');
        let mut places = folders.map(|folder| directory.join(folder).join(program));
        places.find(|place| place.is_file())?
    };
    let place = fs::canonicalize(place).ok()?;
    program_bytes(&place)
        .filter(|bytes| *bytes <= LARGEST_BYTES)
        .map(|_| place)
}

/// Words from the program on: variables that are set for it come before it.
fn skip_settings(words: &[Option<String>]) -> &[Option<String>] {
    let words = match words {
        [Some(first), rest @ ..] if first == "env" => rest,
        _ => words,
    };
    let sets = |word: &Option<String>| {
        let name = word.as_ref().and_then(|word| word.split_once('='));
        name.is_some_and(|(name, _)| !name.contains('/'))
    };
    let first = words.iter().position(|word| !sets(word));
    &words[first.unwrap_or(words.len())..]
}

/// Words of a line of a shell; `None` for one with anything that the shell replaces, and none after it.
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
    use crate::world::SEARCH_PATH;

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
        for script in [
            "exec './a program' -9 \"$LEVEL\"\n".to_owned(),
            "exec './a program' \\\n  -9 \\\n  -c\n# the end\n".to_owned(),
            "exec A=1 B='2 3' ./link\n".to_owned(),
            "exec env A=1 ./link\n".to_owned(),
            "exec link \"$@\"\n".to_owned(),
            "exec /bin/sh -c 'A=1 ./link | wc'\n".to_owned(),
            format!("cd \"$(dirname \"$0\")\"\nexec '{place}/a program' x\n"),
            format!("if ! [ -d /x ]; then\n exit 1\nfi\ncd {place} || exit 125\nexec ./link\n\n"),
            format!("cd '{place}' || exit 125\nexec /bin/sh -c './link | wc -c'\n"),
        ] {
            let path = format!("/nowhere:{place}");
            let found = find_program(&script, directory, &path);
            assert_eq!(found.as_ref(), Some(&program), "{script}");
        }
        let sh = fs::canonicalize("/bin/sh").unwrap();
        for script in [
            "exec sh -c x\n",
            "exec /bin/sh script.sh\n",
            "exec /bin/sh\n",
        ] {
            assert_eq!(
                find_program(script, directory, SEARCH_PATH).as_ref(),
                Some(&sh)
            );
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
            "exec -a name './a program'\n",
            "exec 'unended\n",
            "exec `which x`\n",
            "exec ./gone\n",
            "exec A=1\n",
            "exec no-such-program-anywhere\n",
            "exec /bin/sh -c '$(x)'\n",
            "cd \"$HOME\"\nexec './a program'\n",
            "exec \n",
            "exec ''\n",
        ] {
            assert_eq!(
                find_program(script, directory, SEARCH_PATH),
                None,
                "{script}"
            );
        }
    }
}
