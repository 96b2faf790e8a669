//! The text of the factor `compiler_flags`.

use std::ffi::OsString;

use crate::arguments::{Role, Stage, parse_driver_call};
use crate::rewriting::{is_pie_option, is_symbol_seed};

/// The level that adds nothing.
pub(crate) const NO_FLAGS: &str = "none";

/// Options that change what a link makes.
const OTHER_PRODUCTS: [&str; 2] = ["-shared", "-r"];

/// The options that the text stands for; the error says what is wrong with it.
///
/// Refused is what is no option (files, `--`), what makes a call do something else (`-c`, `-o`,
/// `-shared`), and what is a factor of its own.
pub(crate) fn parse_flags(text: &str) -> Result<Vec<OsString>, String> {
    if text == NO_FLAGS {
        return Ok(Vec::new());
    }
    let words = split_words(text)?;
    if words.is_empty() {
        return Err(format!("an empty text is not one; write {NO_FLAGS}"));
    }
    // A file at the end makes it a call that compiles, as those that the options are added to.
    let call = parse_driver_call([&words[..], &["file.c".into()]].concat(), false);
    if call.arguments.last().is_none_or(|a| a.role != Role::Source) {
        return Err("its last option lacks a value".to_owned());
    }
    for argument in &call.arguments[..words.len()] {
        let word = argument.text.display();
        if argument.role == Role::Level {
            return Err(format!("{word} is a level of the factor optimization"));
        }
        if argument.role == Role::Option && is_pie_option(&argument.text) {
            return Err(format!("{word} is set by the factor pie"));
        }
        if argument.role == Role::Option && is_symbol_seed(&argument.text) {
            return Err(format!("{word} is set by the factor symbol_seed"));
        }
        if !matches!(argument.role, Role::Option | Role::Plain | Role::Library) {
            return Err(format!("{word} is a file, or changes how files are read"));
        }
    }
    if call.stage != Stage::Link || call.output.is_some() || call.has_option(&OTHER_PRODUCTS) {
        return Err("one of these changes what a call of the compiler makes".to_owned());
    }
    Ok(words)
}

/// Splits as a shell does: white space separates, quotes group, a backslash escapes; nothing is expanded.
fn split_words(text: &str) -> Result<Vec<OsString>, String> {
    let mut words = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                current.get_or_insert_default();
            }
            (None, '\\') => match characters.next() {
                Some(escaped) => current.get_or_insert_default().push(escaped),
                None => return Err("a backslash at its end escapes nothing".to_owned()),
            },
            (Some('"'), '\\')
                if characters
                    .peek()
                    .is_some_and(|next| "\"\\$`".contains(*next)) =>
            {
                current.get_or_insert_default().extend(characters.next());
            }
            (None, _) if character.is_ascii_whitespace() => {
                words.extend(current.take().map(OsString::from));
            }
            _ => current.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(current.map(OsString::from));
    if words
        .iter()
        .any(|word| word.as_encoded_bytes().contains(&0))
    {
        return Err("it has a NUL character".to_owned());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let words = parse_flags(text).unwrap_or_else(|reason| panic!("{text}: {reason}"));
        words
            .into_iter()
            .map(|w| w.into_string().unwrap())
            .collect()
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        assert_eq!(
            words(" -march=native\t-fno-inline "),
            ["-march=native", "-fno-inline"]
        );
        assert_eq!(words(r#"'-DX=a b' -DY="c d"e"#), ["-DX=a b", "-DY=c de"]);
        assert_eq!(
            words(r#"-DX=a\ b -DY='\n' -DZ="\n\"""#),
            ["-DX=a b", r"-DY=\n", r#"-DZ=\n""#]
        );
        assert_eq!(words("-DX=$HOME"), ["-DX=$HOME"]);
        assert_eq!(words("-I ''"), ["-I", ""]);
    }

    #[test]
    fn none_stands_for_nothing() {
        assert!(words("none").is_empty());
    }

    #[test]
    fn options_with_values_and_libraries_are_options() {
        for text in [
            "--param max-inline-insns-auto=10",
            "-I /usr/include -DX",
            "-Wl,-O1 -lm",
            "-flto=2 -fuse-linker-plugin",
            "-fsanitize=address -g",
            "-static",
            "-fPIC",
            "-l m",
        ] {
            assert!(parse_flags(text).is_ok(), "{text}: {:?}", parse_flags(text));
        }
    }

    #[test]
    fn texts_that_would_break_a_call_are_refused() {
        for text in [
            "",
            " ",
            "none none",
            "main.c",
            "a.o",
            "-",
            "-- -g",
            "@file",
            "-I",
            "-g -include",
            "-x c++",
            "-c",
            "-S",
            "-E",
            "-o x",
            "-ox",
            "--version",
            "-shared",
            "-r",
            "-DX='",
            "\"",
            "-g \\",
        ] {
            assert!(parse_flags(text).is_err(), "{text}");
        }
    }

    #[test]
    fn options_that_are_a_factor_of_their_own_are_refused_with_its_name() {
        for (text, factor) in [
            ("-g -O2", "optimization"),
            ("-Ofast", "optimization"),
            ("--optimize=2", "optimization"),
            ("-fPIE", "pie"),
            ("-no-pie", "pie"),
            ("-static-pie", "pie"),
            ("-frandom-seed=1", "symbol_seed"),
        ] {
            let reason = parse_flags(text).unwrap_err();
            assert!(reason.ends_with(factor), "{text}: {reason}");
        }
    }
}
