//! The system calls that namespaces and missing capabilities do not stop, refused by a filter.
//!
//! The same program for all trials with the same needs, because it costs time: a few nanoseconds for
//! each system call of the package.

use datamill_protocol::KernelInterface;

/// Families of sockets that a network namespace confines, beside netlink.
const CONFINED_FAMILIES: [i32; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// What programs ask the kernel about by netlink: addresses and routes, sockets, devices. By another
/// protocol processes send each other messages that lie in memory which no control group counts.
const NETLINK_PROTOCOLS: [i32; 4] = [
    libc::NETLINK_ROUTE,
    libc::NETLINK_SOCK_DIAG,
    libc::NETLINK_KOBJECT_UEVENT,
    libc::NETLINK_GENERIC,
];

/// Offsets in the kernel's `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const THIRD_ARGUMENT: u32 = 32;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;

/// One way in which programs call this kernel.
struct Abi {
    /// `AUDIT_ARCH_*`.
    architecture: u32,
    /// What is refused in any case.
    refused: &'static [i64],
    /// What is refused unless it is asked for.
    on_demand: &'static [(i64, KernelInterface)],
    /// Calls whose first argument may ask for a user namespace. Those that ask for one otherwise
    /// find that there may be none.
    separating: &'static [i64],
    /// The calls that make a socket, and a pair of them.
    socket: i64,
    socket_pair: i64,
    /// Numbers from here on belong to another way.
    end: Option<u32>,
}

macro_rules! native_calls {
    () => {
        &[
            libc::SYS_add_key,
            libc::SYS_request_key,
            libc::SYS_keyctl,
            libc::SYS_bpf,
            libc::SYS_open_by_handle_at,
            libc::SYS_kexec_load,
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_swapon,
            libc::SYS_swapoff,
            libc::SYS_reboot,
            libc::SYS_acct,
            libc::SYS_quotactl,
            libc::SYS_clock_settime,
            libc::SYS_settimeofday,
        ]
    };
}

const NATIVE_ON_DEMAND: [(i64, KernelInterface); 5] = [
    (libc::SYS_perf_event_open, KernelInterface::PerfEvents),
    (libc::SYS_io_uring_setup, KernelInterface::IoUring),
    (libc::SYS_io_uring_enter, KernelInterface::IoUring),
    (libc::SYS_io_uring_register, KernelInterface::IoUring),
    (libc::SYS_userfaultfd, KernelInterface::Userfaultfd),
];

#[cfg(target_arch = "x86_64")]
const ABIS: [Abi; 2] = [
    Abi {
        architecture: 0xC000_003E,
        refused: native_calls!(),
        on_demand: &NATIVE_ON_DEMAND,
        separating: &[libc::SYS_clone, libc::SYS_unshare],
        socket: libc::SYS_socket,
        socket_pair: libc::SYS_socketpair,
        end: Some(0x4000_0000),
    },
    // Programs of 32 bits; 102 is `socketcall`, of which the family cannot be seen.
    Abi {
        architecture: 0x4000_0003,
        refused: &[
            286, 287, 288, 357, 342, 283, 128, 350, 129, 87, 115, 88, 51, 131, 264, 404, 79, 102,
        ],
        on_demand: &[
            (336, KernelInterface::PerfEvents),
            (425, KernelInterface::IoUring),
            (426, KernelInterface::IoUring),
            (427, KernelInterface::IoUring),
            (374, KernelInterface::Userfaultfd),
        ],
        separating: &[120, 310],
        socket: 359,
        socket_pair: 360,
        end: None,
    },
];

#[cfg(target_arch = "aarch64")]
const ABIS: [Abi; 1] = [Abi {
    architecture: 0xC000_00B7,
    refused: native_calls!(),
    on_demand: &NATIVE_ON_DEMAND,
    separating: &[libc::SYS_clone, libc::SYS_unshare],
    socket: libc::SYS_socket,
    socket_pair: libc::SYS_socketpair,
    end: None,
}];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ABIS: [Abi; 0] = [];

/// The program for a package that asked for these interfaces; empty on machines whose system calls
/// are not known here.
pub fn make_filter(asked: &[KernelInterface]) -> Vec<libc::sock_filter> {
    let mut program = Vec::new();
    if ABIS.is_empty() {
        return program;
    }
    program.push(load(ARCHITECTURE));
    for abi in &ABIS {
        let part = filter_abi(abi, asked);
        program.push(jump_unless_equal(abi.architecture, part.len()));
        program.extend(part);
    }
    program.push(answer(refusal(libc::ENOSYS)));
    program
}

fn filter_abi(abi: &Abi, asked: &[KernelInterface]) -> Vec<libc::sock_filter> {
    let mut part = vec![load(NUMBER)];
    if let Some(end) = abi.end {
        // Skips the answer that follows when the number is below.
        part.push(statement(
            libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
            end,
            0,
            1,
        ));
        part.push(answer(refusal(libc::ENOSYS)));
    }
    let on_demand = abi.on_demand.iter();
    let on_demand = on_demand.filter(|(_, interface)| !asked.contains(interface));
    for number in abi
        .refused
        .iter()
        .chain(on_demand.map(|(number, _)| number))
    {
        part.push(jump_unless_equal(*number as u32, 1));
        part.push(answer(refusal(libc::EPERM)));
    }
    if !asked.contains(&KernelInterface::Namespaces) {
        for number in abi.separating {
            part.push(jump_unless_equal(*number as u32, 4));
            part.push(load(FIRST_ARGUMENT));
            // Skips the refusal when the flag is not set.
            let code = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
            part.push(statement(code, libc::CLONE_NEWUSER as u32, 0, 1));
            part.push(answer(refusal(libc::EPERM)));
            part.push(answer(ALLOW));
        }
    }
    let families = judge_family();
    part.push(jump_unless_equal(abi.socket as u32, families.len()));
    part.extend(families);
    // Other families make pairs, too, and asking for one would load its module.
    part.push(jump_unless_equal(abi.socket_pair as u32, 4));
    part.push(load(FIRST_ARGUMENT));
    part.push(jump_unless_equal(libc::AF_UNIX as u32, 1));
    part.push(answer(ALLOW));
    part.push(answer(refusal(libc::EAFNOSUPPORT)));
    part.push(answer(ALLOW));
    part
}

/// The answer to a program that makes a socket.
fn judge_family() -> Vec<libc::sock_filter> {
    let mut part = vec![load(FIRST_ARGUMENT)];
    for family in CONFINED_FAMILIES {
        part.push(jump_unless_equal(family as u32, 1));
        part.push(answer(ALLOW));
    }
    part.push(jump_unless_equal(
        libc::AF_NETLINK as u32,
        2 + 2 * NETLINK_PROTOCOLS.len(),
    ));
    part.push(load(THIRD_ARGUMENT));
    for protocol in NETLINK_PROTOCOLS {
        part.push(jump_unless_equal(protocol as u32, 1));
        part.push(answer(ALLOW));
    }
    part.push(answer(refusal(libc::EPROTONOSUPPORT)));
    part.push(answer(refusal(libc::EAFNOSUPPORT)));
    part
}

fn statement(code: u32, value: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: if_true,
        jf: if_false,
        k: value,
    }
}

fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

/// Goes on when the loaded word is `value`, and else skips so many statements.
fn jump_unless_equal(value: u32, skipped: usize) -> libc::sock_filter {
    let skipped = u8::try_from(skipped).unwrap_or(u8::MAX);
    statement(
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        value,
        0,
        skipped,
    )
}

fn answer(value: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, value, 0, 0)
}

fn refusal(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program answers to a system call.
    fn run(program: &[libc::sock_filter], architecture: u32, number: u32, argument: u32) -> u32 {
        run_with(program, architecture, number, [argument, 0])
    }

    fn run_with(
        program: &[libc::sock_filter],
        architecture: u32,
        number: u32,
        [first, third]: [u32; 2],
    ) -> u32 {
        let (mut at, mut word) = (0, 0);
        loop {
            let now = program[at];
            at += 1;
            match u32::from(now.code) {
                code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    word = match now.k {
                        NUMBER => number,
                        ARCHITECTURE => architecture,
                        THIRD_ARGUMENT => third,
                        _ => first,
                    };
                }
                code if code == libc::BPF_RET | libc::BPF_K => return now.k,
                code => {
                    let holds = if code & libc::BPF_JSET == libc::BPF_JSET {
                        word & now.k != 0
                    } else if code & libc::BPF_JGE == libc::BPF_JGE {
                        word >= now.k
                    } else {
                        word == now.k
                    };
                    at += usize::from(if holds { now.jt } else { now.jf });
                }
            }
        }
    }

    #[test]
    fn what_is_refused_is_refused_and_all_else_is_allowed() {
        for (index, abi) in ABIS.iter().enumerate() {
            let program = make_filter(&[]);
            let asked =
                |number: i64, argument| run(&program, abi.architecture, number as u32, argument);
            for number in abi
                .refused
                .iter()
                .chain(abi.on_demand.iter().map(|(n, _)| n))
            {
                assert_eq!(asked(*number, 0), refusal(libc::EPERM), "{index}: {number}");
            }
            assert_eq!(asked(abi.socket, 2), ALLOW);
            assert_eq!(asked(abi.socket, 40), refusal(libc::EAFNOSUPPORT));
            assert_eq!(asked(abi.socket_pair, 1), ALLOW);
            for family in [2, 16, 30] {
                let told = asked(abi.socket_pair, family);
                assert_eq!(told, refusal(libc::EAFNOSUPPORT), "{index}: {family}");
            }
            assert_eq!(asked(1, 40), ALLOW);
            for number in abi.separating {
                let user = libc::CLONE_NEWUSER as u32 | 17;
                assert_eq!(
                    asked(*number, user),
                    refusal(libc::EPERM),
                    "{index}: {number}"
                );
                assert_eq!(asked(*number, 17), ALLOW, "{index}: {number}");
            }
        }
    }

    #[test]
    fn the_kernel_is_asked_by_netlink_and_nobody_else() {
        let program = make_filter(&[]);
        for abi in &ABIS {
            let asked = |protocol| {
                let arguments = [libc::AF_NETLINK as u32, protocol];
                run_with(&program, abi.architecture, abi.socket as u32, arguments)
            };
            assert_eq!(asked(libc::NETLINK_ROUTE as u32), ALLOW);
            assert_eq!(asked(libc::NETLINK_GENERIC as u32), ALLOW);
            for protocol in [libc::NETLINK_USERSOCK, libc::NETLINK_NETFILTER, 22, 255] {
                let told = asked(protocol as u32);
                assert_eq!(told, refusal(libc::EPROTONOSUPPORT), "{protocol}");
            }
        }
    }

    #[test]
    fn an_interface_that_is_asked_for_is_open() {
        let program = make_filter(&[KernelInterface::PerfEvents]);
        for abi in &ABIS {
            for (number, interface) in abi.on_demand {
                let told = run(&program, abi.architecture, *number as u32, 0);
                let is_open = *interface == KernelInterface::PerfEvents;
                assert_eq!(told == ALLOW, is_open, "{number}");
            }
        }
    }

    #[test]
    fn other_ways_to_call_the_kernel_are_closed() {
        if ABIS.is_empty() {
            return;
        }
        let program = make_filter(&[]);
        assert_eq!(run(&program, 0x1234, 1, 0), refusal(libc::ENOSYS));
        if let Some(end) = ABIS[0].end {
            let told = run(&program, ABIS[0].architecture, end + 1, 0);
            assert_eq!(told, refusal(libc::ENOSYS));
        }
    }
}
