//! What else goes on on this host: looked at just before and just after a trial.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use datamill_protocol::DisturbanceFacts;

use super::kernel_log::KernelLog;
use crate::changes::{Processors, parse_list};

/// Name of the count of what disks read and wrote.
const DISK_BYTES: &str = "disk bytes";

/// Most attempts at reading all clocks together, and the time that one may take.
const CLOCK_READINGS: u32 = 20;
const CLOCK_READING_NS: u64 = 5_000;

/// One look at the host's counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostLook {
    monotonic_ns: u64,
    realtime_ns: u64,
    boot_time_ns: u64,
    counted: Option<String>,
    processors: Option<ProcessorTimes>,
    counts: BTreeMap<&'static str, u64>,
    stalls: BTreeMap<&'static str, u64>,
    load_average: Option<f64>,
    frequencies_khz: Vec<u64>,
    throttles: Option<u64>,
    temperature_mc: Option<i64>,
    has_kernel_log: bool,
    kernel_lines: Vec<String>,
}

/// Times over all processors since the start of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ProcessorTimes {
    busy_ns: u64,
    interrupt_ns: u64,
    steal_ns: u64,
}

impl HostLook {
    /// Looks now. What the kernel's log gained since the last look goes with this one.
    pub fn take(log: Option<&KernelLog>) -> Self {
        Self::take_of(log, None)
    }

    /// The same, with the processor times of some processors alone, such as `1` or `2-3`.
    pub fn take_of(log: Option<&KernelLog>, counted: Option<&str>) -> Self {
        let stat = read("/proc/stat");
        let mut counts = stat_counts(&stat);
        counts.extend(disk_bytes(&read("/proc/diskstats")).map(|bytes| (DISK_BYTES, bytes)));
        counts.extend(memory_counts(&read("/proc/vmstat")));
        let stalls = ["cpu", "memory", "io"]
            .into_iter()
            .filter_map(|what| Some((what, stall_ns(&read(&format!("/proc/pressure/{what}")))?)))
            .collect();
        let mut look = Self {
            counted: counted.map(str::to_owned),
            processors: match counted.and_then(parse_list) {
                None => processor_times(&stat, ticks_per_second()),
                Some(counted) => times_of(&stat, ticks_per_second(), &counted),
            },
            counts,
            stalls,
            load_average: read("/proc/loadavg")
                .split_ascii_whitespace()
                .next()
                .and_then(|text| text.parse().ok()),
            frequencies_khz: processor_values("cpufreq/scaling_cur_freq"),
            throttles: sum(&processor_values("thermal_throttle/core_throttle_count")),
            temperature_mc: highest_temperature_mc(),
            has_kernel_log: log.is_some(),
            kernel_lines: log.map(KernelLog::read_new_lines).unwrap_or_default(),
            ..Self::default()
        };
        look.read_clocks();
        look
    }

    /// Reads all clocks at nearly the same moment: again when this process was held up in between.
    fn read_clocks(&mut self) {
        for _ in 0..CLOCK_READINGS {
            self.monotonic_ns = clock_ns(libc::CLOCK_MONOTONIC);
            self.realtime_ns = clock_ns(libc::CLOCK_REALTIME);
            self.boot_time_ns = clock_ns(libc::CLOCK_BOOTTIME);
            if clock_ns(libc::CLOCK_MONOTONIC) - self.monotonic_ns < CLOCK_READING_NS {
                break;
            }
        }
    }

    /// What went on between this look and a later one, of which the trial itself used
    /// `trial_time_ns` of processor time.
    pub fn compare(&self, later: &Self, trial_time_ns: u64) -> DisturbanceFacts {
        let span_ns = later.monotonic_ns.saturating_sub(self.monotonic_ns);
        let times = |of: fn(&ProcessorTimes) -> u64| {
            let (before, after) = (self.processors.as_ref()?, later.processors.as_ref()?);
            Some(of(after).saturating_sub(of(before)))
        };
        let count = |name| {
            Some(
                later
                    .counts
                    .get(name)?
                    .saturating_sub(*self.counts.get(name)?),
            )
        };
        let stall = |name| {
            Some(
                later
                    .stalls
                    .get(name)?
                    .saturating_sub(*self.stalls.get(name)?),
            )
        };
        let busy_time_ns = times(|times| times.busy_ns);
        let frequencies = || self.frequencies_khz.iter().chain(&later.frequencies_khz);
        let mut facts = DisturbanceFacts {
            span_ns,
            processors: later.counted.clone(),
            steal_time_ns: times(|times| times.steal_ns),
            busy_time_ns,
            other_time_ns: busy_time_ns.map(|busy| busy.saturating_sub(trial_time_ns)),
            interrupt_time_ns: times(|times| times.interrupt_ns),
            cpu_stall_ns: stall("cpu"),
            memory_stall_ns: stall("memory"),
            io_stall_ns: stall("io"),
            disk_bytes: count(DISK_BYTES),
            interrupts: count("intr"),
            context_switches: count("ctxt"),
            forks: count("processes"),
            major_faults: count("pgmajfault"),
            swapped_pages: sum(&[count("pswpin"), count("pswpout")]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()),
            load_average: self.load_average,
            lowest_frequency_khz: frequencies().min().copied(),
            highest_frequency_khz: frequencies().max().copied(),
            throttle_events: later
                .throttles
                .zip(self.throttles)
                .map(|(after, before)| after.saturating_sub(before)),
            temperature_mc: later.temperature_mc,
            clock_jump_ns: Some(difference(later.realtime_ns, self.realtime_ns) - span_ns as i64),
            suspended_ns: Some(
                later
                    .boot_time_ns
                    .saturating_sub(self.boot_time_ns)
                    .saturating_sub(span_ns),
            ),
            kernel_lines: later.kernel_lines.clone(),
            busiest: Vec::new(),
            untold: Vec::new(),
        };
        facts.untold = untold(&facts, later.has_kernel_log);
        facts
    }
}

