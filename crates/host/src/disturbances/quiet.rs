//! Waiting until this host is quiet.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use datamill_protocol::{QuietFacts, QuietRule, QuietWindow};

use super::disturbance::{busy_time_ns, stall_ns};
use super::processes::OtherProcesses;

/// Longest sleep between two questions whether to go on.
const NAP: Duration = Duration::from_millis(100);

/// Waits until this host satisfies a rule in one window, or its limit is reached; ends early when `is_over`.
///
/// It sleeps meanwhile, and so is no load itself. A figure that the host does not tell is not asked for; where
/// it tells none at all, one window is waited for and the host is not called quiet.
pub fn wait_for_quiet(
    rule: &QuietRule,
    others: Option<&OtherProcesses>,
    is_over: impl Fn() -> bool,
) -> QuietFacts {
    wait_on(Path::new("/proc"), rule, others, is_over)
}

fn wait_on(
    proc: &Path,
    rule: &QuietRule,
    others: Option<&OtherProcesses>,
    is_over: impl Fn() -> bool,
) -> QuietFacts {
    let began = Instant::now();
    let limit = Duration::from_secs_f64(rule.limit_s);
    let window = Duration::from_secs_f64(rule.window_s);
    let others_before = others.map(OtherProcesses::look);
    let mut before = Look::take(proc);
    let mut facts = QuietFacts {
        rule: *rule,
        waited_ns: 0,
        windows: 0,
        quiet: false,
        last: QuietWindow::default(),
        busiest: Vec::new(),
        untold: Vec::new(),
    };
    loop {
        let left = limit.saturating_sub(began.elapsed());
        if !sleep(window.min(left), &is_over) {
            break;
        }
        let after = Look::take(proc);
        facts.windows += 1;
        facts.last = before.compare(&after);
        // What is left of the limit may be too short a window to show anything.
        facts.quiet = left >= window && facts.last.tells_anything() && facts.last.satisfies(rule);
        if facts.quiet || !facts.last.tells_anything() || began.elapsed() >= limit {
            break;
        }
        before = after;
    }
    facts.waited_ns = began.elapsed().as_nanos() as u64;
    facts.untold = untold(&facts.last);
    facts.busiest = others_before
        .zip(others.map(OtherProcesses::look))
        .map(|(before, after)| before.busiest_until(&after))
        .unwrap_or_default();
    facts
}

/// Sleeps in short naps; tells whether it came to the end.
fn sleep(time: Duration, is_over: &impl Fn() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if is_over() {
            return false;
        }
        let left = time.saturating_sub(began.elapsed());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(NAP));
    }
}

/// Counters of the host at one moment.
struct Look {
    at: Instant,
    busy_ns: Option<u64>,
    stalls_ns: [Option<u64>; 3],
    disks_ms: Option<Vec<(String, u64)>>,
}

impl Look {
    fn take(proc: &Path) -> Self {
        let read = |name: &str| fs::read_to_string(proc.join(name)).unwrap_or_default();
        Self {
            at: Instant::now(),
            busy_ns: busy_time_ns(&read("stat")),
            stalls_ns: ["cpu", "memory", "io"]
                .map(|what| stall_ns(&read(&format!("pressure/{what}")))),
            disks_ms: disk_times_ms(&read("diskstats")),
        }
    }

    fn compare(&self, later: &Self) -> QuietWindow {
        let span_ns = (later.at - self.at).as_nanos().max(1) as f64;
        let share = |before: Option<u64>, after: Option<u64>| {
            Some(after?.saturating_sub(before?) as f64 / span_ns)
        };
        let [cpu, memory, io] = [0, 1, 2].map(|n| share(self.stalls_ns[n], later.stalls_ns[n]));
        let disk = self.disks_ms.as_ref().zip(later.disks_ms.as_ref());
        QuietWindow {
            processors: share(self.busy_ns, later.busy_ns),
            cpu_pressure: cpu,
            memory_pressure: memory,
            io_pressure: io,
            disk: disk.map(|(before, after)| busiest_disk_ms(before, after) as f64 * 1e6 / span_ns),
        }
    }
}

/// The time that each disk had something to do, in milliseconds; absent when the host does not tell.
fn disk_times_ms(diskstats: &str) -> Option<Vec<(String, u64)>> {
    if diskstats.is_empty() {
        return None;
    }
    let disk = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        // Major, minor, name, and of the numbers behind it the tenth. What is in memory is no disk.
        let name = fields.get(2)?;
        let in_memory = ["loop", "ram", "zram"]
            .iter()
            .any(|it| name.starts_with(it));
        (!in_memory).then_some(())?;
        Some(((*name).to_owned(), fields.get(12)?.parse().ok()?))
    };
    Some(diskstats.lines().filter_map(disk).collect())
}

