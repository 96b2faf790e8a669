//! Factors that are plain settings of the kernel: one file, a text for each level.

use super::file_setting::FileSetting;
use crate::state::Host;

/// Whether the scheduler gives each session its own share of the processors.
pub fn autogroup(host: &Host) -> FileSetting {
    FileSetting::single(
        "autogroup",
        &[("on", "1"), ("off", "0")],
        host.path("/proc/sys/kernel/sched_autogroup_enabled"),
        "this kernel has no /proc/sys/kernel/sched_autogroup_enabled: it was built without CONFIG_SCHED_AUTOGROUP",
    )
}

/// The clock behind the kernel's time.
pub fn clock_source(host: &Host) -> FileSetting {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let available = host.read(&format!("{folder}/available_clocksource"));
    let names: Vec<&str> = available
        .as_deref()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .collect();
    let levels: Vec<(&str, &str)> = names.iter().map(|name| (*name, *name)).collect();
    FileSetting::single(
        "clock_source",
        &levels,
        host.path(&format!("{folder}/current_clocksource")),
        "this kernel has no /sys/devices/system/clocksource: this is a container",
    )
}

/// Whether the kernel merges equal pages of memory; off, it also parts those that it merged.
pub fn ksm(host: &Host) -> FileSetting {
    let mut factor = FileSetting::single(
        "ksm",
        &[("off", "2"), ("on", "1")],
        host.path("/sys/kernel/mm/ksm/run"),
        "this kernel has no /sys/kernel/mm/ksm: it was built without CONFIG_KSM, or this is a container",
    );
    // Never switched on: there is nothing to part.
    factor.aliases = &[("0", "off")];
    factor
}

/// Whether a hardware counter watches for processors that hang.
pub fn nmi_watchdog(host: &Host) -> FileSetting {
    let mut factor = FileSetting::single(
        "nmi_watchdog",
        &[("on", "1"), ("off", "0")],
        host.path("/proc/sys/kernel/nmi_watchdog"),
        "this kernel has no /proc/sys/kernel/nmi_watchdog",
    );
    // Without a counter the kernel takes the setting and watches nothing.
    let counters = host.path("/sys/bus/event_source/devices/cpu").exists();
    if !counters
        && host
            .read("/proc/sys/kernel/nmi_watchdog")
            .is_ok_and(|now| now == "0")
    {
        factor
            .lacks
            .push(("on", "this host has no hardware counter for it"));
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::HostFactor;
    use crate::factors::tests::FakeHost;

    #[test]
    fn clock_sources_are_those_that_the_kernel_lists() {
        let host = FakeHost::new();
        let folder = "/sys/devices/system/clocksource/clocksource0";
        host.write(
            &format!("{folder}/available_clocksource"),
            "tsc hpet acpi_pm",
        );
        host.write(&format!("{folder}/current_clocksource"), "tsc");
        let offer = clock_source(&host.host).offer();
        assert_eq!(offer.levels, ["tsc", "hpet", "acpi_pm"]);
        assert_eq!(offer.current.as_deref(), Some("tsc"));
    }

    #[test]
    fn merging_that_was_never_on_is_off() {
        let host = FakeHost::new();
        host.write("/sys/kernel/mm/ksm/run", "0");
        assert!(ksm(&host.host).plan("off").unwrap().is_empty());
        assert_eq!(ksm(&host.host).read_back("off").unwrap().0, "off");
        host.write("/sys/kernel/mm/ksm/run", "1");
        assert_eq!(ksm(&host.host).plan("off").unwrap().len(), 1);
    }

    #[test]
    fn a_watchdog_without_a_counter_cannot_be_on() {
        let host = FakeHost::new();
        host.write("/proc/sys/kernel/nmi_watchdog", "0");
        assert_eq!(nmi_watchdog(&host.host).offer().levels, ["off"]);
        assert!(nmi_watchdog(&host.host).check("on").is_ok());
    }
}