/// What is absent from facts, and why.
fn untold(facts: &DisturbanceFacts, has_kernel_log: bool) -> Vec<String> {
    let absent = [
        (
            facts.steal_time_ns.is_none(),
            "processor times: /proc/stat cannot be read",
        ),
        (
            facts.cpu_stall_ns.is_none(),
            "pressure: the kernel has no /proc/pressure",
        ),
        (
            facts.highest_frequency_khz.is_none(),
            "processor frequency: the host has no cpufreq",
        ),
        (
            facts.throttle_events.is_none(),
            "throttling: the host does not count it",
        ),
        (
            facts.temperature_mc.is_none(),
            "temperature: the host shows no sensor",
        ),
        (
            !has_kernel_log,
            "kernel log: this user may not read /dev/kmsg",
        ),
    ];
    let named = absent.into_iter().filter(|(absent, _)| *absent);
    named.map(|(_, why)| why.to_owned()).collect()
}

fn processor_times(stat: &str, ticks_per_second: u64) -> Option<ProcessorTimes> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    times_in(line, ticks_per_second)
}

/// Times over some processors; absent where one of them is not there.
fn times_of(stat: &str, ticks_per_second: u64, counted: &Processors) -> Option<ProcessorTimes> {
    let mut sum = ProcessorTimes::default();
    for number in counted {
        let name = format!("cpu{number} ");
        let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
        let times = times_in(line, ticks_per_second)?;
        sum.busy_ns += times.busy_ns;
        sum.interrupt_ns += times.interrupt_ns;
        sum.steal_ns += times.steal_ns;
    }
    Some(sum)
}

fn times_in(line: &str, ticks_per_second: u64) -> Option<ProcessorTimes> {
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .map_while(|text| text.parse().ok())
        .collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guest time is within user time.
    let [user, nice, system, _, _, irq, softirq, steal, ..] = ticks[..] else {
        return None;
    };
    let ns = |ticks: u64| ticks * (1_000_000_000 / ticks_per_second);
    Some(ProcessorTimes {
        busy_ns: ns(user + nice + system + irq + softirq),
        interrupt_ns: ns(irq + softirq),
        steal_ns: ns(steal),
    })
}

/// Processor time of everything since the start of the machine, as `/proc/stat` has it.
pub(super) fn busy_time_ns(stat: &str) -> Option<u64> {
    processor_times(stat, ticks_per_second()).map(|times| times.busy_ns)
}

pub(super) fn ticks_per_second() -> u64 {
    // SAFETY: no pointers involved.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(0).max(1)
}

fn stat_counts(stat: &str) -> BTreeMap<&'static str, u64> {
    named_values(stat, &["intr", "ctxt", "processes"])
}

fn memory_counts(vmstat: &str) -> BTreeMap<&'static str, u64> {
    named_values(vmstat, &["pgmajfault", "pswpin", "pswpout"])
}

/// First values of the lines that begin with one of the names.
fn named_values(text: &str, names: &[&'static str]) -> BTreeMap<&'static str, u64> {
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        if let Some(name) = names.iter().find(|name| **name == first)
            && let Some(value) = words.next().and_then(|text| text.parse().ok())
        {
            values.insert(*name, value);
        }
    }
    values
}

/// What all disks read and wrote since the start of the machine; absent where the kernel does not say.
///
/// Only whole devices that are no others' disguise count: a partition's bytes are its disk's, too.
fn disk_bytes(diskstats: &str) -> Option<u64> {
    const DISGUISES: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "sr"];
    let mut sum = None;
    for line in diskstats.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        // Major, minor, name; the third and the seventh number behind are sectors of 512 bytes, read and written.
        let (Some(name), Some(read), Some(written)) = (fields.get(2), fields.get(5), fields.get(9))
        else {
            continue;
        };
        let is_part = name.ends_with(|it: char| it.is_ascii_digit())
            && !fs::exists(format!("/sys/block/{name}")).unwrap_or(false);
        if is_part || DISGUISES.iter().any(|it| name.starts_with(it)) {
            continue;
        }
        let (Ok(read), Ok(written)) = (read.parse::<u64>(), written.parse::<u64>()) else {
            continue;
        };
        *sum.get_or_insert(0) += (read + written) * 512;
    }
    sum
}

