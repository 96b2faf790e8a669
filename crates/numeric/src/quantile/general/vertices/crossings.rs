//! Where along an edge the slope of the loss turns upwards: a weighted selection.

/// One row that an edge meets: where, how much it turns the slope, and which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crossing {
    pub step: f64,
    pub gain: f64,
    pub row: u32,
}

/// Finds where the gains, in the order of the steps, add up to what is missing.
///
/// The crossings passed before come first in the slice, their number is returned with the one that turns. When
/// there are too few, `missing` is reduced by all of them.
pub(crate) fn find_turn(
    crossings: &mut [Crossing],
    missing: &mut f64,
) -> Option<(usize, Crossing)> {
    let order =
        |a: &Crossing, b: &Crossing| a.step.total_cmp(&b.step).then_with(|| a.row.cmp(&b.row));
    let (mut low, mut high) = (0, crossings.len());
    while high - low > 48 {
        let middle = low + (high - low) / 2;
        crossings[low..high].select_nth_unstable_by(middle - low, order);
        let gains: f64 = crossings[low..middle]
            .iter()
            .map(|crossing| crossing.gain)
            .sum();
        if gains >= *missing {
            high = middle;
        } else {
            *missing -= gains;
            low = middle;
        }
    }
    crossings[low..high].sort_unstable_by(order);
    for (at, crossing) in crossings[low..high].iter().enumerate() {
        if crossing.gain >= *missing {
            return Some((low + at, *crossing));
        }
        *missing -= crossing.gain;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_is_where_a_sorted_walk_would_find_it() {
        let mut crossings: Vec<Crossing> = (0..1000u32)
            .map(|row| Crossing {
                step: f64::from(row * 7919 % 1000 / 3),
                gain: 1.0 + f64::from(row % 5),
                row,
            })
            .collect();
        let mut sorted = crossings.clone();
        sorted.sort_by(|a, b| a.step.total_cmp(&b.step).then(a.row.cmp(&b.row)));
        for wanted in [0.5, 100.0, 1234.0, 2999.5] {
            let mut rest = wanted;
            let expected = sorted
                .iter()
                .position(|crossing| {
                    rest -= crossing.gain;
                    rest <= 0.0
                })
                .expect("the gains add up to more");
            let mut missing = wanted;
            let (passed, entering) =
                find_turn(&mut crossings, &mut missing).expect("there is a turn");
            assert_eq!((passed, entering), (expected, sorted[expected]));
        }
    }

    #[test]
    fn too_few_gains_are_taken_off_what_is_missing() {
        let mut crossings = vec![
            Crossing {
                step: 1.0,
                gain: 2.0,
                row: 0
            };
            3
        ];
        let mut missing = 10.0;
        assert_eq!(find_turn(&mut crossings, &mut missing), None);
        assert_eq!(missing, 4.0);
    }
}
