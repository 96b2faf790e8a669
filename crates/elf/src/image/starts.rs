//! Where places begin, in a form in which an address finds its place at once.

/// Ascending addresses, and how many of them lie before each of about twice as many stretches of equal length: code asks
/// for a place with every second instruction.
pub(crate) struct Starts {
    starts: Vec<u64>,
    first: u64,
    /// Addresses of a stretch, as a power of two.
    shift: u32,
    before: Vec<u32>,
}

impl Starts {
    /// `starts` ascend.
    pub(crate) fn new(starts: Vec<u64>) -> Self {
        let first = starts.first().copied().unwrap_or(0);
        let reach = starts.last().copied().unwrap_or(0) - first;
        // A damaged table may begin anywhere: the number of stretches is bounded by that of places.
        let most = 2 * starts.len() as u64 + 1;
        let mut shift = 0;
        while reach >> shift >= most {
            shift += 1;
        }
        let stretches = (reach >> shift) as usize + 2;
        let mut before = Vec::with_capacity(stretches);
        let mut index = 0;
        for stretch in 0..stretches as u64 {
            while starts
                .get(index)
                .is_some_and(|start| (start - first) >> shift < stretch)
            {
                index += 1;
            }
            before.push(index as u32);
        }
        Self {
            starts,
            first,
            shift,
            before,
        }
    }

    /// How many begin at or before `address`.
    #[inline]
    pub(crate) fn up_to(&self, address: u64) -> usize {
        let Some(distance) = address.checked_sub(self.first) else {
            return 0;
        };
        let stretch = usize::try_from(distance >> self.shift).unwrap_or(usize::MAX);
        let Some(&after) = self.before.get(stretch.saturating_add(1)) else {
            return self.starts.len();
        };
        let before = self.before[stretch] as usize;
        before + self.starts[before..after as usize].partition_point(|start| *start <= address)
    }

    /// Whether one begins at `address`.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.up_to(address)
            .checked_sub(1)
            .is_some_and(|index| self.starts[index] == address)
    }
}

#[cfg(test)]
mod tests {
    use super::Starts;

    #[test]
    fn addresses_are_found_as_a_search_among_all_finds_them() {
        for starts in [
            vec![],
            vec![5],
            vec![5, 5, 6, 9, 1000, 1001, 1 << 40],
            vec![0, u64::MAX],
            (0..1000).map(|index| index * index).collect(),
        ] {
            let index = Starts::new(starts.clone());
            let asked = starts
                .iter()
                .flat_map(|start| [start.wrapping_sub(1), *start, start.wrapping_add(1)])
                .chain([0, 7, 1 << 63, u64::MAX]);
            for address in asked {
                let expected = starts.partition_point(|start| *start <= address);
                assert_eq!(index.up_to(address), expected, "{address} of {starts:?}");
                assert_eq!(index.holds(address), starts.contains(&address));
            }
        }
    }
}
