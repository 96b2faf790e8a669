//! The order of objects in links and archives.

use crate::program::ProgramKind;
use crate::rewriting::link_order::LinkOrder;
use crate::rewriting::rewrite_tests::{assert_unchanged, line_of, ordered, rewrite};

fn rewritten_line(kind: ProgramKind, line: &str, order: LinkOrder) -> String {
    line_of(&rewrite(kind, line, ordered(order)))
}

fn driver_sorted(line: &str) -> String {
    rewritten_line(ProgramKind::Driver, line, LinkOrder::Alphabetical)
}

fn driver_reversed(line: &str) -> String {
    rewritten_line(ProgramKind::Driver, line, LinkOrder::Reverse)
}

fn ld_sorted(line: &str) -> String {
    rewritten_line(ProgramKind::Linker, line, LinkOrder::Alphabetical)
}

fn ar_reversed(line: &str) -> String {
    rewritten_line(ProgramKind::Archiver, line, LinkOrder::Reverse)
}

#[test]
fn objects_of_a_link_are_sorted_and_everything_else_stays() {
    let line = "-g b.o -o x c.o -Wl,-O1 a.o -lm";
    assert_eq!(driver_sorted(line), "-g a.o -o x b.o -Wl,-O1 c.o -lm");
    assert_eq!(driver_reversed(line), "-g c.o -o x b.o -Wl,-O1 a.o -lm");
    assert_eq!(driver_sorted("b.lo a.obj c.os"), "a.obj b.lo c.os");
}

#[test]
fn the_base_name_is_the_key_and_the_path_breaks_ties() {
    assert_eq!(driver_sorted("a/z.o z/a.o y/a.o"), "y/a.o z/a.o a/z.o");
    assert_eq!(driver_reversed("a/z.o z/a.o y/a.o"), "a/z.o z/a.o y/a.o");
    assert_eq!(
        driver_sorted("b.o B.o a_b.o a-b.o a.o"),
        "B.o a-b.o a.o a_b.o b.o"
    );
}

#[test]
fn sources_that_are_linked_at_once_are_sorted_with_the_objects() {
    assert_eq!(driver_sorted("c.c a.c b.c -o x"), "a.c b.c c.c -o x");
    assert_eq!(driver_sorted("c.c ab.o a.cc b.S"), "a.cc ab.o b.S c.c");
    assert_eq!(driver_sorted("a.c a-b.o"), "a.c a-b.o");
}

#[test]
fn nothing_moves_across_a_language() {
    assert_eq!(
        driver_sorted("d.c c.c -x c b.c a.c"),
        "c.c d.c -x c a.c b.c"
    );
    assert_eq!(
        driver_sorted("d.o -xc c b -x none a.o"),
        "d.o -xc b c -x none a.o"
    );
}

#[test]
fn nothing_moves_across_a_bracket_or_a_library() {
    for barrier in [
        "-Wl,--whole-archive",
        "-Wl,--no-whole-archive",
        "-Wl,--start-group",
        "-Wl,-(",
        "-Wl,-z,now,--end-group",
        "-Xlinker --whole-archive",
        "-Wl,-b,binary",
        "-Wl,--format=binary",
        "-Wl,--push-state,--as-needed",
        "-lfoo",
        "-l foo",
        "libx.a",
        "libx.so",
        "libx.so.1.2",
        "script.ld",
        "crti.o",
    ] {
        assert_eq!(
            driver_sorted(&format!("d.o c.o {barrier} b.o a.o")),
            format!("c.o d.o {barrier} a.o b.o"),
        );
    }
}

#[test]
fn options_that_do_not_depend_on_position_are_no_obstacle() {
    for option in [
        "-Wl,--as-needed",
        "-L.",
        "-Wl,-rpath,/x",
        "-Wl,--build-id",
        "-T a.ld",
        "-o z.o",
    ] {
        assert_eq!(
            driver_sorted(&format!("b.o {option} a.o")),
            format!("a.o {option} b.o")
        );
    }
}

#[test]
fn a_call_that_does_not_link_keeps_its_order() {
    assert_unchanged(
        driver_sorted,
        &["-c b.c a.c", "-E b.c a.c", "-S b.c a.c", "-M b.c a.c"],
    );
}

#[test]
fn shared_libraries_and_partial_links_are_ordered() {
    assert_eq!(
        driver_sorted("-shared b.o a.o -o x.so"),
        "-shared a.o b.o -o x.so"
    );
    assert_eq!(
        driver_sorted("-r -nostdlib b.o a.o -o x.o"),
        "-r -nostdlib a.o b.o -o x.o"
    );
    assert_eq!(ld_sorted("-r b.o a.o -o x.o"), "-r a.o b.o -o x.o");
}

#[test]
fn the_linker_keeps_startup_files_levels_and_values() {
    assert_eq!(
        ld_sorted(
            "-O1 -o x.o /usr/lib/crt1.o crti.o crtbeginS.o b.o -soname z.o a.o -lc crtendS.o crtn.o"
        ),
        "-O1 -o x.o /usr/lib/crt1.o crti.o crtbeginS.o a.o -soname z.o b.o -lc crtendS.o crtn.o",
    );
    assert_eq!(
        ld_sorted("b.o --defsym x=1 -T s.o a.o"),
        "a.o --defsym x=1 -T s.o b.o"
    );
    assert_unchanged(
        ld_sorted,
        &[
            "--version",
            "-v",
            "b.o --start-group a.o",
            "b.o -b binary a.o",
        ],
    );
}

