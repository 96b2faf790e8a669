//! A random forest (Breiman 2001): trees on rows drawn with replacement, splits by Gini's impurity among some features.

use rayon::prelude::*;

use super::Cases;
use crate::draws::Draws;

/// A node: a leaf has no feature and the weighted share of true labels as its value; another sends rows whose
/// feature is at most the value to the left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// What it splits by.
    pub feature: Option<usize>,
    /// The threshold, or the share.
    pub value: f64,
    /// The node of rows up to the threshold.
    pub left: usize,
    /// The node of the others.
    pub right: usize,
}

/// Grows trees until their leaves are pure. `tried` features are drawn for each split; more are tried where none of
/// these splits. Each tree depends on the seed and its number alone.
pub fn grow(cases: Cases<'_>, trees: usize, tried: usize, seed: u64) -> Vec<Vec<Node>> {
    (0..trees)
        .into_par_iter()
        .map(|tree| grow_tree(cases, tried.max(1), Draws::new(seed, tree as u64)))
        .collect()
}

/// A row with its weight, which counts how often it was drawn.
type Drawn = (usize, f64);

struct Split {
    feature: usize,
    least: f64,
    impurity: f64,
}

fn grow_tree(cases: Cases<'_>, tried: usize, mut draws: Draws) -> Vec<Node> {
    let rows = cases.rows();
    let mut times = vec![0_u32; rows];
    for _ in 0..rows {
        times[draws.below(rows as u64) as usize] += 1;
    }
    let drawn: Vec<Drawn> = (0..rows)
        .filter(|row| times[*row] > 0)
        .map(|row| (row, f64::from(times[row]) * cases.weights[row]))
        .collect();
    let mut nodes = vec![leaf(cases, &drawn)];
    let mut waiting = vec![(0, drawn)];
    while let Some((at, members)) = waiting.pop() {
        let share = nodes[at].value;
        if share <= 0.0 || share >= 1.0 {
            continue;
        }
        let Some(split) = find_split(cases, &members, tried, &mut draws) else {
            continue;
        };
        let (left, right): (Vec<Drawn>, Vec<Drawn>) = members
            .iter()
            .partition(|(row, _)| cases.row(*row)[split.feature] <= split.least);
        nodes[at] = Node {
            feature: Some(split.feature),
            value: split.least,
            left: nodes.len(),
            right: nodes.len() + 1,
        };
        nodes.push(leaf(cases, &left));
        nodes.push(leaf(cases, &right));
        waiting.push((nodes.len() - 2, left));
        waiting.push((nodes.len() - 1, right));
    }
    nodes
}

fn leaf(cases: Cases<'_>, members: &[Drawn]) -> Node {
    let all: f64 = members.iter().map(|(_, weight)| weight).sum();
    let positive: f64 = members
        .iter()
        .filter(|(row, _)| cases.labels[*row])
        .map(|(_, weight)| weight)
        .sum();
    // Of one class the share is exactly 0 or 1.
    let pure = members.iter().all(|(row, _)| cases.labels[*row]);
    Node {
        feature: None,
        value: if pure { 1.0 } else { positive / all },
        left: 0,
        right: 0,
    }
}

fn find_split(
    cases: Cases<'_>,
    members: &[Drawn],
    tried: usize,
    draws: &mut Draws,
) -> Option<Split> {
    let mut order: Vec<usize> = (0..cases.columns).collect();
    let mut best: Option<Split> = None;
    for place in 0..order.len() {
        if place >= tried && best.is_some() {
            break;
        }
        let other = place + draws.below((order.len() - place) as u64) as usize;
        order.swap(place, other);
        let found = split_feature(cases, members, order[place]);
        if let Some(found) = found
            && best
                .as_ref()
                .is_none_or(|best| found.impurity < best.impurity)
        {
            best = Some(found);
        }
    }
    best
}

/// The threshold with the least weighted impurity on both sides.
fn split_feature(cases: Cases<'_>, members: &[Drawn], feature: usize) -> Option<Split> {
    let mut sorted: Vec<(f64, bool, f64)> = members
        .iter()
        .map(|(row, weight)| (cases.row(*row)[feature], cases.labels[*row], *weight))
        .collect();
    sorted.sort_by(|first, second| first.0.total_cmp(&second.0));
    let (mut all, mut positive) = (0.0, 0.0);
    for (_, label, weight) in &sorted {
        all += weight;
        positive += if *label { *weight } else { 0.0 };
    }
    let (mut below, mut below_positive) = (0.0, 0.0);
    let mut best: Option<Split> = None;
    for pair in sorted.windows(2) {
        below += pair[0].2;
        below_positive += if pair[0].1 { pair[0].2 } else { 0.0 };
        if pair[0].0 >= pair[1].0 {
            continue;
        }
        let impurity = gini(below_positive, below) + gini(positive - below_positive, all - below);
        if best.as_ref().is_none_or(|best| impurity < best.impurity) {
            let middle = pair[0].0 + (pair[1].0 - pair[0].0) / 2.0;
            best = Some(Split {
                feature,
                // Of two neighbouring numbers the middle may be the larger one.
                least: if middle < pair[1].0 {
                    middle
                } else {
                    pair[0].0
                },
                impurity,
            });
        }
    }
    best
}

/// Gini's impurity times the weight.
fn gini(positive: f64, all: f64) -> f64 {
    if all > 0.0 {
        2.0 * positive * (all - positive) / all
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(tree: &[Node], row: &[f64]) -> f64 {
        let mut at = 0;
        while let Some(feature) = tree[at].feature {
            at = if row[feature] <= tree[at].value {
                tree[at].left
            } else {
                tree[at].right
            };
        }
        tree[at].value
    }

    #[test]
    fn a_forest_learns_what_one_feature_says_and_is_the_same_for_the_same_seed() {
        let values: Vec<f64> = (0..80)
            .flat_map(|row| [f64::from(row), f64::from(row * 37 % 11)])
            .collect();
        let labels: Vec<bool> = (0..80).map(|row| row >= 40).collect();
        let weights = vec![1.0; 80];
        let cases = Cases::new(&values, &labels, &weights, 2).unwrap();
        let trees = grow(cases, 60, 1, 7);
        let score = |row: &[f64]| {
            trees.iter().map(|tree| follow(tree, row)).sum::<f64>() / trees.len() as f64
        };
        assert!(score(&[5.0, 3.0]) < 0.2);
        assert!(score(&[75.0, 3.0]) > 0.8);
        assert_eq!(trees, grow(cases, 60, 1, 7));
    }

    #[test]
    fn weights_count_like_repeated_rows() {
        let values = [0.0, 0.0, 0.0];
        let labels = [true, false, false];
        let cases = Cases::new(&values, &labels, &[2.0, 1.0, 1.0], 1).unwrap();
        let members = [(0, 2.0), (1, 1.0), (2, 1.0)];
        assert!((leaf(cases, &members).value - 0.5).abs() < 1e-12);
    }
}
