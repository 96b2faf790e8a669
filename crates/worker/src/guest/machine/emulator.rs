//! The command that emulates a guest.

use std::path::{Path, PathBuf};

use datamill_protocol::Accelerator;

/// Where the guest's parts are in the emulator's own root.
pub const KERNEL: &str = "/kernel";
/// The initial memory disk there.
pub const INITRAMFS: &str = "/initramfs";
/// Descriptors of the disks with the root, the job and the result, as the emulator finds them.
pub const DISKS: [(&str, i32); 3] = [(ROOT_DISK, 3), (JOB_DISK, 4), (RESULT_DISK, 5)];
/// Serial number of the disk with the root.
pub const ROOT_DISK: &str = "root";
/// Serial number of the disk with the job.
pub const JOB_DISK: &str = "job";
/// Serial number of the disk that receives the result.
pub const RESULT_DISK: &str = "result";

/// Folders that may have the emulator.
const FOLDERS: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/bin"];

struct Model {
    arch: &'static str,
    program: &'static str,
    package: &'static str,
    machine: &'static str,
    console: &'static str,
    /// A processor that is quick to translate; `max` takes 3 to 10 times as long.
    translated: &'static str,
    kernel_options: &'static str,
}

const MODELS: [Model; 2] = [
    Model {
        arch: "x86_64",
        program: "qemu-system-x86_64",
        package: "qemu-system-x86",
        machine: "pc",
        console: "ttyS0",
        translated: "qemu64",
        // On a busy host the emulated timer is late; the kernel would take it for missing, and panic.
        kernel_options: " no_timer_check",
    },
    Model {
        arch: "aarch64",
        program: "qemu-system-aarch64",
        package: "qemu-system-arm",
        machine: "virt",
        console: "ttyAMA0",
        translated: "cortex-a57",
        kernel_options: "",
    },
];

/// An emulator that is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emulator {
    /// Its program.
    pub program: PathBuf,
    index: usize,
}

/// Finds the emulator of this architecture; the error is one sentence without a full stop.
pub fn find_emulator() -> Result<Emulator, String> {
    let arch = datamill_host::read_host_facts().arch;
    let index = MODELS
        .iter()
        .position(|model| model.arch == arch)
        .ok_or_else(|| format!("there are no guests for {arch}"))?;
    let model = &MODELS[index];
    FOLDERS
        .iter()
        .map(|folder| Path::new(folder).join(model.program))
        .find(|program| program.is_file())
        .map(|program| Emulator { program, index })
        .ok_or_else(|| {
            format!(
                "there is no {} here (Debian: {})",
                model.program, model.package
            )
        })
}

/// What a guest is made of besides its disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// What executes its instructions.
    pub accelerator: Accelerator,
    /// Number of its processors.
    pub processors: u32,
    /// Size of its memory, in MiB.
    pub memory_mib: u64,
}

impl Emulator {
    /// The emulator's arguments: no network, no monitor, no file but those that it is given.
    pub fn arguments(&self, machine: Machine) -> Vec<String> {
        let model = &MODELS[self.index];
        let (accelerator, cpu) = match machine.accelerator {
            Accelerator::Kvm => ("kvm", "host"),
            // One thread for all processors: with one for each, a guest of two loses interrupts (qemu 7.2).
            Accelerator::Tcg => ("tcg,thread=single", model.translated),
        };
        let mut arguments: Vec<String> = [
            "-accel",
            accelerator,
            "-machine",
            model.machine,
            "-cpu",
            cpu,
            "-nodefaults",
            "-no-user-config",
            "-no-reboot",
            "-display",
            "none",
            "-monitor",
            "none",
            // It may open no file and start no program that it does not have now.
            "-sandbox",
            "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
            "-kernel",
            KERNEL,
            "-initrd",
            INITRAMFS,
            "-chardev",
            "stdio,id=console,signal=off",
            "-serial",
            "chardev:console",
            "-device",
            "virtio-rng-pci",
        ]
        .map(str::to_owned)
        .to_vec();
        let append = format!(
            "console={} quiet panic=-1{} -- boot-guest",
            model.console, model.kernel_options
        );
        arguments.extend(["-append".to_owned(), append]);
        arguments.extend(["-m".to_owned(), format!("{}M", machine.memory_mib)]);
        arguments.extend(["-smp".to_owned(), machine.processors.to_string()]);
        for (name, descriptor) in DISKS {
            let (read_only, full) = if name == RESULT_DISK {
                // A full disk is an error in the guest; by default the guest would wait for more.
                ("off", ",werror=report")
            } else {
                ("on", "")
            };
            arguments.extend([
                "-add-fd".to_owned(),
                format!("fd={descriptor},set={descriptor}"),
                "-blockdev".to_owned(),
                format!(
                    "driver=file,node-name={name},filename=/dev/fdset/{descriptor},\
                     read-only={read_only},locking=off"
                ),
                "-device".to_owned(),
                format!("virtio-blk-pci,drive={name},serial={name}{full}"),
            ]);
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_has_no_network_and_a_confined_emulator() {
        for index in 0..MODELS.len() {
            let emulator = Emulator {
                program: PathBuf::new(),
                index,
            };
            let arguments = emulator.arguments(Machine {
                accelerator: Accelerator::Tcg,
                processors: 1,
                memory_mib: 512,
            });
            assert!(arguments.iter().any(|part| part == "-nodefaults"));
            assert!(arguments.iter().any(|part| part.contains("spawn=deny")));
            assert!(!arguments.iter().any(|part| part.contains("net")));
            let writable = arguments
                .iter()
                .filter(|part| part.contains("read-only=off"));
            assert_eq!(writable.count(), 1);
        }
    }
}