#[test]
fn members_of_an_archive_are_ordered() {
    for operation in [
        "cr",
        "rc",
        "q",
        "cq",
        "rcs",
        "-rcs",
        "-r -c -s",
        "cru",
        "rcsD",
        "--plugin p.o rc",
    ] {
        assert_eq!(
            ar_reversed(&format!("{operation} lib.a a.o c.o b.o")),
            format!("{operation} lib.a c.o b.o a.o"),
        );
    }
    assert_eq!(ar_reversed("rc a.o b.o c.o"), "rc a.o c.o b.o");
    assert_eq!(
        ar_reversed("rc -D lib.a -- b.o c.o"),
        "rc -D lib.a -- c.o b.o"
    );
}

#[test]
fn other_work_on_an_archive_passes_unchanged_and_is_no_link() {
    let lines = [
        "x lib.a a.o b.o",
        "t lib.a",
        "d lib.a a.o b.o",
        "p lib.a a.o b.o",
        "s lib.a",
        "-M",
        "m lib.a a.o b.o",
        "--version",
        "-V",
        "",
    ];
    assert_unchanged(ar_reversed, &lines);
    for line in lines {
        let rewritten = rewrite(ProgramKind::Archiver, line, ordered(LinkOrder::Reverse));
        assert_eq!(rewritten.facts.link, None, "{line}");
    }
}

#[test]
fn thin_archives_and_placed_members_pass_unchanged_and_count_as_out_of_order() {
    for line in [
        "rcT lib.a a.o b.o",
        "rc --thin lib.a a.o b.o",
        "rb c.o lib.a a.o b.o",
        "rN 1 lib.a a.o b.o",
    ] {
        let rewritten = rewrite(ProgramKind::Archiver, line, ordered(LinkOrder::Reverse));
        assert_eq!(line_of(&rewritten), line);
        let link = rewritten.facts.link.unwrap();
        assert!(
            link.orderable && !link.in_order && !link.reordered,
            "{line}"
        );
    }
}

#[test]
fn a_link_of_one_object_is_not_orderable() {
    for line in [
        "a.o -o x",
        "a.c",
        "a.o libx.a b.o",
        "a.o -lx b.o",
        "crt1.o a.o crtn.o",
    ] {
        let facts = rewrite(ProgramKind::Driver, line, ordered(LinkOrder::Reverse)).facts;
        assert!(!facts.link.unwrap().orderable, "{line}");
    }
    let facts = rewrite(
        ProgramKind::Archiver,
        "q lib.a a.o",
        ordered(LinkOrder::Reverse),
    )
    .facts;
    assert!(!facts.link.unwrap().orderable);
}

#[test]
fn a_link_that_is_in_order_already_is_not_reordered() {
    let link = |order| {
        rewrite(ProgramKind::Driver, "a.o b.o", ordered(order))
            .facts
            .link
            .unwrap()
    };
    assert!(link(LinkOrder::Alphabetical).in_order && !link(LinkOrder::Alphabetical).reordered);
    assert!(link(LinkOrder::Reverse).in_order && link(LinkOrder::Reverse).reordered);
    assert!(link(LinkOrder::Default).in_order && !link(LinkOrder::Default).reordered);
}

#[test]
fn a_file_that_looks_like_an_option_stays_and_so_does_standard_input() {
    assert_eq!(
        driver_sorted("-- d.o c.o -x b.o a.o"),
        "-- c.o d.o -x a.o b.o"
    );
    assert_eq!(driver_sorted("-x c d c - b a"), "-x c c d - a b");
}

#[test]
fn a_random_order_follows_from_seed_and_file_names_alone() {
    let order =
        |line: &str, seed| rewritten_line(ProgramKind::Driver, line, LinkOrder::Random(seed));
    let names = |line: &str| {
        let words = line
            .split(' ')
            .map(|word| word.rsplit('/').next().unwrap().to_owned());
        words.collect::<Vec<_>>()
    };
    let wanted = order("a.o b.o c.o d.o e.o", 1);
    assert_eq!(order("e.o c.o a.o b.o d.o", 1), wanted);
    assert_eq!(
        names(&order("/t/1/e.o /t/c.o /t/2/a.o /t/b.o /t/d.o", 1)),
        names(&wanted)
    );
    let others: std::collections::BTreeSet<String> = (2..40)
        .map(|seed| order("a.o b.o c.o d.o e.o", seed))
        .collect();
    assert!(others.len() > 25, "{}", others.len());
}

#[test]
fn a_random_order_is_drawn_for_each_stretch_and_counts_as_in_order() {
    let order = LinkOrder::Random(4);
    let rewritten = rewrite(ProgramKind::Driver, "d.o c.o -lx b.o a.o", ordered(order));
    let line = line_of(&rewritten);
    let (left, right) = line.split_once(" -lx ").unwrap();
    assert!(["c.o d.o", "d.o c.o"].contains(&left), "{line}");
    assert!(["a.o b.o", "b.o a.o"].contains(&right), "{line}");
    assert!(rewritten.facts.link.unwrap().in_order);
}