/// Total of the line `some avg10=… avg60=… avg300=… total=MICROSECONDS`.
pub(super) fn stall_ns(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    let total: u64 = line.rsplit_once("total=")?.1.trim().parse().ok()?;
    total.checked_mul(1000)
}

/// A number that each processor has in a file below its folder; empty where there is none.
fn processor_values(file: &str) -> Vec<u64> {
    entries("/sys/devices/system/cpu", "cpu")
        .into_iter()
        .filter_map(|folder| number(&folder.join(file)))
        .filter_map(|value| u64::try_from(value).ok())
        .collect()
}

fn highest_temperature_mc() -> Option<i64> {
    let zones = entries("/sys/class/thermal", "thermal_zone");
    zones
        .into_iter()
        .filter_map(|folder| number(&folder.join("temp")))
        .max()
}

/// Folders in a folder whose name is a prefix and a number.
fn entries(folder: &str, prefix: &str) -> Vec<PathBuf> {
    let numbered = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.strip_prefix(prefix))
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|entry| entry.path()).filter(numbered).collect()
}

fn number(path: &PathBuf) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn sum(values: &[u64]) -> Option<u64> {
    (!values.is_empty()).then(|| values.iter().sum())
}

fn difference(later: u64, earlier: u64) -> i64 {
    later.wrapping_sub(earlier) as i64
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: valid pointer; a clock that the kernel does not have leaves zero.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_times_leave_idle_and_guest_time_out() {
        let stat = "cpu  100 20 30 4000 50 6 7 8 90 1\ncpu0 1 2 3\n";
        let times = processor_times(stat, 100).unwrap();
        assert_eq!(times.busy_ns, 163 * 10_000_000);
        assert_eq!(times.interrupt_ns, 13 * 10_000_000);
        assert_eq!(times.steal_ns, 8 * 10_000_000);
    }

    #[test]
    fn of_some_processors_the_times_of_others_are_left_out() {
        let stat =
            "cpu  30 0 0 9 0 0 0 3 0 0\ncpu0 10 0 0 9 0 0 0 1 0 0\ncpu1 20 0 0 0 0 4 0 2 0 0\n";
        let times = |list| times_of(stat, 100, &parse_list(list).unwrap());
        assert_eq!(times("1").unwrap().busy_ns, 24 * 10_000_000);
        assert_eq!(times("1").unwrap().steal_ns, 2 * 10_000_000);
        assert_eq!(times("0-1").unwrap().busy_ns, 34 * 10_000_000);
        assert_eq!(times("2"), None);
    }

    #[test]
    fn of_disks_whole_devices_count_and_what_others_lie_on() {
        let text = "8 0 sdzz 1 2 30 4 5 6 70 8 0 50 9\n8 1 sdzz1 1 2 10 4 5 6 10 8 0 50 9\n\
                    7 0 loop0 1 2 30 4 5 6 70 8 0 50 9\n253 0 dm-0 1 2 30 4 5 6 70 8 0 50 9\n";
        assert_eq!(disk_bytes(text), Some(100 * 512));
        assert_eq!(disk_bytes(""), None);
    }

    #[test]
    fn pressure_is_read_in_nanoseconds() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 total=9\n";
        assert_eq!(stall_ns(text), Some(1_234_000));
        assert_eq!(stall_ns(""), None);
    }

    #[test]
    fn what_the_trial_used_itself_is_not_counted_as_others() {
        let look = |busy_ns| HostLook {
            processors: Some(ProcessorTimes {
                busy_ns,
                ..ProcessorTimes::default()
            }),
            ..HostLook::default()
        };
        let facts = look(1_000).compare(&look(5_000), 3_000);
        assert_eq!(facts.busy_time_ns, Some(4_000));
        assert_eq!(facts.other_time_ns, Some(1_000));
    }

    #[test]
    fn a_wall_clock_that_was_set_shows_as_a_jump() {
        let look = |monotonic_ns, realtime_ns| HostLook {
            monotonic_ns,
            realtime_ns,
            boot_time_ns: monotonic_ns,
            ..HostLook::default()
        };
        let facts = look(100, 1_000_000).compare(&look(300, 500_000), 0);
        assert_eq!(facts.clock_jump_ns, Some(-500_200));
        assert_eq!(facts.suspended_ns, Some(0));
    }

    #[test]
    fn what_the_host_does_not_tell_is_absent_and_named() {
        let facts = HostLook::default().compare(&HostLook::default(), 0);
        assert_eq!(facts.steal_time_ns, None);
        assert_eq!(facts.untold.len(), 6);
    }

    #[test]
    fn two_looks_at_this_host_show_time_and_interrupts() {
        let before = HostLook::take(None);
        std::thread::sleep(std::time::Duration::from_millis(30));
        let facts = before.compare(&HostLook::take(None), 0);
        assert!(facts.span_ns >= 30_000_000);
        assert!(facts.interrupts.unwrap() > 0);
        assert!(facts.suspended_ns.unwrap() < 1_000_000);
    }
}
