//! The environment of a phase: fixed, never the worker's own.

use std::ffi::CString;

use datamill_probe::ProcessSettings;
use rustix::process::Resource;

use super::witness::own_limit;
use crate::world::{SEARCH_PATH, World};

/// The same variables in every trial, then those of the package's `env` file.
///
/// `with_wrappers` puts the compiler wrappers first in PATH, also before a PATH of the package's own.
/// Returns `NAME=value` each, as `execve` takes them.
pub fn phase_environment(
    world: &World,
    package: &[(String, String)],
    with_wrappers: bool,
) -> Vec<CString> {
    let home = if world.root.as_os_str() == "/" {
        "/root".into()
    } else {
        world.root.to_string_lossy()
    };
    let mut variables: Vec<(String, String)> = [
        ("PATH", SEARCH_PATH),
        ("HOME", home.as_ref()),
        ("LANG", "C.UTF-8"),
        ("SHELL", "/bin/sh"),
        ("USER", "root"),
        ("LOGNAME", "root"),
        // A compiler cache that outlives the trial knows nothing of the level that the wrapper sets.
        ("CCACHE_DISABLE", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    for (name, value) in package {
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.clone_from(value),
            None => variables.push((name.clone(), value.clone())),
        }
    }
    if with_wrappers && let Some((_, path)) = variables.iter_mut().find(|(name, _)| name == "PATH")
    {
        *path = format!("{}/bin:{path}", world.tools.display());
    }
    // Variables with a NUL byte cannot exist.
    variables
        .iter()
        .filter_map(|(name, value)| CString::new(format!("{name}={value}")).ok())
        .collect()
}

/// Sets a variable of an environment, in its place where it is there already. Text with a NUL byte
/// leaves the environment as it is.
pub fn set_variable(environment: &mut Vec<CString>, name: &str, value: &str) {
    let Ok(variable) = CString::new(format!("{name}={value}")) else {
        return;
    };
    let start = format!("{name}=");
    match environment
        .iter_mut()
        .find(|known| known.as_bytes().starts_with(start.as_bytes()))
    {
        Some(known) => *known = variable,
        None => environment.push(variable),
    }
}

/// Digits of the two numbers that [`announce_measurements`] passes, and of what fills them up.
const ANNOUNCED_DIGITS: usize = 20;

/// Tells `run.sh` how many measurements it is to take, if the experiment wants a number, and how many
/// before those to warm up.
///
/// The variables take as many bytes whatever the numbers: an environment of another size moves the stack,
/// and trials that differ in these numbers alone must not differ in that.
pub fn announce_measurements(environment: &mut Vec<CString>, measurements: u32, warmup: u32) {
    if measurements == 0 {
        return;
    }
    let (measurements, warmup) = (measurements.to_string(), warmup.to_string());
    let filled = ANNOUNCED_DIGITS - measurements.len() - warmup.len();
    set_variable(environment, "DATAMILL_MEASUREMENTS", &measurements);
    set_variable(environment, "DATAMILL_WARMUP", &warmup);
    set_variable(environment, "DATAMILL_FILL", &"x".repeat(filled));
}

/// What a script inherits of this process all the same and what bears on its time, one sentence
/// each: a policy other than the usual, a niceness other than 0, processors that it may not use,
/// addresses that are not randomised, and a limited heap. What `settings` set is not inherited.
pub fn inherited_notices(settings: &ProcessSettings) -> Vec<String> {
    let mut notices = Vec::new();
    // SAFETY: no pointers involved.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    if settings.policy.is_none() && policy > 0 {
        notices.push(format!(
            "run.sh inherited scheduling policy {}.",
            policy_name(policy as i32)
        ));
    }
    // SAFETY: no pointers involved. The system call itself, unlike the C library's, never returns a
    // negative value that is none of an error: it tells 20 less the niceness.
    let priority = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) };
    if settings.niceness.is_none() && priority > 0 && priority != 20 {
        notices.push(format!("run.sh inherited niceness {}.", 20 - priority));
    }
    // SAFETY: an all-zero set is valid and has the size given. The call fails on machines with more
    // processors than the set has bits: then nothing is known.
    let (usable, online) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let known = libc::sched_getaffinity(0, size_of_val(&set), &mut set) == 0;
        let online = libc::sysconf(libc::_SC_NPROCESSORS_ONLN);
        (known.then(|| libc::CPU_COUNT(&set)), online)
    };
    if settings.processors.is_none()
        && let Some(usable) = usable
        && libc::c_long::from(usable) < online
    {
        notices.push(format!(
            "run.sh inherited an affinity to {usable} of the {online} processors online."
        ));
    }
    // SAFETY: no pointers involved; this number asks and sets nothing.
    let personality = unsafe { libc::personality(0xffff_ffff) };
    if settings.address_randomization.is_none()
        && personality >= 0
        && personality & libc::ADDR_NO_RANDOMIZE != 0
    {
        notices.push("run.sh inherited addresses that are not randomised.".to_owned());
    }
    let (heap_bytes, _) = own_limit(Resource::Data);
    if settings.heap_limit.is_none() && heap_bytes != u64::MAX {
        notices.push(format!(
            "run.sh inherited a data segment limit of {heap_bytes} bytes."
        ));
    }
    notices
}

/// A policy as the factor `scheduler_policy` names it, or its number.
pub fn policy_name(number: i32) -> String {
    /// Flag beside the policy: children start under the usual one.
    const RESET_ON_FORK: i32 = 0x4000_0000;
    match number & !RESET_ON_FORK {
        libc::SCHED_OTHER => "other".to_owned(),
        libc::SCHED_BATCH => "batch".to_owned(),
        libc::SCHED_IDLE => "idle".to_owned(),
        libc::SCHED_FIFO => "fifo".to_owned(),
        libc::SCHED_RR => "rr".to_owned(),
        other => format!("{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_numbers_take_the_same_room_whatever_they_are() {
        let announced = |measurements, warmup| {
            let mut environment = Vec::new();
            announce_measurements(&mut environment, measurements, warmup);
            environment
        };
        let bytes = |environment: &[CString]| -> usize {
            let variables = environment.iter();
            variables.map(|known| known.as_bytes_with_nul().len()).sum()
        };
        let usual = announced(100, 20);
        assert_eq!(usual[0].as_bytes(), b"DATAMILL_MEASUREMENTS=100");
        assert_eq!(usual[1].as_bytes(), b"DATAMILL_WARMUP=20");
        for (measurements, warmup) in [(1, 0), (9, 9), (u32::MAX, u32::MAX)] {
            assert_eq!(bytes(&announced(measurements, warmup)), bytes(&usual));
        }
    }

    #[test]
    fn nothing_is_announced_when_the_package_is_to_choose() {
        let mut environment = Vec::new();
        announce_measurements(&mut environment, 0, 0);
        assert!(environment.is_empty());
    }
}
