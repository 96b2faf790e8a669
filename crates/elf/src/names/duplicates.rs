//! Names that occur once in a table.

use std::collections::HashMap;

/// Makes each name occur once: those that several have get their file, and those that still do a number.
///
/// `names` are the names and files of places in the order of their addresses.
pub(crate) fn tell_apart(names: Vec<(String, Option<&str>)>) -> Vec<String> {
    let plain = Occurrences::count(names.iter().map(|(name, _)| name.as_str()));
    let mut are_filed = false;
    let with_file: Vec<String> = names
        .into_iter()
        .zip(&plain.of)
        .map(|((name, file), which)| match file {
            Some(file) if plain.counts[*which] > 1 => {
                are_filed = true;
                format!("{name} ({})", without_unit(file))
            }
            _ => name,
        })
        .collect();
    let total = if are_filed {
        Occurrences::count(with_file.iter().map(String::as_str))
    } else {
        plain
    };
    let mut seen = vec![0; total.counts.len()];
    with_file
        .into_iter()
        .zip(total.of)
        .map(|(name, which)| {
            seen[which] += 1;
            match seen[which] {
                1 => name,
                number => format!("{name} #{number}"),
            }
        })
        .collect()
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

/// How often names occur.
struct Occurrences {
    /// Which of the different names each is.
    of: Vec<usize>,
    counts: Vec<u32>,
}

impl Occurrences {
    fn count<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> Self {
        let mut known: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        let mut counts = Vec::new();
        let of = names
            .map(|name| {
                let which = *known.entry(name).or_insert(counts.len());
                if which == counts.len() {
                    counts.push(0);
                }
                counts[which] += 1;
                which
            })
            .collect();
        Self { of, counts }
    }
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
