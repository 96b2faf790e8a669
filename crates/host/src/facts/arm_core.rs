//! Names of arm cores, of which 64-bit kernels tell numbers only.

/// Designers by the number that `CPU implementer` tells.
const IMPLEMENTERS: [(u32, &str); 11] = [
    (0x41, "ARM"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x61, "Apple"),
    (0xc0, "Ampere"),
];

/// Cores by the numbers that `CPU implementer` and `CPU part` tell, as the processors' manuals give them.
const CORES: [(u32, u32, &str); 46] = [
    (0x41, 0xc05, "Cortex-A5"),
    (0x41, 0xc07, "Cortex-A7"),
    (0x41, 0xc08, "Cortex-A8"),
    (0x41, 0xc09, "Cortex-A9"),
    (0x41, 0xc0d, "Cortex-A17"),
    (0x41, 0xc0e, "Cortex-A17"),
    (0x41, 0xc0f, "Cortex-A15"),
    (0x41, 0xd01, "Cortex-A32"),
    (0x41, 0xd02, "Cortex-A34"),
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd06, "Cortex-A65"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd0e, "Cortex-A76AE"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4a, "Neoverse-E1"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x43, 0x0a1, "ThunderX"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan-v110"),
    (0x4e, 0x003, "Denver-2"),
    (0x4e, 0x004, "Carmel"),
    (0x61, 0x022, "Icestorm"),
    (0x61, 0x023, "Firestorm"),
    (0xc0, 0xac3, "Ampere-1"),
];

/// Names the cores in a `/proc/cpuinfo`, each kind once and in the order of their processors.
pub fn name_arm_cores(cpuinfo: &str) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    let mut implementer = None;
    for line in cpuinfo.lines() {
        let Some((field, value)) = line.split_once(':') else {
            continue;
        };
        match field.trim() {
            "CPU implementer" => implementer = parse_number(value),
            "CPU part" => {
                let Some((implementer, part)) = implementer.zip(parse_number(value)) else {
                    continue;
                };
                let name = name_core(implementer, part);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            _ => {}
        }
    }
    (!names.is_empty()).then(|| names.join(" + "))
}

fn parse_number(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// A core that is not in the table keeps its numbers: another one must not pass for the same model.
fn name_core(implementer: u32, part: u32) -> String {
    let designer = IMPLEMENTERS
        .iter()
        .find(|(number, _)| *number == implementer)
        .map_or_else(
            || format!("arm {implementer:#04x}"),
            |(_, name)| (*name).to_owned(),
        );
    let core = CORES
        .iter()
        .find(|(designer, number, _)| (*designer, *number) == (implementer, part))
        .map_or_else(
            || format!("part {part:#05x}"),
            |(_, _, name)| (*name).to_owned(),
        );
    format!("{designer} {core}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpuinfo(cores: &[(&str, &str)]) -> String {
        let mut text = String::new();
        for (number, (implementer, part)) in cores.iter().enumerate() {
            text.push_str(&format!(
                "processor\t: {number}\nCPU implementer\t: {implementer}\nCPU architecture: 8\nCPU part\t: {part}\n\n"
            ));
        }
        text
    }

    #[test]
    fn cores_of_two_kinds_are_both_named() {
        let cores = [("0x41", "0xd03"), ("0x41", "0xd03"), ("0x41", "0xd08")];
        assert_eq!(
            name_arm_cores(&cpuinfo(&cores)).as_deref(),
            Some("ARM Cortex-A53 + ARM Cortex-A72")
        );
    }

    #[test]
    fn an_emulated_cortex_a57_has_its_name() {
        assert_eq!(
            name_arm_cores(&cpuinfo(&[("0x41", "0xd07")])).as_deref(),
            Some("ARM Cortex-A57")
        );
    }

    #[test]
    fn unknown_cores_keep_their_numbers() {
        assert_eq!(
            name_arm_cores(&cpuinfo(&[("0x41", "0xfff")])).as_deref(),
            Some("ARM part 0xfff")
        );
        assert_eq!(
            name_arm_cores(&cpuinfo(&[("0x7f", "0x00a")])).as_deref(),
            Some("arm 0x7f part 0x00a")
        );
        assert_eq!(name_arm_cores("processor : 0\n"), None);
    }
}
