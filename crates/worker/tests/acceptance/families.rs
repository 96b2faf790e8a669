//! Processes that scripts leave to the worker.

use crate::support::Bench;

/// Leaves many children to the worker and prints how many of them have ended but are not reaped.
const LEAVE_ORPHANS: &str = "i=0; while [ $i -lt 300 ]; do (true &); i=$((i+1)); done; sleep 0.5
cat /proc/[0-9]*/stat 2>/dev/null | grep -c \") Z $PPID \" || true";

#[test]
fn orphans_are_reaped_while_a_plain_script_runs() {
    let bench = Bench::new(LEAVE_ORPHANS);
    let record = bench.complete();
    assert_eq!(bench.output("run.out"), "0\n");
    assert_eq!(record.run.unwrap().left_processes, 0);
}

#[test]
fn orphans_are_reaped_while_a_script_in_an_overlay_runs() {
    let Some(bench) = Bench::as_root(LEAVE_ORPHANS) else {
        return;
    };
    let record = bench.complete();
    assert_eq!(bench.output("run.out"), "0\n");
    assert_eq!(record.run.unwrap().left_processes, 0);
}
