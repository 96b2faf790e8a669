//! A command that builds a program, behind the compiler wrappers.

use std::fs;
use std::process::Command;

use datamill_protocol::BuildRequest;

use crate::session::Session;

/// Builds the program of this test with a link order drawn from a seed; returns digest and what it saw.
fn build(session: &mut Session, seed: u64) -> (String, u64, Option<String>) {
    let tools = session.path("tools").to_string_lossy().into_owned();
    let mut request = session.shell("cc -c one.c two.c three.c main.c && cc -o prog *.o");
    request
        .levels
        .insert("link_order".to_owned(), "random".to_owned());
    request.build = Some(BuildRequest { tools, seed });
    let (facts, answer) = session.complete(&request);
    assert_eq!(facts.exit_code, Some(0), "{}", answer.stderr_tail);
    let build = answer.build.unwrap();
    let order = answer
        .factors
        .iter()
        .find(|fact| fact.name == "link_order")
        .unwrap();
    (
        build.executables_sha256.unwrap(),
        build.compiler.orderable_links,
        order.observed.clone(),
    )
}

#[test]
fn a_build_is_linked_in_the_order_of_its_seed() {
    let mut session = Session::begin();
    for name in ["one", "two", "three"] {
        let text = format!("int {name}(void) {{ return 1; }}\n");
        fs::write(session.path(&format!("{name}.c")), text).unwrap();
    }
    let main = "int one(void), two(void), three(void);\nint main(void) { return one() + two() + three() - 3; }\n";
    fs::write(session.path("main.c"), main).unwrap();
    let (first, links, order) = build(&mut session, 1);
    assert_eq!((links, order.as_deref()), (1, Some("random")));
    let others: Vec<String> = (2..7).map(|seed| build(&mut session, seed).0).collect();
    assert!(others.iter().any(|digest| *digest != first));
    assert_eq!(build(&mut session, 1).0, first);
    assert!(
        Command::new(session.path("prog"))
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn factors_of_a_build_are_refused_where_nothing_is_built() {
    let mut session = Session::begin();
    let mut request = session.shell("true");
    request
        .levels
        .insert("link_order".to_owned(), "random".to_owned());
    let answer = session.answer(&request);
    let message = answer.failure.unwrap().message;
    assert!(message.contains("levels.link_order"), "{message}");
}
