//! Where places begin and end, in a form in which an address finds its place at once.

/// Ascending starts with their ends, and how many of them lie before each of about twice as many stretches of equal length:
/// code asks for a place with every second instruction.
pub(crate) struct Starts {
    places: Vec<(u64, u64)>,
    first: u64,
    /// Addresses of a stretch, as a power of two.
    shift: u32,
    before: Vec<u32>,
}

impl Starts {
    /// Starts ascend.
    pub(crate) fn new(places: Vec<(u64, u64)>) -> Self {
        let first = places.first().map_or(0, |place| place.0);
        let reach = places.last().map_or(0, |place| place.0) - first;
        // A damaged table may begin anywhere: the number of stretches is bounded by that of places.
        let most = 2 * places.len() as u64 + 1;
        let mut shift = 0;
        while reach >> shift >= most {
            shift += 1;
        }
        let stretches = (reach >> shift) as usize + 2;
        let mut before = Vec::with_capacity(stretches);
        let mut index = 0;
        for stretch in 0..stretches as u64 {
            while places
                .get(index)
                .is_some_and(|place| (place.0 - first) >> shift < stretch)
            {
                index += 1;
            }
            before.push(index as u32);
        }
        Self {
            places,
            first,
            shift,
            before,
        }
    }

    /// How many begin at or before `address`.
    #[inline(always)]
    pub(crate) fn up_to(&self, address: u64) -> usize {
        let Some(distance) = address.checked_sub(self.first) else {
            return 0;
        };
        let stretch = usize::try_from(distance >> self.shift).unwrap_or(usize::MAX);
        let Some(&after) = self.before.get(stretch.saturating_add(1)) else {
            return self.places.len();
        };
        let before = self.before[stretch] as usize;
        before + self.places[before..after as usize].partition_point(|place| place.0 <= address)
    }

    /// Whether one begins at `address`.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.up_to(address)
            .checked_sub(1)
            .is_some_and(|index| self.places[index].0 == address)
    }

    /// The last one that begins at or before `address`, if it ends behind it, and how far into it that is.
    #[inline(always)]
    pub(crate) fn within(&self, address: u64) -> Option<(usize, u64)> {
        let index = self.up_to(address).checked_sub(1)?;
        let (start, end) = self.places[index];
        (address < end).then(|| (index, address - start))
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
            let index = Starts::new(
                starts
                    .iter()
                    .map(|start| (*start, start / 2 + 500))
                    .collect(),
            );
            let asked = starts
                .iter()
                .flat_map(|start| [start.wrapping_sub(1), *start, start.wrapping_add(1)])
                .chain([0, 7, 1 << 63, u64::MAX]);
            for address in asked {
                let expected = starts.partition_point(|start| *start <= address);
                assert_eq!(index.up_to(address), expected, "{address} of {starts:?}");
                assert_eq!(index.holds(address), starts.contains(&address));
                let last = expected.checked_sub(1).map(|last| (last, starts[last]));
                let within = last.filter(|(_, start)| address < start / 2 + 500);
                let found = within.map(|(last, start)| (last, address - start));
                assert_eq!(index.within(address), found, "{address} of {starts:?}");
            }
        }
    }
}