fn busiest_disk_ms(before: &[(String, u64)], after: &[(String, u64)]) -> u64 {
    let gained = after.iter().map(|(name, now)| {
        let then = before.iter().find(|(known, _)| known == name);
        then.map_or(0, |(_, then)| now.saturating_sub(*then))
    });
    gained.max().unwrap_or(0)
}

fn untold(window: &QuietWindow) -> Vec<String> {
    let absent = [
        (
            window.processors.is_none(),
            "processor times: /proc/stat cannot be read",
        ),
        (
            window.cpu_pressure.is_none(),
            "pressure: the kernel has no /proc/pressure",
        ),
        (
            window.disk.is_none(),
            "disks: /proc/diskstats cannot be read",
        ),
    ];
    let named = absent.into_iter().filter(|(absent, _)| *absent);
    named.map(|(_, why)| why.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::PathBuf;

    use super::*;

    /// A `/proc` whose counters stand still.
    struct Still(PathBuf);

    impl Still {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("datamill-quiet-{name}-{}", std::process::id()));
            fs::create_dir_all(folder.join("pressure")).unwrap();
            let still = Self(folder);
            still.set_busy(100);
            for what in ["cpu", "memory", "io"] {
                still.write(
                    &format!("pressure/{what}"),
                    "some avg10=9.00 avg60=9.00 avg300=9.00 total=77\n",
                );
            }
            still.write(
                "diskstats",
                "254 0 vda 1 2 3 4 5 6 7 8 0 50 9\n7 0 loop0 1 2 3 4 5 6 7 8 0 50 9\n",
            );
            still
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.0.join(name), text).unwrap();
        }

        fn set_busy(&self, ticks: u64) {
            self.write("stat", &format!("cpu  {ticks} 0 0 999 0 0 0 0 0 0\n"));
        }
    }

    impl Drop for Still {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    const RULE: QuietRule = QuietRule {
        window_s: 0.1,
        limit_s: 0.35,
        processors: 0.1,
        pressure: 0.05,
        disk: 0.05,
    };

    #[test]
    fn a_host_whose_counters_stand_still_is_quiet_at_once_whatever_they_say() {
        let still = Still::new("still");
        let facts = wait_on(&still.0, &RULE, None, || false);
        assert!(facts.quiet, "{facts:?}");
        assert_eq!(facts.windows, 1);
        assert!(facts.waited_ns >= 100_000_000);
        assert!(facts.untold.is_empty());
    }

    #[test]
    fn a_host_that_becomes_quiet_is_waited_for_and_no_longer() {
        let still = Still::new("becomes");
        let asked = Cell::new(0);
        let rule = QuietRule {
            limit_s: 60.0,
            ..RULE
        };
        let facts = wait_on(&still.0, &rule, None, || {
            // Busy in the first window: two questions come before its end.
            asked.set(asked.get() + 1);
            if asked.get() == 2 {
                still.set_busy(200);
            }
            false
        });
        assert!(facts.quiet, "{facts:?}");
        assert_eq!(facts.windows, 2);
    }

    #[test]
    fn a_host_that_stays_busy_is_left_at_the_limit_and_not_called_quiet() {
        let still = Still::new("busy");
        let ticks = Cell::new(100);
        let facts = wait_on(&still.0, &RULE, None, || {
            ticks.set(ticks.get() + 10);
            still.set_busy(ticks.get());
            false
        });
        assert!(!facts.quiet, "{facts:?}");
        assert!(
            facts.waited_ns >= 350_000_000 && facts.waited_ns < 5_000_000_000,
            "{facts:?}"
        );
        assert!(facts.last.processors.unwrap() > 0.1);
    }

    #[test]
    fn an_interruption_ends_the_wait() {
        let still = Still::new("over");
        let rule = QuietRule {
            window_s: 60.0,
            limit_s: 3600.0,
            ..RULE
        };
        let facts = wait_on(&still.0, &rule, None, || true);
        assert!(!facts.quiet);
        assert_eq!(facts.windows, 0);
    }

    #[test]
    fn a_host_that_tells_nothing_is_not_called_quiet() {
        let facts = wait_on(Path::new("/nowhere"), &RULE, None, || false);
        assert!(!facts.quiet);
        assert_eq!((facts.windows, facts.untold.len()), (1, 3));
    }

    #[test]
    fn the_busiest_disk_counts_and_memory_is_no_disk() {
        let before =
            disk_times_ms("8 0 sda 1 2 3 4 5 6 7 8 0 50 9\n8 16 sdb 1 2 3 4 5 6 7 8 0 10 9\n")
                .unwrap();
        let after =
            disk_times_ms("8 0 sda 1 2 3 4 5 6 7 8 0 60 9\n8 16 sdb 1 2 3 4 5 6 7 8 0 90 9\n")
                .unwrap();
        assert_eq!(busiest_disk_ms(&before, &after), 80);
        assert_eq!(
            disk_times_ms("1 0 ram0 1 2 3 4 5 6 7 8 0 50 9\n").unwrap(),
            []
        );
    }
}
