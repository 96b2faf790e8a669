//! `env_padding`: variables of exactly as many bytes as asked for.

use std::ffi::CString;

use crate::process::PADDING_NAME;

/// Longest string that the kernel passes to a program, its NUL included.
const LONGEST_STRING: u64 = 128 * 1024;

/// Name, `=` and NUL of a padding variable: what one takes with an empty value.
pub const SMALLEST_PADDING: u64 = PADDING_NAME.len() as u64 + 3;

/// Most padding that fits beside arguments and environment with the usual stack limit.
pub const LARGEST_PADDING: u64 = 1 << 20;

/// Variables that add exactly so many bytes to an environment, as `execve` takes them.
pub fn padding_variables(bytes: u64) -> Vec<CString> {
    let mut left = bytes;
    let mut variables = Vec::new();
    for letter in ('a'..='z').chain('A'..='Z') {
        if left == 0 {
            break;
        }
        let mut taken = left.min(LONGEST_STRING);
        if (1..SMALLEST_PADDING).contains(&(left - taken)) {
            // Leaves enough for the last variable to exist.
            taken -= SMALLEST_PADDING;
        }
        // Room from the start: the launcher's own memory is the least peak that can be measured.
        let mut variable = Vec::with_capacity(taken as usize);
        variable.extend(format!("{PADDING_NAME}{letter}=").into_bytes());
        variable.resize(taken as usize - 1, b'x');
        // No byte of it is NUL.
        variables.extend(CString::new(variable));
        left -= taken;
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(variables: &[CString]) -> u64 {
        variables
            .iter()
            .map(|variable| variable.as_bytes_with_nul().len() as u64)
            .sum()
    }

    #[test]
    fn padding_adds_exactly_the_bytes_asked_for() {
        let around = |bytes: u64| (bytes - 8..=bytes + 8).collect::<Vec<_>>();
        let mut sizes = vec![0, 6, 7, 100, 4096, 10_928, LARGEST_PADDING];
        sizes.extend(around(LONGEST_STRING));
        sizes.extend(around(3 * LONGEST_STRING));
        for bytes in sizes {
            let variables = padding_variables(bytes);
            assert_eq!(bytes_of(&variables), bytes);
            assert!(
                variables
                    .iter()
                    .all(|variable| variable.as_bytes_with_nul().len() <= LONGEST_STRING as usize)
            );
        }
    }
}
