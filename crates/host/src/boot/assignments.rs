//! What a file of settings assigns that a shell reads, as far as that can be told without running it.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// Values by name; `None` where only a run of the file would tell the value.
pub type Assigned = BTreeMap<String, Option<String>>;

/// Variables that change how a shell reads what follows.
const OF_THE_SHELL: [&str; 2] = ["IFS", "PATH"];

/// Adds what a text assigns, as a POSIX shell would; the error is the number of the first line that does anything else.
pub fn read_assignments(text: &str, assigned: &mut Assigned) -> Result<(), usize> {
    let mut reader = Reader {
        rest: text.chars().peekable(),
        line: 1,
    };
    while reader.rest.peek().is_some() {
        let line = reader.line;
        assign(&reader.read_statement()?, assigned).ok_or(line)?;
    }
    Ok(())
}

/// Does what a statement says; `None` where it is not of assignments alone.
fn assign(words: &[Word], assigned: &mut Assigned) -> Option<()> {
    let (words, is_exported) = match words {
        [first, rest @ ..] if first.is_bare("export") && !rest.is_empty() => (rest, true),
        _ => (words, false),
    };
    for word in words {
        // What stands without a value keeps the one that it has. A value that is worked out may fall into several words.
        match word.as_assignment() {
            Some((_, None)) if is_exported => return None,
            Some((name, _)) if OF_THE_SHELL.contains(&name) => return None,
            Some((name, value)) => {
                assigned.insert(name.to_owned(), value.map(str::to_owned));
            }
            None if is_exported && is_name(&word.text) && word.is_bare(&word.text) => {}
            None => return None,
        }
    }
    Some(())
}

/// A word of a statement, without its quotes.
#[derive(Default)]
struct Word {
    text: String,
    /// Length of its beginning that stands outside quotes.
    bare: usize,
    /// Whether a part of it stands inside quotes, or is worked out.
    is_quoted: bool,
    /// Whether a part of it is worked out by the shell.
    is_worked_out: bool,
}

impl Word {
    fn push(&mut self, letter: char, is_bare: bool) {
        self.is_quoted |= !is_bare;
        self.text.push(letter);
        if !self.is_quoted {
            self.bare = self.text.len();
        }
    }

    fn is_bare(&self, text: &str) -> bool {
        !self.is_quoted && !self.is_worked_out && self.text == text
    }

    /// Name and value.
    fn as_assignment(&self) -> Option<(&str, Option<&str>)> {
        let (name, value) = self.text.split_once('=')?;
        let is_assignment = is_name(name) && name.len() < self.bare;
        is_assignment.then_some((name, Some(value).filter(|_| !self.is_worked_out)))
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && text.chars().all(is_of_name)
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.rest.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    /// The words up to the end of a line, a semicolon or the end of the text.
    fn read_statement(&mut self) -> Result<Vec<Word>, usize> {
        let mut words = Vec::new();
        let mut word: Option<Word> = None;
        loop {
            let line = self.line;
            let Some(letter) = self.next() else { break };
            match letter {
                '\n' => break,
                // A shell wants something before it.
                ';' if words.is_empty() && word.is_none() => return Err(line),
                ';' => break,
                ' ' | '\t' => words.extend(word.take()),
                '#' if word.is_none() => while self.rest.next_if(|it| *it != '\n').is_some() {},
                '\\' if self.rest.peek() == Some(&'\n') => {
                    self.next();
                }
                '\\' => {
                    let letter = self.next().ok_or(line)?;
                    word.get_or_insert_default().push(letter, false);
                }
                '\'' => self.read_single(word.get_or_insert_default())?,
                '"' => self.read_double(word.get_or_insert_default())?,
                '$' => self.read_expansion(word.get_or_insert_default(), true)?,
                '`' | '&' | '|' | '(' | ')' | '<' | '>' | '\0' => return Err(line),
                _ => word.get_or_insert_default().push(letter, true),
            }
        }
        words.extend(word);
        Ok(words)
    }

    fn read_single(&mut self, word: &mut Word) -> Result<(), usize> {
        word.is_quoted = true;
        loop {
            match self.next().ok_or(self.line)? {
                '\'' => return Ok(()),
                letter => word.push(letter, false),
            }
        }
    }

    fn read_double(&mut self, word: &mut Word) -> Result<(), usize> {
        word.is_quoted = true;
        loop {
            let line = self.line;
            match self.next().ok_or(line)? {
                '"' => return Ok(()),
                '\\' => match self.rest.peek() {
                    Some('\n') => {
                        self.next();
                    }
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                        word.push(*escaped, false);
                        self.next();
                    }
                    _ => word.push('\\', false),
                },
                '$' => self.read_expansion(word, false)?,
                '`' | '\0' => return Err(line),
                letter => word.push(letter, false),
            }
        }
    }

