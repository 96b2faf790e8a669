//! What this machine is and offers, as a fleet wants to know it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use datamill_protocol::{
    CacheFacts, CompilerVersion, CrossCompilerVersion, FLEET_SCHEMA_VERSION, FactorOffer,
    GuestOffer, Inventory, IsolationKind, SCHEMA_VERSION,
};

use serde::{Deserialize, Serialize};

use super::host_facts::{hostname, read_host_facts};

/// Compilers that are looked for.
const COMPILERS: [&str; 11] = [
    "cc", "gcc", "g++", "clang", "clang++", "gfortran", "rustc", "go", "javac", "ghc", "ocamlopt",
];

/// What only the program that runs trials knows of its machine.
#[derive(Debug, Clone, PartialEq)]
pub struct InventoryParts {
    /// Version of that program.
    pub worker_version: String,
    /// Strongest way to keep a trial apart that works here.
    pub isolation: IsolationKind,
    /// Compilers for machines of other architectures.
    pub cross: Vec<CrossCompilerVersion>,
    /// Whether the processor's counters can be read.
    pub counters: bool,
    /// Whether trials can run in guests here.
    pub guest: GuestOffer,
    /// What this host offers of each factor.
    pub factors: Vec<FactorOffer>,
    /// Free bytes where packages and builds go.
    pub free_disk_bytes: u64,
    /// File that remembers the versions of compilers, which take long to tell them; absent: each is asked.
    pub known_compilers: Option<PathBuf>,
}

/// Reads what this machine is, asking each compiler for its version.
pub fn read_inventory(parts: InventoryParts) -> Inventory {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Inventory {
        schema: FLEET_SCHEMA_VERSION,
        trial_schema: SCHEMA_VERSION,
        worker_version: parts.worker_version,
        hostname: hostname(),
        host: read_host_facts(),
        clock_khz: highest_clock_khz(Path::new("/")),
        caches: read_caches(Path::new("/")),
        distribution: distribution(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        compilers: list_compilers(parts.known_compilers.as_deref()),
        cross: parts.cross,
        counters: parts.counters,
        isolation: parts.isolation,
        guest: parts.guest,
        // SAFETY: no pointers involved.
        root: unsafe { libc::geteuid() } == 0,
        free_disk_bytes: parts.free_disk_bytes,
        factors: parts.factors,
        clock_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
    }
}

/// Highest clock of any processor: what its governor may reach, else what it runs at now.
fn highest_clock_khz(root: &Path) -> Option<u64> {
    let processors = fs::read_dir(root.join("sys/devices/system/cpu")).ok();
    let reachable = processors
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let text = fs::read_to_string(entry.path().join("cpufreq/cpuinfo_max_freq")).ok()?;
            text.trim().parse::<u64>().ok()
        })
        .max();
    reachable.or_else(|| {
        clock_in_cpuinfo_khz(&fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default())
    })
}

/// The highest of `cpu MHz` (x86), `clock` (POWER, in MHz) and `cpu MHz dynamic` (s390).
fn clock_in_cpuinfo_khz(cpuinfo: &str) -> Option<u64> {
    cpuinfo
        .lines()
        .filter_map(|line| {
            let (field, value) = line.split_once(':')?;
            if !matches!(field.trim(), "cpu MHz" | "clock" | "cpu MHz dynamic") {
                return None;
            }
            let megahertz: f64 = value.trim().trim_end_matches("MHz").parse().ok()?;
            (megahertz > 0.0).then_some((megahertz * 1000.0).round() as u64)
        })
        .max()
}

/// Caches of the first processor, smallest level first.
fn read_caches(root: &Path) -> Vec<CacheFacts> {
    let folder = root.join("sys/devices/system/cpu/cpu0/cache");
    let mut caches: Vec<CacheFacts> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
            Some(CacheFacts {
                level: read("level")?.trim().parse().ok()?,
                kind: read("type")?.trim().to_owned(),
                size_bytes: parse_size(read("size")?.trim())?,
            })
        })
        .collect();
    caches.sort_by(|left, right| (left.level, &left.kind).cmp(&(right.level, &right.kind)));
    caches
}

fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// `ID VERSION_ID` of an os-release file, or "unknown".
fn distribution(os_release: &str) -> String {
    let field = |wanted: &str| {
        os_release.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            let value = value.trim().trim_matches(['"', '\'']);
            (name.trim() == wanted && !value.is_empty()).then(|| value.to_owned())
        })
    };
    match (field("ID"), field("VERSION_ID")) {
        (Some(id), Some(version)) => format!("{id} {version}"),
        (Some(id), None) => id,
        _ => "unknown".to_owned(),
    }
}

/// A compiler whose version is known as long as its file stays as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KnownCompiler {
    name: String,
    path: PathBuf,
    bytes: u64,
    modified_s: i64,
    /// Absent when it did not tell.
    version: Option<String>,
}

