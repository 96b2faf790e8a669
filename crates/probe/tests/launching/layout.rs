//! What the layout of a program's address space depends on.

use datamill_probe::ProcessSettings;

use crate::support::{QUIET, Request, run, run_shell, take_turn};

#[test]
fn address_randomisation_is_set_as_asked() {
    let _turn = take_turn();
    let personality = |address_randomization| {
        run(&Request {
            program: "/bin/cat",
            arguments: &["/proc/self/personality"],
            settings: ProcessSettings {
                address_randomization,
                ..ProcessSettings::default()
            },
            ..QUIET
        })
        .stdout
    };
    assert_eq!(
        (
            personality(Some(true)).trim(),
            personality(Some(false)).trim()
        ),
        ("00000000", "00040000")
    );
}

#[test]
fn layout_bits_of_the_caller_do_not_reach_the_program() {
    let _turn = take_turn();
    const ADDR_COMPAT_LAYOUT: libc::c_ulong = 0x0200000;
    const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0040000;
    let seen_under = |caller: libc::c_ulong, address_randomization| {
        // SAFETY: no pointers involved; the personality belongs to this thread alone.
        let before = unsafe { libc::personality(caller) };
        let output = run(&Request {
            program: "/bin/cat",
            arguments: &["/proc/self/personality"],
            settings: ProcessSettings {
                address_randomization,
                ..ProcessSettings::default()
            },
            ..QUIET
        });
        // SAFETY: as above.
        unsafe { libc::personality(before as libc::c_ulong) };
        output.stdout.trim().to_owned()
    };
    for (caller, wanted, expected) in [
        (ADDR_COMPAT_LAYOUT, None, "00000000"),
        (ADDR_COMPAT_LAYOUT, Some(true), "00000000"),
        (ADDR_COMPAT_LAYOUT, Some(false), "00040000"),
        (ADDR_COMPAT_LAYOUT | ADDR_NO_RANDOMIZE, None, "00040000"),
        (
            ADDR_COMPAT_LAYOUT | ADDR_NO_RANDOMIZE,
            Some(true),
            "00000000",
        ),
    ] {
        assert_eq!(
            seen_under(caller, wanted),
            expected,
            "{caller:x} {wanted:?}"
        );
    }
}

#[test]
fn the_soft_stack_limit_is_the_same_whatever_the_caller_has() {
    let _turn = take_turn();
    let mut before = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: valid pointer.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut before) };
    for kib in [4096, 16384] {
        let caller = libc::rlimit {
            rlim_cur: (kib << 10u32).min(before.rlim_max),
            ..before
        };
        // SAFETY: valid pointers; only the soft limit changes.
        unsafe { libc::setrlimit(libc::RLIMIT_STACK, &caller) };
        let output = run_shell("ulimit -S -s");
        // SAFETY: as above.
        unsafe { libc::setrlimit(libc::RLIMIT_STACK, &before) };
        let expected = (8 << 20).min(before.rlim_max) >> 10;
        assert_eq!(output.stdout.trim(), expected.to_string());
    }
}
