//! The package's `env` file: variables added to the environment of every phase.

/// Variables in file order, or the reason why the file cannot be used (`env:LINE: …`).
pub fn parse_env_file(text: &[u8]) -> Result<Vec<(String, String)>, String> {
    let text = std::str::from_utf8(text).map_err(|error| {
        let line = 1 + text[..error.valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        format!("env:{line}: not UTF-8 text")
    })?;
    let mut variables: Vec<(String, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let at = |cause: &str| format!("env:{}: {cause}", index + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let assignment = line.strip_prefix("export ").map_or(line, str::trim_start);
        let (name, value) = assignment
            .split_once('=')
            .ok_or_else(|| at("expected NAME=VALUE"))?;
        if !is_variable_name(name) {
            return Err(at(&format!(
                "`{name}` is not a name: letters, digits and _, no digit first"
            )));
        }
        let value = unquoted(value).ok_or_else(|| at("a quote is opened but not closed"))?;
        if value.contains('\0') {
            return Err(at("the value holds a NUL byte"));
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

/// The value without its matching quotes; `None` when one is left open.
fn unquoted(value: &str) -> Option<&str> {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].strip_suffix(quote),
        _ => Some(value),
    }
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
