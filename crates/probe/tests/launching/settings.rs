//! Settings of a process reach the program, and one that is refused says which it was.

use std::time::Duration;

use datamill_probe::{
    ChildStep, LaunchError, Limit, MemoryPolicy, ProcessSettings, SchedulingPolicy,
};

use crate::support::{Output, QUIET, Request, run, take_turn, try_run};

fn request(script: &str, settings: ProcessSettings) -> Result<Output, LaunchError> {
    try_run(&Request {
        program: "/bin/sh",
        arguments: &["-c", script],
        settings,
        ..QUIET
    })
}

fn told(script: &str, settings: ProcessSettings) -> String {
    request(script, settings).unwrap().stdout.trim().to_owned()
}

/// Policy and real-time priority, the last two but some numbers of a process' `stat`.
const POLICY: &str = "cut -d' ' -f 40,41 /proc/self/stat";

#[test]
fn limits_are_soft_ones_and_reach_the_program() {
    let _turn = take_turn();
    let settings = ProcessSettings {
        stack_limit: Some(Limit::Bytes(1 << 20)),
        heap_limit: Some(Limit::Bytes(64 << 20)),
        ..ProcessSettings::RANDOMIZED
    };
    assert_eq!(told("ulimit -S -s; ulimit -S -d", settings), "1024\n65536");
}

#[test]
fn an_unlimited_stack_is_unlimited() {
    let _turn = take_turn();
    let settings = ProcessSettings {
        stack_limit: Some(Limit::Unlimited),
        ..ProcessSettings::RANDOMIZED
    };
    match request("ulimit -S -s", settings) {
        Ok(output) => assert_eq!(output.stdout.trim(), "unlimited"),
        Err(LaunchError::Child { error, .. }) if error.raw_os_error() == Some(libc::EPERM) => {
            eprintln!("skipped: the hard limit may not be raised here");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn niceness_and_policy_without_privilege_reach_the_program() {
    let _turn = take_turn();
    // More than that of these tests needs no right.
    // SAFETY: no pointers involved.
    let niceness = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }.max(5);
    for (policy, number) in [
        (SchedulingPolicy::Other, "0 0"),
        (SchedulingPolicy::Batch, "0 3"),
        (SchedulingPolicy::Idle, "0 5"),
    ] {
        let settings = ProcessSettings {
            policy: Some(policy),
            niceness: Some(niceness),
            ..ProcessSettings::RANDOMIZED
        };
        let expected = format!("{number}\n{niceness}");
        assert_eq!(told(&format!("{POLICY}; nice"), settings), expected);
    }
}

/// A real-time policy's settings, or none, with a printed reason, where they are not allowed.
fn real_time(policy: SchedulingPolicy) -> Option<ProcessSettings> {
    let settings = ProcessSettings {
        policy: Some(policy),
        ..ProcessSettings::RANDOMIZED
    };
    match request("true", settings.clone()) {
        Ok(_) => Some(settings),
        Err(LaunchError::Child { error, .. }) if error.raw_os_error() == Some(libc::EPERM) => {
            eprintln!("skipped: real-time policies are not allowed here");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_real_time_program_has_the_least_priority_and_its_launcher_is_as_before() {
    let _turn = take_turn();
    for (policy, number) in [
        (SchedulingPolicy::Fifo, "1 1"),
        (SchedulingPolicy::RoundRobin, "1 2"),
    ] {
        let Some(settings) = real_time(policy) else {
            return;
        };
        assert_eq!(told(POLICY, settings), number);
        // SAFETY: no pointers involved.
        assert_eq!(unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }, 0);
    }
}

#[test]
fn a_real_time_program_on_every_processor_is_killed_in_time() {
    let _turn = take_turn();
    let Some(settings) = real_time(SchedulingPolicy::Fifo) else {
        return;
    };
    let busy = "n=$(nproc); while [ $n -gt 0 ]; do (while :; do :; done) & n=$((n - 1)); done; while :; do :; done";
    let output = run(&Request {
        program: "/bin/sh",
        arguments: &["-c", busy],
        timeout: Some(Duration::from_millis(400)),
        settings,
        ..QUIET
    });
    let facts = output.measured.facts;
    assert!(facts.timed_out);
    // From its start: what else runs here delays that, and no program with a real-time priority.
    assert!(facts.wall_time_ns < 1_500_000_000, "{}", facts.wall_time_ns);
}

#[test]
fn processors_are_those_asked_for() {
    let _turn = take_turn();
    let all = told(
        "nproc",
        ProcessSettings {
            processors: Some((0..1024).collect()),
            ..ProcessSettings::RANDOMIZED
        },
    );
    for processor in 0..all.parse::<u32>().unwrap().min(2) {
        let settings = ProcessSettings {
            processors: Some([processor].into_iter().collect()),
            ..ProcessSettings::RANDOMIZED
        };
        let told = told("grep Cpus_allowed_list /proc/self/status", settings);
        assert_eq!(told, format!("Cpus_allowed_list:\t{processor}"));
    }
}

#[test]
fn memory_comes_from_the_nodes_asked_for() {
    let _turn = take_turn();
    let nodes = || [0].into_iter().collect();
    for (policy, word) in [
        (MemoryPolicy::Default, "default"),
        (MemoryPolicy::Local, "local"),
        (MemoryPolicy::Bind(nodes()), "bind:0"),
        (MemoryPolicy::Interleave(nodes()), "interleave:0"),
        (MemoryPolicy::Preferred(nodes()), "prefer:0"),
    ] {
        let settings = ProcessSettings {
            memory_policy: Some(policy),
            ..ProcessSettings::RANDOMIZED
        };
        match request("grep -m1 stack /proc/self/numa_maps", settings) {
            Ok(output) if output.stdout.is_empty() => {
                eprintln!("skipped: this kernel has no /proc/self/numa_maps");
            }
            Ok(output) => assert!(
                output.stdout.contains(&format!(" {word} ")),
                "{word}: {}",
                output.stdout
            ),
            Err(LaunchError::Child { error, .. })
                if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) =>
            {
                eprintln!("skipped: no NUMA policies here: {error}");
            }
            Err(error) => panic!("{word}: {error}"),
        }
    }
}

#[test]
fn a_setting_that_is_refused_is_named() {
    let _turn = take_turn();
    let refused = |settings| match request("true", settings) {
        Err(LaunchError::Child { step, error }) => (step, error.raw_os_error()),
        other => panic!("{:?}", other.map(|output| output.stdout)),
    };
    let no_processor = ProcessSettings {
        processors: Some(Default::default()),
        ..ProcessSettings::RANDOMIZED
    };
    assert_eq!(
        refused(no_processor),
        (ChildStep::Processors, Some(libc::EINVAL))
    );
    let no_node = ProcessSettings {
        memory_policy: Some(MemoryPolicy::Bind([1000].into_iter().collect())),
        ..ProcessSettings::RANDOMIZED
    };
    assert_eq!(refused(no_node).0, ChildStep::MemoryPolicy);
}
