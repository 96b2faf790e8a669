//! Names that occur once in a table.

use std::collections::HashMap;

/// Makes each name occur once: those that several have get their file, and those that still do a number.
///
/// `names` are the names and files of places in the order of their addresses.
pub(crate) fn tell_apart(names: Vec<(String, Option<&str>)>) -> Vec<String> {
    let plain = counts(names.iter().map(|(name, _)| name.as_str()));
    let with_file: Vec<String> = names
        .iter()
        .map(|(name, file)| match file {
            Some(file) if plain[name.as_str()] > 1 => format!("{name} ({})", without_unit(file)),
            _ => name.clone(),
        })
        .collect();
    let total = counts(with_file.iter().map(String::as_str));
    let mut seen: HashMap<&str, u32> = HashMap::new();
    let mut told = Vec::with_capacity(with_file.len());
    for name in &with_file {
        if total[name.as_str()] == 1 {
            told.push(name.clone());
            continue;
        }
        let number = seen.entry(name).or_insert(0);
        *number += 1;
        told.push(if *number == 1 {
            name.clone()
        } else {
            format!("{name} #{number}")
        });
    }
    told
}

/// The crate of one of rustc's units of code, `walk.0123456789abcdef-cgu.07`: hash and number change between builds.
fn without_unit(file: &str) -> &str {
    let Some((name, number)) = file.rsplit_once("-cgu.") else {
        return file;
    };
    match name.rsplit_once('.') {
        Some((name, hash))
            if hash.len() == 16
                && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
                && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            name
        }
        _ => file,
    }
}

fn counts<'n>(names: impl Iterator<Item = &'n str>) -> HashMap<&'n str, u32> {
    let mut counts = HashMap::new();
    for name in names {
        *counts.entry(name).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::tell_apart;

    #[test]
    fn local_functions_of_one_name_are_told_apart_by_file_and_then_by_number() {
        let names = [
            ("swap", Some("a.c")),
            ("swap", Some("b.c")),
            ("swap", Some("b.c")),
            ("main", Some("a.c")),
        ];
        let told = tell_apart(names.map(|(name, file)| (name.to_owned(), file)).to_vec());
        assert_eq!(told, ["swap (a.c)", "swap (b.c)", "swap (b.c) #2", "main"]);
    }

    #[test]
    fn units_of_rust_are_named_by_their_crate_alone() {
        let names = [
            "walk.0123456789abcdef-cgu.00",
            "other.0123456789abcdef-cgu.12",
            "a-cgu.c",
        ];
        let told = tell_apart(names.map(|file| ("swap".to_owned(), Some(file))).to_vec());
        assert_eq!(told, ["swap (walk)", "swap (other)", "swap (a-cgu.c)"]);
    }
}
