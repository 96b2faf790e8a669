//! Facts about this machine, as the kernel tells them.

use std::ffi::CStr;
use std::fs;
use std::os::raw::c_char;

use datamill_protocol::HostFacts;

use super::arm_core::name_arm_cores;

/// What the kernel does not tell.
const UNKNOWN: &str = "unknown";

/// Fields of `/proc/cpuinfo` that name the processor, by architecture: x86 and newer arm, MIPS,
/// RISC-V, POWER, s390, older arm (the core, then the board).
const MODEL_FIELDS: [&str; 7] = [
    "model name",
    "cpu model",
    "uarch",
    "cpu",
    "processor 0",
    "Processor",
    "Hardware",
];

/// Reads what this machine is.
pub fn read_host_facts() -> HostFacts {
    let names = kernel_names();
    HostFacts {
        arch: names.machine,
        kernel: names.release,
        cpu_model: cpu_model(&read("/proc/cpuinfo")).unwrap_or_else(|| UNKNOWN.to_owned()),
        cores: online_cores(),
        memory_bytes: memory_bytes(&read("/proc/meminfo")).unwrap_or(0),
        boot_id: match read("/proc/sys/kernel/random/boot_id").trim() {
            "" => UNKNOWN.to_owned(),
            id => id.to_owned(),
        },
    }
}

/// The host's name, or "unknown".
pub fn hostname() -> String {
    match kernel_names().node {
        name if name.is_empty() => UNKNOWN.to_owned(),
        name => name,
    }
}

struct KernelNames {
    node: String,
    release: String,
    machine: String,
}

fn kernel_names() -> KernelNames {
    // SAFETY: an all-zero utsname is valid, and uname fills it with NUL-terminated names.
    let names = unsafe {
        let mut names: libc::utsname = std::mem::zeroed();
        libc::uname(&mut names);
        names
    };
    KernelNames {
        node: text(&names.nodename),
        release: text(&names.release),
        machine: text(&names.machine),
    }
}

/// The kernel's version, its first two numbers; 0 for what its release does not begin with.
pub fn kernel_version() -> (u32, u32) {
    let release = kernel_names().release;
    let mut numbers = release
        .split(|character: char| !character.is_ascii_digit())
        .map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn text(field: &[c_char]) -> String {
    // SAFETY: the kernel terminates every field of utsname.
    unsafe { CStr::from_ptr(field.as_ptr()) }
        .to_string_lossy()
        .into_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn online_cores() -> u32 {
    // SAFETY: no pointers involved.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(0).max(1)
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let named = MODEL_FIELDS.iter().find_map(|wanted| {
        cpuinfo.lines().find_map(|line| {
            let (field, value) = line.split_once(':')?;
            let value = value.trim();
            // Old arm kernels number their processors under a field of the same name.
            let names_a_model = !value.is_empty() && value.parse::<u64>().is_err();
            (field.trim() == *wanted && names_a_model).then(|| value.to_owned())
        })
    });
    named.or_else(|| name_arm_cores(cpuinfo))
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_x86_processor_has_its_model_name() {
        let cpuinfo =
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) CPU\n";
        assert_eq!(cpu_model(cpuinfo).as_deref(), Some("Intel(R) Xeon(R) CPU"));
    }

    #[test]
    fn a_64_bit_arm_processor_is_named_by_its_core() {
        let cpuinfo =
            "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n";
        assert_eq!(cpu_model(cpuinfo).as_deref(), Some("ARM Cortex-A76"));
    }

    #[test]
    fn an_old_arm_processor_is_named_by_its_core() {
        let cpuinfo =
            "Processor\t: ARMv7 Processor rev 2 (v7l)\nprocessor\t: 0\nHardware\t: BCM2835\n";
        assert_eq!(
            cpu_model(cpuinfo).as_deref(),
            Some("ARMv7 Processor rev 2 (v7l)")
        );
    }

    #[test]
    fn memory_is_reported_in_bytes() {
        assert_eq!(
            memory_bytes("MemFree: 1 kB\nMemTotal:       2048 kB\n"),
            Some(2_097_152)
        );
        assert_eq!(memory_bytes("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn this_machine_is_described() {
        let facts = read_host_facts();
        assert!(facts.cores >= 1 && facts.memory_bytes > 0);
        assert!(!facts.arch.is_empty() && !facts.kernel.is_empty() && !hostname().is_empty());
    }
}
