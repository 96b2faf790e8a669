//! Sets of small numbers.

/// A set of numbers below a limit that tells how many of it lie before a number.
#[derive(Default)]
pub(super) struct Ranks {
    words: Vec<u64>,
    /// How many lie before each word.
    before: Vec<u32>,
}

impl Ranks {
    /// Begins an empty set of numbers below `limit`.
    pub(super) fn begin(&mut self, limit: usize) {
        self.words.clear();
        // One word more than it takes: what lies before the limit is asked too.
        self.words.resize(limit / 64 + 1, 0);
    }

    /// Adds a number; one that is not below the limit is left out.
    #[inline]
    pub(super) fn insert(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    #[inline]
    pub(super) fn holds(&self, number: usize) -> bool {
        self.words
            .get(number / 64)
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Counts the set, after which `before` may be asked; returns how many it has.
    pub(super) fn count(&mut self) -> u32 {
        self.before.clear();
        let mut sum = 0;
        self.before.extend(self.words.iter().map(|word| {
            let before = sum;
            sum += word.count_ones();
            before
        }));
        sum
    }

    /// How many are smaller than a number that is not above the limit.
    #[inline]
    pub(super) fn before(&self, number: usize) -> u32 {
        let word = self.words[number / 64];
        self.before[number / 64] + (word & ((1 << (number % 64)) - 1)).count_ones()
    }

    /// The numbers, ascending.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let number = index as u32 * 64 + left.trailing_zeros();
                    left &= left - 1;
                    number
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Ranks;

    #[test]
    fn numbers_have_as_many_before_them_as_a_sorted_list_has() {
        let numbers = [0, 1, 63, 64, 65, 128, 200];
        let mut ranks = Ranks::default();
        ranks.begin(201);
        for number in numbers {
            ranks.insert(number);
        }
        assert_eq!(ranks.count(), 7);
        for number in 0..=201 {
            let expected = numbers.partition_point(|one| *one < number);
            assert_eq!(ranks.before(number), expected as u32, "{number}");
            assert_eq!(ranks.holds(number), numbers.contains(&number));
        }
        assert!(ranks.numbers().eq(numbers.map(|number| number as u32)));
    }
}
