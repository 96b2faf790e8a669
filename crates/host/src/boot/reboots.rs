//! What an ordinary reboot does where Debian's kexec-tools handle it: which command line the next boot gets.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::assignments::{Assigned, read_assignments};
use crate::state::Host;

/// Settings of kexec-tools, which a shell reads.
const SETTINGS: &str = "/etc/default/kexec";
/// More of them, read after it.
const SNIPPETS: &str = "/etc/default/kexec.d";
/// Configuration of GRUB, and what it keeps from boot to boot.
const GRUB: &str = "/boot/grub/grub.cfg";
const GRUB_KEPT: &str = "/boot/grub/grubenv";

/// Whether Debian's kexec-tools turn every reboot into one with the command line that runs, as they do when they are
/// to handle reboots and nothing names another. The error says why that cannot be told, in one sentence without a full stop.
pub fn are_kept_by_reboots(host: &Host) -> Result<bool, String> {
    let is_executable = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if !is_executable(&host.path("/sbin/kexec")) {
        return Ok(false);
    }
    let settings = read_settings(host)?;
    if find(&settings, "LOAD_KEXEC")? != "true" {
        return Ok(false);
    }
    if find(&settings, "USE_GRUB_CONFIG")? == "true"
        && let Some(is_empty) = find_line_of_grub(host)?
    {
        return Ok(is_empty);
    }
    Ok(find(&settings, "APPEND")?.is_empty())
}

/// The value of a setting, or an empty text.
fn find<'a>(settings: &'a Assigned, name: &str) -> Result<&'a str, String> {
    match settings.get(name) {
        None => Ok(""),
        Some(Some(value)) => Ok(value),
        Some(None) => Err(format!(
            "a shell works out the value of {name} in {SETTINGS} or {SNIPPETS}"
        )),
    }
}

fn read_settings(host: &Host) -> Result<Assigned, String> {
    let mut settings = Assigned::new();
    for name in [vec![SETTINGS.to_owned()], list_snippets(host)?].concat() {
        let Some(text) = read_if_there(host, &name)? else {
            continue;
        };
        read_assignments(&text, &mut settings)
            .map_err(|line| format!("line {line} of {name} does more than assign fixed values"))?;
    }
    Ok(settings)
}

/// Files among the snippets that run-parts chooses, in its order.
fn list_snippets(host: &Host) -> Result<Vec<String>, String> {
    let folder = match fs::read_dir(host.path(SNIPPETS)) {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(error) => return Err(format!("{SNIPPETS} cannot be read: {error}")),
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let mut names: Vec<String> = folder
        .flatten()
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(is_letter))
        .map(|name| format!("{SNIPPETS}/{name}"))
        .collect();
    names.sort();
    Ok(names)
}

fn read_if_there(host: &Host, name: &str) -> Result<Option<String>, String> {
    match fs::read_to_string(host.path(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{name} cannot be read: {error}")),
    }
}

/// Whether the command line is empty of the entry of GRUB that kexec-tools would start; absent without one.
fn find_line_of_grub(host: &Host) -> Result<Option<bool>, String> {
    if !host.path(GRUB).is_file() {
        return Ok(None);
    }
    let text = read_if_there(host, GRUB)?.unwrap_or_default();
    let number = find_default_entry(host, &text)?;
    let lines: Vec<&str> = text.lines().collect();
    let entry = find_entry(&lines, number)
        .ok_or_else(|| format!("{GRUB} has no entry {number}, which its reboots would start"))?;
    // The words behind the kernel; the last such line holds.
    let arguments = entry.iter().rev().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some("linux")).then(|| words.skip(1).collect::<Vec<_>>())
    });
    let Some(arguments) = arguments else {
        return Ok(None);
    };
    let is_plain = |word: &&str| !word.contains(['"', '`', '\\', '$']);
    let is_told = |word: &&str| is_plain(word) || is_variable(word);
    // A shell reads the line once more, between double quotes.
    if arguments.is_empty() || (arguments.iter().all(is_told) && arguments.iter().any(is_plain)) {
        return Ok(Some(arguments.is_empty()));
    }
    Err(format!(
        "a shell works out the command line of the entry {number} of {GRUB}"
    ))
}

