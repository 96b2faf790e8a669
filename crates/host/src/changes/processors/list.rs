//! Lists and masks of processors, as the kernel writes them.

use std::collections::BTreeSet;

/// Processors by their numbers.
pub type Processors = BTreeSet<u32>;

/// No kernel numbers a processor higher than this.
const LARGEST: u32 = 8191;

/// The processors of a list such as `0-1,3`.
pub fn parse_list(list: &str) -> Option<Processors> {
    let mut processors = BTreeSet::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last > LARGEST {
            return None;
        }
        processors.extend(first..=last);
    }
    Some(processors)
}

/// The shortest list of processors, as the kernel writes it.
pub fn format_list(processors: &Processors) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in processors {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let text = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

/// The processors of a mask such as `ff,0000000f`.
pub fn parse_mask(mask: &str) -> Option<Processors> {
    let digits: String = mask.chars().filter(|it| *it != ',').collect();
    let mut processors = BTreeSet::new();
    for (place, digit) in digits.chars().rev().enumerate() {
        let bits = digit.to_digit(16)?;
        let first = u32::try_from(place).ok()? * 4;
        processors.extend(
            (0..4)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| first + bit),
        );
    }
    (!digits.is_empty()).then_some(processors)
}

/// The mask of processors, with digits and commas where another mask of the same file has them.
pub fn format_mask(processors: &Processors, like: &str) -> String {
    let digits = like.chars().filter(|it| *it != ',').count();
    let mut place = digits as u32;
    like.chars()
        .map(|it| {
            if it == ',' {
                return it;
            }
            place -= 1;
            let bits = (0..4)
                .filter(|bit| processors.contains(&(place * 4 + bit)))
                .fold(0, |bits, bit| bits | 1 << bit);
            char::from_digit(bits, 16).unwrap_or('0')
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_understood_and_written_as_the_kernel_writes_them() {
        assert_eq!(parse_list("0-1,3"), Some(BTreeSet::from([0, 1, 3])));
        for text in ["", "a", "3-1", "0-", "1,,2"] {
            assert_eq!(parse_list(text), None, "{text}");
        }
        for text in ["0", "0-1", "0-3,7,9-10"] {
            assert_eq!(format_list(&parse_list(text).unwrap()), text);
        }
    }

    #[test]
    fn masks_keep_their_width() {
        let processors = parse_mask("3,80000001").unwrap();
        assert_eq!(processors, BTreeSet::from([0, 31, 32, 33]));
        assert_eq!(format_mask(&processors, "f,ffffffff"), "3,80000001");
        assert_eq!(format_mask(&BTreeSet::from([0]), "ff"), "01");
        assert_eq!(format_mask(&BTreeSet::new(), "3"), "0");
        assert_eq!(parse_mask("x"), None);
    }
}