    /// What stands behind a `$`: passed over where working it out can change no variable.
    fn read_expansion(&mut self, word: &mut Word, is_bare: bool) -> Result<(), usize> {
        let line = self.line;
        match self.rest.peek() {
            Some('(') => {
                self.next();
                self.pass(')', |it| is_of_name(it) || " ./-".contains(it))
                    .ok_or(line)?;
            }
            Some('{') => {
                self.next();
                self.pass('}', is_of_name).ok_or(line)?;
            }
            Some(letter) if is_of_name(*letter) => {
                while self.rest.next_if(|it| is_of_name(*it)).is_some() {}
            }
            Some('?' | '#' | '@' | '*' | '!' | '-' | '$') => {
                self.next();
            }
            _ => {
                word.push('$', is_bare);
                return Ok(());
            }
        }
        word.is_quoted = true;
        word.is_worked_out = true;
        Ok(())
    }

    /// Passes over letters that are allowed, up to an end.
    fn pass(&mut self, end: char, is_allowed: impl Fn(char) -> bool) -> Option<()> {
        loop {
            match self.next()? {
                letter if letter == end => return Some(()),
                letter if is_allowed(letter) => {}
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// What a shell has in a variable after it has read a text; `None` where it fails.
    fn ask_shell(text: &str, name: &str) -> Option<String> {
        let script = format!("{text}\nprintf '%s|' \"${name}\"");
        let told = Command::new("/bin/sh").args(["-c", &script]).output();
        let told = String::from_utf8(told.unwrap().stdout).unwrap();
        Some(told.strip_suffix('|')?.to_owned())
    }

    #[test]
    fn values_are_those_that_a_shell_has() {
        for (text, value) in [
            ("A=true", "true"),
            ("A=true # as the package installs it", "true"),
            ("A=true#x", "true#x"),
            ("  A=true", "true"),
            ("#A=false\nA=true\n", "true"),
            ("A=true\n# A=false", "true"),
            ("export A=true", "true"),
            ("export A='true' B", "true"),
            ("A=true; export A", "true"),
            ("A=false\nA=true", "true"),
            ("A=false B=1 A=true", "true"),
            ("A=\"true\"", "true"),
            ("A=tr\"u\"'e'", "true"),
            ("A='a # b'", "a # b"),
            ("A=\"root=/dev/sda1 ro\" # own", "root=/dev/sda1 ro"),
            ("A=\"a\nb\"", "a\nb"),
            ("A=a\\\nb", "ab"),
            ("A=\"a\\\nb\"", "ab"),
            ("A=\"\\$x \\\" \\a\"", "$x \" \\a"),
            ("A=a\\ b", "a b"),
            ("A=a$", "a$"),
            ("A=\"\"", ""),
            ("A=", ""),
            ("A=true\r", "true\r"),
            ("B=$(uname -r) A=true", "true"),
            ("B=\"/boot/vmlinuz-$(uname -r)\"\nA=true", "true"),
            ("B=${HOME}$1\"$PATH\"\nA=true;", "true"),
            ("A=$HOME\nA=true", "true"),
            ("AA=1\nA=true\nA_=2", "true"),
        ] {
            let mut assigned = Assigned::new();
            assert_eq!(read_assignments(text, &mut assigned), Ok(()), "{text}");
            assert_eq!(assigned["A"].as_deref(), Some(value), "{text}");
            assert_eq!(ask_shell(text, "A").as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn a_value_that_a_shell_works_out_is_not_guessed() {
        for text in ["A=$B", "A=\"x $B\"", "A=$(cat /proc/cmdline)", "A=x${B}"] {
            let mut assigned = Assigned::new();
            assert_eq!(read_assignments(text, &mut assigned), Ok(()), "{text}");
            assert_eq!(assigned["A"], None, "{text}");
        }
    }

    #[test]
    fn a_line_that_does_more_than_to_assign_is_named() {
        for (text, line) in [
            ("A=1\nif true; then A=2; fi", 2),
            ("A= true", 1),
            ("A =true", 1),
            ("A=`uname -r`", 1),
            ("A=${B:=x}", 1),
            ("A=$(echo $((1 + 1)))", 1),
            ("A=1\n\nB=\"open", 3),
            ("A='open", 1),
            ("\n. /etc/default/grub", 2),
            ("A=1 && B=2", 1),
            (";A=1", 1),
            ("A=1;;", 1),
            ("export A=$B", 1),
            ("\"A\"=1", 1),
            ("A+=1", 1),
            ("1A=1", 1),
            ("IFS=x", 1),
            ("readonly A=1", 1),
        ] {
            let told = read_assignments(text, &mut Assigned::new());
            assert_eq!(told, Err(line), "{text}");
        }
    }
}
