//! What a package sees as the machine, and what is left of it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use datamill_protocol::{BuildPolicy, FailureKind, IsolationKind, IsolationWanted};

use crate::support::Bench;

fn assert_nothing_left(bench: &Bench) {
    assert!(!bench.path("state/scratch").exists());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&*bench.path("").to_string_lossy()));
}

#[test]
fn a_file_written_in_the_world_is_not_on_the_host() {
    let name = format!("datamill-privacy-{}", std::process::id());
    let run = format!(
        "echo x > /{name}; echo x > /usr/{name}; echo x > /tmp/{name}; echo x > /dev/{name}; cat /{name}"
    );
    let Some(bench) = Bench::as_root(&run) else {
        return;
    };
    let record = bench.complete();
    assert_eq!(record.isolation.kind, IsolationKind::Confined);
    assert_eq!(bench.output("run.out"), "x\n");
    for folder in ["/", "/usr", "/tmp", "/dev"] {
        assert!(!Path::new(folder).join(&name).exists(), "{folder}");
    }
    assert_nothing_left(&bench);
}

#[test]
fn the_package_is_at_the_root_of_an_overlay_world() {
    let Some(bench) = Bench::as_root(
        "pwd; id -u; cat /dry/data; ls -d /etc/passwd; echo $HOME; tty -s || echo no terminal",
    ) else {
        return;
    };
    bench.file("dry/data", b"wet\n", 0o644);
    bench.complete();
    assert_eq!(
        bench.output("run.out"),
        "/\n0\nwet\n/etc/passwd\n/root\nno terminal\n"
    );
}

#[test]
fn two_trials_do_not_see_each_other() {
    let Some(bench) = Bench::as_root("test ! -e /trace && touch /trace") else {
        return;
    };
    bench.complete();
    bench.complete();
}

#[test]
fn a_package_sees_only_its_own_processes() {
    let Some(bench) = Bench::as_root("ls /proc | grep -c '^[0-9]'") else {
        return;
    };
    bench.complete();
    let count: u32 = bench.output("run.out").trim().parse().unwrap();
    assert!(count <= 5, "{count}");
}

#[test]
fn the_hosts_knobs_cannot_be_turned_from_inside() {
    let run = "for knob in /proc/sys/kernel/randomize_va_space /proc/sysrq-trigger /sys/kernel/mm/transparent_hugepage/enabled; do
        if [ -e $knob ] && (echo 0 > $knob) 2>/dev/null; then echo turned $knob; fi
    done";
    let before = fs::read("/proc/sys/kernel/randomize_va_space").unwrap();
    let Some(bench) = Bench::as_root(run) else {
        return;
    };
    bench.complete();
    assert_eq!(bench.output("run.out"), "");
    assert_eq!(
        fs::read("/proc/sys/kernel/randomize_va_space").unwrap(),
        before
    );
}

#[test]
fn the_worker_cannot_be_changed_from_inside() {
    let run = "worker=/.datamill/datamill-worker
    (echo x >> $worker) 2>/dev/null || chmod 600 $worker 2>/dev/null || rm $worker 2>/dev/null || echo unchanged";
    for bench in [Bench::as_root(run), Bench::as_nobody(run)]
        .into_iter()
        .flatten()
    {
        if bench.complete().isolation.kind != IsolationKind::Plain {
            assert_eq!(bench.output("run.out"), "unchanged\n");
        }
    }
}

#[test]
fn a_full_world_is_told_as_such() {
    let Some(mut bench) = Bench::as_root("head -c 30000000 /dev/zero > /big") else {
        return;
    };
    bench.spec.limits.world_bytes = 8 << 20;
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::DiskLimit, "{}", failure.message);
    assert_nothing_left(&bench);
}

#[test]
fn folders_of_the_package_join_those_of_the_host() {
    let Some(bench) = Bench::as_root("ls /etc/passwd /etc/datamill-own; stat -c %a /tmp") else {
        return;
    };
    bench.file("etc/datamill-own", b"", 0o644);
    bench.complete();
    assert_eq!(
        bench.output("run.out"),
        "/etc/datamill-own\n/etc/passwd\n1777\n"
    );
}

/// Mode, and for root the owner, of folders as `stat` shows them.
fn attributes(folders: &[&str]) -> String {
    folders
        .iter()
        .map(|folder| {
            let data = fs::metadata(folder).unwrap();
            format!("{:o} {} {}\n", data.mode() & 0o7777, data.uid(), data.gid())
        })
        .collect()
}

