//! Lists such as `0-3,8` of processors or memory nodes, as the kernel writes them.

use datamill_probe::BitSet;

/// Numbers above this are none of a processor or node in any kernel.
const LARGEST: u32 = 8191;

/// Understands a list with at least one number; `None` for anything else.
pub fn parse_number_list(text: &str) -> Option<BitSet> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (parse_number(first)?, parse_number(last)?);
        if first > last {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers.into_iter().collect())
}

/// Digits alone: `u32` would take a sign.
pub fn parse_number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits)?;
    (number <= LARGEST).then_some(number)
}

/// The shortest list of a set.
pub fn format_number_list(set: &BitSet) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in set.numbers() {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let texts: Vec<String> = ranges
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_in_any_order_and_written_in_the_shortest_way() {
        for (text, expected) in [
            ("0", "0"),
            ("0-1", "0-1"),
            ("3,1,0-0", "0-1,3"),
            ("8191", "8191"),
            ("2,1-3,64", "1-3,64"),
        ] {
            let set = parse_number_list(text).unwrap();
            assert_eq!(format_number_list(&set), expected);
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in [
            "",
            "a",
            "1,",
            "-1",
            "3-1",
            "+1",
            "1-2-3",
            "8192",
            "1 2",
            "0-99999999999",
        ] {
            assert_eq!(parse_number_list(text), None, "{text}");
        }
    }
}
