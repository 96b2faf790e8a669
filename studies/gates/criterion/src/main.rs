//! Has criterion measure the program that GATES_PROGRAM names, as `studies/gates` asks.
//!
//! `gates-criterion --bench --save-baseline base`, then of another program `--baseline base`.

use std::process::{Command, Stdio};

use criterion::Criterion;

fn main() {
    let program = std::env::var("GATES_PROGRAM").expect("GATES_PROGRAM names the program");
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("program", |bencher| {
        bencher.iter(|| {
            let status = Command::new(&program).stdin(Stdio::null()).status().expect("it starts");
            assert!(status.success(), "{program} failed");
        });
    });
    criterion.final_summary();
}
