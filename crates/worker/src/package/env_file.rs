//! The package's `env` file: variables added to the environment of every phase.

/// Longest `NAME=VALUE` that the kernel passes to a program, its NUL included.
const LONGEST_STRING: usize = 128 * 1024;

/// Set by the compiler wrappers, which would take a build's calls for their own.
const RESERVED_NAME: &str = "DATAMILL_WRAPPED";

/// Variables in file order, or the reason why the file cannot be used (`env:LINE: …`).
pub fn parse_env_file(text: &[u8]) -> Result<Vec<(String, String)>, String> {
    let text = std::str::from_utf8(text).map_err(|error| {
        let line = 1 + text[..error.valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        format!("env:{line}: not UTF-8 text")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables: Vec<(String, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |cause: &str| format!("env:{}: {cause}", index + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let assignment = line
            .strip_prefix("export")
            .filter(|rest| rest.starts_with([' ', '\t']))
            .map_or(line, str::trim_start);
        let (name, value) = assignment
            .split_once('=')
            .ok_or_else(|| at("expected NAME=VALUE"))?;
        if !is_variable_name(name) {
            return Err(at(&format!(
                "`{name}` is not a name: letters, digits and _, no digit first"
            )));
        }
        if name == RESERVED_NAME {
            return Err(at(&format!(
                "{RESERVED_NAME} belongs to the compiler wrappers; choose another name"
            )));
        }
        let value = unquoted(value).map_err(&at)?;
        if value.contains('\0') {
            return Err(at("the value holds a NUL byte"));
        }
        let bytes = name.len() + value.len() + 2;
        if bytes > LONGEST_STRING {
            return Err(at(&format!(
                "{name} and its value take {bytes} bytes, and the kernel passes at most \
                 {LONGEST_STRING}; put the value into a file"
            )));
        }
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value.to_owned(),
            None => variables.push((name.to_owned(), value.to_owned())),
        }
    }
    Ok(variables)
}

fn is_variable_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The value without its matching quotes, behind which only a comment may stand, or what is wrong.
fn unquoted(value: &str) -> Result<&str, &'static str> {
    let Some(quote @ ('"' | '\'')) = value.chars().next() else {
        return Ok(value);
    };
    let inner = &value[1..];
    // The same quote may also occur within: the first one that nothing else follows closes.
    let mut ends = inner.match_indices(quote).map(|(end, _)| end);
    match ends.find(|end| is_comment_or_nothing(&inner[end + 1..])) {
        Some(end) => Ok(&inner[..end]),
        None if inner.contains(quote) => Err("something else than a comment follows the quotes"),
        None => Err("a quote is opened but not closed"),
    }
}

fn is_comment_or_nothing(rest: &str) -> bool {
    rest.is_empty() || (rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, String)> {
        parse_env_file(text.as_bytes()).unwrap()
    }

    #[test]
    fn comments_blank_lines_exports_and_quotes_are_understood() {
        let text = "# a comment\n\nA=1\nexport B='two words'\n  C=\"x=y\"\nD=\n";
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", "")];
        assert_eq!(
            parsed(text),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn the_last_of_two_equal_names_counts_once() {
        assert_eq!(parsed("A=1\nA=2\n"), [("A".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_name() {
        assert_eq!(parsed("\u{feff}A=1\n"), [("A".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn a_tab_may_follow_export() {
        let text = "export\tA=1\nexport \t B=2\nexported=3\n";
        let expected = [("A", "1"), ("B", "2"), ("exported", "3")];
        assert_eq!(
            parsed(text),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn a_comment_may_follow_a_quoted_value() {
        for (text, value) in [
            ("A='x y' # a comment", "x y"),
            ("A=\"x\"\t# say \"hi\"", "x"),
            ("A=\"{\"a\":1}\"", "{\"a\":1}"),
            ("A='#1'", "#1"),
            ("A=#1 # kept", "#1 # kept"),
        ] {
            assert_eq!(parsed(text), [("A".to_owned(), value.to_owned())], "{text}");
        }
        assert_eq!(
            parse_env_file(b"A='x'y").unwrap_err(),
            "env:1: something else than a comment follows the quotes"
        );
    }

    #[test]
    fn a_value_that_the_kernel_cannot_pass_is_named_with_its_line() {
        let longest = LONGEST_STRING - 3;
        assert_eq!(parsed(&format!("A={}", "x".repeat(longest))).len(), 1);
        let text = format!("B=1\nA={}\n", "x".repeat(longest + 1));
        let cause = parse_env_file(text.as_bytes()).unwrap_err();
        assert!(
            cause.starts_with("env:2: A and its value take 131073 bytes"),
            "{cause}"
        );
    }

    #[test]
    fn the_name_that_the_compiler_wrappers_use_is_refused() {
        let cause = parse_env_file(b"A=1\nDATAMILL_WRAPPED=1\n").unwrap_err();
        assert!(
            cause.starts_with("env:2: DATAMILL_WRAPPED belongs"),
            "{cause}"
        );
    }

    #[test]
    fn a_line_without_equals_sign_is_named() {
        assert_eq!(
            parse_env_file(b"A=1\nnonsense\n").unwrap_err(),
            "env:2: expected NAME=VALUE"
        );
    }

    #[test]
    fn a_bad_name_is_named() {
        assert!(
            parse_env_file(b"2A=1")
                .unwrap_err()
                .starts_with("env:1: `2A` is not a name")
        );
    }

    #[test]
    fn an_open_quote_is_named() {
        assert_eq!(
            parse_env_file(b"A='x").unwrap_err(),
            "env:1: a quote is opened but not closed"
        );
        assert_eq!(
            parse_env_file(b"A=\"").unwrap_err(),
            "env:1: a quote is opened but not closed"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_named_with_their_line() {
        assert_eq!(
            parse_env_file(b"A=1\nB=\xff\n").unwrap_err(),
            "env:2: not UTF-8 text"
        );
    }
}