fn is_variable(word: &str) -> bool {
    let name = word.strip_prefix('$').unwrap_or_default();
    !name.is_empty()
        && name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// The number of the entry that GRUB starts, as kexec-tools find it.
fn find_default_entry(host: &Host, text: &str) -> Result<usize, String> {
    let second_word = |line: &str| line.split_ascii_whitespace().nth(1).map(str::to_owned);
    let set = text.lines().rfind(|line| line.contains("set default"));
    let set = set.and_then(second_word).unwrap_or_default();
    let mut value = set.split('"').nth(1).unwrap_or(&set).to_owned();
    if value == "${saved_entry}" {
        let kept = read_if_there(host, GRUB_KEPT)?.unwrap_or_default();
        let saved: Vec<&str> = kept
            .lines()
            .filter_map(|line| line.strip_prefix("saved_entry="))
            .collect();
        value = saved.join(" ");
    }
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit())
        && (value.len() == 1 || !value.starts_with('0'));
    match value.as_str() {
        "" => Ok(0),
        _ if is_number => value.parse().map_err(|_| value.clone()),
        _ => Err(value.clone()),
    }
    .map_err(|value| {
        format!("kexec-tools find no entry `{value}` in {GRUB}, which it names as its default")
    })
}

/// The lines of an entry, as kexec-tools cut them out.
fn find_entry<'a>(lines: &'a [&'a str], number: usize) -> Option<&'a [&'a str]> {
    let is_begin = |line: &str| {
        let rest = line.trim_ascii_start().strip_prefix("menuentry");
        rest.is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_whitespace()))
    };
    let mut begins = (0..lines.len()).filter(|index| is_begin(lines[*index]));
    let begin = begins.nth(number)?;
    let end = begins.next().or_else(|| {
        let is_end = |line: &&str| line.starts_with("### END");
        Some(begin + lines[begin..].iter().position(is_end)?)
    });
    // Without an end they leave out the last line.
    Some(&lines[begin..end.unwrap_or(lines.len() - 1).max(begin)])
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;
    use crate::factors::tests::FakeHost;

    const INSTALLED: &str = "# Load a kexec kernel (true/false)\nLOAD_KEXEC=true\nKERNEL_IMAGE=\"/vmlinuz\"\nAPPEND=\"\"\nUSE_GRUB_CONFIG=false\n";
    const ENTRIES: &str = "set default=\"0\"\nmenuentry 'Debian' --class debian {\n\tlinux\t/vmlinuz-6.1 root=UUID=1 ro  quiet\n\tinitrd\t/initrd.img-6.1\n}\nsubmenu 'More' {\n\tmenuentry 'Debian, bare' {\n\t\tlinux /vmlinuz-6.1\n\t}\n}\n### END /etc/grub.d/10_linux ###\nmenuentry 'Firmware' {\n\tfwsetup\n}\n### END /etc/grub.d/30_uefi ###\n";

    /// A host with kexec-tools and their settings.
    fn host_with(settings: &str) -> FakeHost {
        let host = FakeHost::new();
        host.write("/etc/default/kexec", settings);
        host.write("/sbin/kexec", "x");
        let mode = Permissions::from_mode(0o755);
        fs::set_permissions(host.host.path("/sbin/kexec"), mode).unwrap();
        host
    }

    fn are_kept(settings: &str) -> Result<bool, String> {
        are_kept_by_reboots(&host_with(settings).host)
    }

    #[test]
    fn reboots_that_keep_the_borrowed_boot_are_seen_in_the_settings() {
        assert_eq!(are_kept(INSTALLED), Ok(true));
        for (from, to) in [
            ("LOAD_KEXEC=true", "LOAD_KEXEC=false"),
            ("LOAD_KEXEC=true", "LOAD_KEXEC=false # true"),
            ("LOAD_KEXEC=true", "LOAD_KEXEC=\"true \""),
            ("APPEND=\"\"", "APPEND=\"root=/dev/sda1 ro\""),
        ] {
            assert_eq!(are_kept(&INSTALLED.replace(from, to)), Ok(false), "{to}");
        }
        for (from, to) in [
            ("LOAD_KEXEC=true", "export LOAD_KEXEC=true"),
            ("LOAD_KEXEC=true", "LOAD_KEXEC='true'   # installed so"),
            ("APPEND=\"\"", "APPEND= # none"),
            // No configuration of GRUB is there.
            ("USE_GRUB_CONFIG=false", "USE_GRUB_CONFIG=true"),
        ] {
            assert_eq!(are_kept(&INSTALLED.replace(from, to)), Ok(true), "{to}");
        }
    }

    #[test]
    fn without_an_executable_or_settings_nothing_keeps_it() {
        let host = host_with(INSTALLED);
        let mode = Permissions::from_mode(0o644);
        fs::set_permissions(host.host.path("/sbin/kexec"), mode).unwrap();
        assert_eq!(are_kept_by_reboots(&host.host), Ok(false));
        assert_eq!(are_kept_by_reboots(&FakeHost::new().host), Ok(false));
        let host = host_with("");
        fs::remove_file(host.host.path("/etc/default/kexec")).unwrap();
        assert_eq!(are_kept_by_reboots(&host.host), Ok(false));
    }

    #[test]
    fn snippets_are_those_that_run_parts_chooses_and_the_last_one_holds() {
        for (snippets, kept) in [
            (&["10-own"][..], false),
            (&["10-own.dpkg-old", "20-own~"], true),
            (&["own.conf"], true),
        ] {
            let host = host_with("LOAD_KEXEC=true\n");
            for name in snippets {
                let file = format!("/etc/default/kexec.d/{name}");
                host.write(&file, "LOAD_KEXEC=false\n");
            }
            assert_eq!(are_kept_by_reboots(&host.host), Ok(kept), "{snippets:?}");
        }
        let host = host_with("LOAD_KEXEC=false\n");
        host.write("/etc/default/kexec.d/10-own", "LOAD_KEXEC=false\n");
        host.write("/etc/default/kexec.d/20-own", "LOAD_KEXEC=true\n");
        assert_eq!(are_kept_by_reboots(&host.host), Ok(true));
    }

    #[test]
    fn where_it_cannot_be_told_the_cause_is() {
        for (settings, cause) in [
            ("LOAD_KEXEC=$WANTED\n", "LOAD_KEXEC"),
            (
                "LOAD_KEXEC=true\nAPPEND=\"$(cat /proc/cmdline) quiet\"\n",
                "APPEND",
            ),
            (
                "if true; then LOAD_KEXEC=true; fi\n",
                "line 1 of /etc/default/kexec",
            ),
            ("LOAD_KEXEC=\"true\n", "/etc/default/kexec"),
        ] {
            let told = are_kept(settings).unwrap_err();
            assert!(told.contains(cause), "{told}");
        }
        assert_eq!(are_kept("APPEND=$X\nLOAD_KEXEC=false\n"), Ok(false));
        let host = host_with(INSTALLED);
        host.write("/etc/default/kexec.d/own", "A=1\nset -a\n");
        let told = are_kept_by_reboots(&host.host).unwrap_err();
        assert!(
            told.contains("line 2 of /etc/default/kexec.d/own"),
            "{told}"
        );
    }

    #[test]
    fn the_entry_of_grub_counts_where_it_is_to_be_used() {
        let settings = INSTALLED.replace("USE_GRUB_CONFIG=false", "USE_GRUB_CONFIG=true");
        let ask = |text: &str| {
            let host = host_with(&settings);
            host.write(GRUB, text);
            host.write(GRUB_KEPT, "# GRUB Environment Block\nsaved_entry=1\n####");
            are_kept_by_reboots(&host.host)
        };
        assert_eq!(ask(ENTRIES), Ok(false));
        for (from, to, kept) in [
            // An entry without arguments, and one without a kernel: then the settings hold.
            ("default=\"0\"", "default=\"1\"", true),
            ("default=\"0\"", "default=\"2\"", true),
            ("default=\"0\"", "default=\"${saved_entry}\"", true),
            ("set default=\"0\"\n", "", false),
            ("quiet", "quiet $vt_handoff", false),
        ] {
            assert_eq!(ask(&ENTRIES.replace(from, to)), Ok(kept), "{to}");
        }
        for (from, to, cause) in [
            ("default=\"0\"", "default=\"3\"", "no entry 3"),
            ("default=\"0\"", "default=\"More>0\"", "`More>0`"),
            ("root=UUID=1 ro  quiet", "$cmdline", "entry 0"),
            ("quiet", "\"quiet", "entry 0"),
        ] {
            let told = ask(&ENTRIES.replace(from, to)).unwrap_err();
            assert!(told.contains(cause), "{told}");
        }
    }
}