/// Compilers in `PATH`; only those that are new or changed are asked for their version.
fn list_compilers(memory: Option<&Path>) -> Vec<CompilerVersion> {
    let known: Vec<KnownCompiler> = memory
        .and_then(|memory| fs::read(memory).ok())
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let found: Vec<KnownCompiler> = COMPILERS
        .iter()
        .filter_map(|name| find_compiler(name))
        .map(|mut found| {
            let same = known.iter().find(|known| {
                (&known.name, &known.path, known.bytes, known.modified_s)
                    == (&found.name, &found.path, found.bytes, found.modified_s)
            });
            found.version = match same {
                Some(known) => known.version.clone(),
                None => ask_compiler(&found.name).map(|told| told.version),
            };
            found
        })
        .collect();
    if let (Some(memory), true) = (memory, found != known)
        && let Ok(text) = serde_json::to_vec(&found)
    {
        // Without it each is asked again.
        fs::write(memory, text).ok();
    }
    found
        .into_iter()
        .filter_map(|found| {
            Some(CompilerVersion {
                name: found.name,
                version: found.version?,
            })
        })
        .collect()
}

fn find_compiler(name: &str) -> Option<KnownCompiler> {
    let path = std::env::var_os("PATH")?;
    let path = std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())?;
    let path = fs::canonicalize(path).ok()?;
    let data = path.metadata().ok()?;
    Some(KnownCompiler {
        name: name.to_owned(),
        path,
        bytes: data.len(),
        modified_s: data.mtime(),
        version: None,
    })
}

fn ask_compiler(name: &str) -> Option<CompilerVersion> {
    let argument = match name {
        "go" => "version",
        "ocamlopt" => "-version",
        _ => "--version",
    };
    let told = Command::new(name)
        .arg(argument)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|told| told.status.success())?;
    let text = String::from_utf8_lossy(&told.stdout);
    Some(CompilerVersion {
        name: name.to_owned(),
        version: version_in(text.lines().next()?)?,
    })
}

/// The version in a compiler's own words: the last word of its first line that looks like one and is not in
/// brackets, where distributions put their package's.
fn version_in(line: &str) -> Option<String> {
    let mut depth = 0usize;
    let bare: String = line
        .chars()
        .filter(|character| {
            match character {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect();
    bare.split_whitespace()
        .map(|word| word.strip_prefix("go").unwrap_or(word))
        .rfind(|word| word.contains('.') && word.starts_with(|first: char| first.is_ascii_digit()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_tell_their_version_in_many_words() {
        for (line, version) in [
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
            ("Debian clang version 14.0.6", "14.0.6"),
            ("rustc 1.88.0 (6b00bc388 2025-06-23)", "1.88.0"),
            ("go version go1.22.1 linux/amd64", "1.22.1"),
            ("4.14.1", "4.14.1"),
        ] {
            assert_eq!(version_in(line).as_deref(), Some(version), "{line}");
        }
        assert_eq!(version_in("a compiler without a version"), None);
    }

    #[test]
    fn a_distribution_is_named_by_identity_and_version() {
        let text = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\nVERSION_ID=\"12\"\n";
        assert_eq!(distribution(text), "debian 12");
        assert_eq!(distribution("ID=arch\n"), "arch");
        assert_eq!(distribution(""), "unknown");
    }

    #[test]
    fn sizes_of_caches_are_in_bytes() {
        assert_eq!(parse_size("32K"), Some(32 * 1024));
        assert_eq!(parse_size("1M"), Some(1 << 20));
        assert_eq!(parse_size("K"), None);
        assert_eq!(parse_size("3T"), None);
    }

    #[test]
    fn a_clock_is_read_from_cpuinfo_where_no_governor_tells_one() {
        let x86 = "cpu MHz\t\t: 2100.123\ncpu MHz\t\t: 2900.0\n";
        assert_eq!(clock_in_cpuinfo_khz(x86), Some(2_900_000));
        assert_eq!(
            clock_in_cpuinfo_khz("clock\t\t: 3425.0MHz\n"),
            Some(3_425_000)
        );
        assert_eq!(clock_in_cpuinfo_khz("BogoMIPS : 50\n"), None);
    }

    #[test]
    fn a_compiler_that_did_not_change_is_not_asked_again() {
        let Some(found) = find_compiler("cc") else {
            eprintln!("skipped: this machine has no cc");
            return;
        };
        let memory = std::env::temp_dir().join(format!("compilers-{}.json", std::process::id()));
        let known = KnownCompiler {
            version: Some("from memory".to_owned()),
            ..found
        };
        fs::write(&memory, serde_json::to_vec(&[known]).unwrap()).unwrap();
        let told = list_compilers(Some(&memory));
        assert!(
            told.iter()
                .any(|told| told.name == "cc" && told.version == "from memory")
        );
        // The others were asked, and are remembered now.
        assert_eq!(list_compilers(Some(&memory)), told);
        fs::remove_file(memory).unwrap();
    }

    #[test]
    fn this_machine_has_an_inventory() {
        let inventory = read_inventory(InventoryParts {
            worker_version: "1".to_owned(),
            isolation: IsolationKind::Plain,
            cross: Vec::new(),
            counters: false,
            guest: GuestOffer::default(),
            factors: Vec::new(),
            free_disk_bytes: 7,
            known_compilers: None,
        });
        assert_eq!(inventory.free_disk_bytes, 7);
        assert!(inventory.host.cores >= 1 && inventory.clock_unix_ns > 0);
        assert!(inventory.caches.is_sorted_by_key(|cache| cache.level));
    }
}