#[test]
fn folders_of_the_host_keep_their_mode_and_owner_below_a_package_that_has_them_too() {
    let folders = ["/", "/tmp", "/etc", "/var/mail"];
    if !Path::new("/var/mail").is_dir() {
        eprintln!("skipped: no /var/mail here");
        return;
    }
    for policy in [BuildPolicy::Fresh, BuildPolicy::Shared] {
        let Some(mut bench) =
            Bench::as_root("stat -c '%a %u %g' / /tmp /etc /var/mail; cat /tmp/data")
        else {
            return;
        };
        bench.spec.build = policy;
        for folder in ["tmp", "etc", "var/mail"] {
            bench.file(&format!("{folder}/data"), b"here\n", 0o644);
            let closed = fs::Permissions::from_mode(0o700);
            fs::set_permissions(bench.package().join(folder), closed).unwrap();
        }
        bench.complete();
        let expected = attributes(&folders) + "here\n";
        assert_eq!(bench.output("run.out"), expected, "{policy:?}");
    }
}

#[test]
fn a_mode_that_setup_gives_to_a_folder_of_the_host_is_kept() {
    for policy in [BuildPolicy::Fresh, BuildPolicy::Shared] {
        let Some(mut bench) = Bench::as_root("stat -c %a /etc; test ! -e /var/mail") else {
            return;
        };
        bench.spec.build = policy;
        bench.file("etc/data", b"", 0o644);
        bench.file("var/mail/data", b"", 0o644);
        bench.script("setup.sh", "chmod 711 /etc; rm -r /var/mail");
        bench.complete();
        assert_eq!(bench.output("run.out"), "711\n", "{policy:?}");
    }
}

#[test]
fn tmp_stays_open_to_everybody_in_a_user_namespace() {
    let Some(bench) = Bench::as_nobody("stat -c %a /tmp /etc") else {
        return;
    };
    bench.file("tmp/data", b"", 0o644);
    bench.file("etc/data", b"", 0o644);
    let record = bench.complete();
    if Bench::has_world(&record, IsolationKind::UserNamespace) {
        assert_eq!(bench.output("run.out"), "1777\n755\n");
    }
}

#[test]
fn paths_with_separators_of_overlayfs_work() {
    let Some(mut bench) = Bench::as_root("cat /data") else {
        return;
    };
    bench.file("data", b"here\n", 0o644);
    for (name, folder) in [
        ("a:b,c\\d", &mut bench.spec.cache_dir),
        ("e:f,g", &mut bench.spec.scratch_dir),
    ] {
        folder.push_str(name);
    }
    bench.spec.build = datamill_protocol::BuildPolicy::Shared;
    bench.complete();
    assert_eq!(bench.output("run.out"), "here\n");
}

#[test]
fn an_ordinary_user_gets_the_same_world_in_a_user_namespace() {
    let name = format!("datamill-private-{}", std::process::id());
    let run = format!(
        "pwd; id -u; cat /dry/data; echo x > /{name}; echo x > /usr/{name}; cat /usr/{name}; echo z > /root/z; ls -d /etc/passwd"
    );
    let Some(bench) = Bench::as_nobody(&run) else {
        return;
    };
    bench.file("dry/data", b"wet\n", 0o644);
    let record = bench.complete();
    if !Bench::has_world(&record, IsolationKind::UserNamespace) {
        return;
    }
    assert_eq!(record.isolation.reason, "confined: needs root");
    assert_eq!(bench.output("run.out"), "/\n0\nwet\nx\n/etc/passwd\n");
    assert!(!Path::new("/usr").join(&name).exists() && !Path::new("/").join(&name).exists());
    assert_nothing_left(&bench);
}

#[test]
fn an_ordinary_user_can_run_in_a_private_folder() {
    let Some(mut bench) = Bench::as_nobody("pwd; id -u; cat data") else {
        return;
    };
    bench.spec.isolation = IsolationWanted::Plain;
    bench.file("data", b"here\n", 0o644);
    let record = bench.complete();
    assert_eq!(record.isolation.kind, IsolationKind::Plain);
    let folder = bench.path("state/scratch/tree");
    assert_eq!(
        bench.output("run.out"),
        format!("{}\n65534\nhere\n", folder.display())
    );
    assert_nothing_left(&bench);
}

#[test]
fn a_world_that_is_impossible_but_asked_for_fails_the_trial() {
    let Some(mut bench) = Bench::as_nobody("true") else {
        return;
    };
    bench.spec.isolation = IsolationWanted::Overlay;
    let failure = bench.run().failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Isolation);
    assert!(
        failure.message.contains("overlay: needs root"),
        "{}",
        failure.message
    );
}

#[test]
fn what_a_killed_worker_left_in_a_plain_world_is_in_nobodys_way() {
    let bench = Bench::new("test ! -e left");
    fs::create_dir_all(bench.path("state/scratch/tree")).unwrap();
    fs::write(bench.path("state/scratch/tree/left"), "").unwrap();
    bench.complete();
    assert_nothing_left(&bench);
}

#[test]
fn a_scratch_folder_with_something_else_in_it_is_not_emptied() {
    let bench = Bench::new("true");
    fs::create_dir_all(bench.path("state/scratch")).unwrap();
    fs::write(bench.path("state/scratch/precious"), "").unwrap();
    assert!(
        bench
            .complete()
            .notices
            .iter()
            .any(|notice| notice.contains("could not be removed"))
    );
    assert!(bench.path("state/scratch/precious").exists());
}
