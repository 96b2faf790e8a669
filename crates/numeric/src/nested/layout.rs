//! Where executions and builds begin and end.

use std::ops::Range;

/// Offsets of one level: part k has the entries from `offsets[k]` up to `offsets[k + 1]`.
#[derive(Clone, Copy, Debug)]
pub struct Nesting<'a> {
    offsets: &'a [i64],
}

impl<'a> Nesting<'a> {
    /// Checks that the offsets part `entries` entries into one part or more, none of them empty.
    ///
    /// # Errors
    /// A sentence, when they do not; `of` names the parts in it.
    pub fn new(offsets: &'a [i64], entries: usize, of: &str) -> Result<Self, String> {
        if offsets.len() < 2 || offsets[0] != 0 {
            return Err(format!(
                "offsets of {of} begin with 0 and end with {entries}"
            ));
        }
        let last = offsets[offsets.len() - 1];
        if usize::try_from(last) != Ok(entries) {
            return Err(format!(
                "offsets of {of} end with {last}, not with {entries}"
            ));
        }
        if let Some(at) = offsets.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(format!("number {at} of the {of} is empty"));
        }
        Ok(Self { offsets })
    }

    /// Number of parts.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Entries of part `part`.
    pub fn part(&self, part: usize) -> Range<usize> {
        self.offsets[part] as usize..self.offsets[part + 1] as usize
    }

    /// Entries of every part, in turn.
    pub fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        self.offsets
            .windows(2)
            .map(|pair| pair[0] as usize..pair[1] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_that_leave_entries_out_or_parts_empty_are_refused() {
        assert!(Nesting::new(&[0, 2, 5], 5, "builds").is_ok());
        for (offsets, reason) in [
            (
                &[] as &[i64],
                "offsets of builds begin with 0 and end with 5",
            ),
            (&[1, 5], "offsets of builds begin with 0 and end with 5"),
            (&[0, 4], "offsets of builds end with 4, not with 5"),
            (&[0, -1], "offsets of builds end with -1, not with 5"),
            (&[0, 3, 3, 5], "number 1 of the builds is empty"),
            (&[0, 7, 5], "number 1 of the builds is empty"),
        ] {
            assert_eq!(Nesting::new(offsets, 5, "builds").unwrap_err(), reason);
        }
    }
}
