//! Random link orders, judged by the layout of functions.

use std::collections::BTreeSet;

use crate::workshop::{PARTS, Workshop, observed_levels, part_files, parts_in};

/// The layouts of an executable and a library, when a build passes objects in this order.
fn layouts(name: &str, link_order: &str, objects: &str) -> [Vec<String>; 2] {
    let workshop = Workshop::asking(&format!("random-{name}"), &[("link_order", link_order)]);
    workshop.shell(&format!("gcc -c main.c {}", part_files("c")));
    workshop.shell(&format!("gcc main.o {objects} -o program && ./program"));
    workshop.shell(&format!("ar rc libparts.a {objects}"));
    workshop.shell("gcc main.o -Wl,--whole-archive libparts.a -Wl,--no-whole-archive -o through");
    assert_eq!(workshop.observed(), observed_levels(&[link_order]));
    ["program", "through"].map(|binary| workshop.layout_of(binary))
}

#[test]
fn an_order_follows_from_its_seed_whatever_order_the_build_passes() {
    let passed = part_files("o");
    let turned: Vec<&str> = passed.split(' ').rev().collect();
    let first = layouts("first", "random:3", &passed);
    assert_eq!(layouts("again", "random:3", &turned.join(" ")), first);
    for layout in &first {
        let found: BTreeSet<&str> = layout.iter().map(String::as_str).collect();
        assert_eq!(found, BTreeSet::from(PARTS));
    }
}

#[test]
fn seeds_give_different_orders_and_the_trial_has_one() {
    let passed = part_files("o");
    // Objects and archives have stretches of their own: compare like with like.
    let orders: BTreeSet<_> = (0..6)
        .map(|seed| layouts(&format!("seed{seed}"), &format!("random:{seed}"), &passed))
        .collect();
    assert!(orders.len() >= 4, "{orders:?}");
    assert!(
        orders
            .iter()
            .any(|[layout, _]| *layout != parts_in("alphabetical"))
    );
    assert_eq!(
        layouts("trial", "random", &passed),
        layouts("one", "random:1", &passed)
    );
}
