//! What the owner of this machine allows.

use std::path::{Component, Path};

use datamill_host::{BootState, Host, WantedBoot};
use datamill_protocol::digest::is_digest;
use datamill_protocol::{
    IsolationKind, IsolationWanted, Lease, LeaseTask, Needs, Policy, RefusalReason, TrialSpec,
};

use crate::disk::read_if_there;
use crate::machine::{Machine, Refusal};

/// Longest wait for a quiet machine that only its owner asks for: coordinators leave twice that for what no
/// limit of an experiment speaks of.
const LONGEST_WAIT_S: f64 = 60.0;

/// Reads a policy file; a missing one allows all users, packages and factors, and neither reboots nor
/// anything of the machine that packages usually do not get. The error names the file.
pub fn read_policy(path: &Path, machine: &dyn Machine) -> Result<Policy, String> {
    let at = |cause: String| format!("{}: {cause}", path.display());
    let Some(text) = read_if_there(path).map_err(|error| at(error.to_string()))? else {
        return Ok(Policy::default());
    };
    let text = String::from_utf8(text).map_err(|error| at(error.to_string()))?;
    let policy: Policy = toml::from_str(&text).map_err(|error| {
        at(format!(
            "{}; it may hold users, packages, forbidden_factors, devices, kernel, covered, folders, boot_parameters (lists of texts), reboot, kernels, network, privileged, plain, guests_only (true or false), package_bytes (a number) and quiet (a table)",
            error.to_string().trim_end()
        ))
    })?;
    for package in &policy.packages {
        if !is_digest(package) {
            return Err(at(format!(
                "packages: `{package}` is not a SHA-256 of 64 lower-case hexadecimal digits"
            )));
        }
    }
    // One that is misspelt would forbid nothing: of factors that are registered, the coordinator knows.
    let is_name = |name: &str| {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(letters)
    };
    if let Some(name) =
        (policy.forbidden_factors.iter()).find(|name| !machine.has_factor(name) && !is_name(name))
    {
        return Err(at(format!(
            "forbidden_factors: `{name}` is not the name of a factor; `datamill factors --all` lists those of datamill, `datamill factors --fleet` those that are registered as well"
        )));
    }
    if let Some(rule) = &policy.quiet {
        rule.check().map_err(|cause| at(format!("quiet.{cause}")))?;
        if rule.limit_s > LONGEST_WAIT_S {
            return Err(at(format!(
                "quiet.limit_s: {} s is more than the {LONGEST_WAIT_S} s for which a coordinator waits; an experiment may ask for more",
                rule.limit_s
            )));
        }
    }
    for (key, paths) in [
        ("devices", &policy.devices),
        ("covered", &policy.covered),
        ("folders", &policy.folders),
    ] {
        if let Some(path) = paths.iter().find(|path| !Path::new(path).is_absolute()) {
            return Err(at(format!("{key}: `{path}` is not an absolute path")));
        }
    }
    Ok(policy)
}

/// Checks what a package needs of the machine against the policy.
pub fn check_needs(policy: &Policy, needs: &Needs) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::new(RefusalReason::Policy, message));
    let owner = "The owner of this machine";
    if needs.privileged && !policy.privileged {
        return refuse(format!("{owner} gives no package all rights of root."));
    }
    if needs.network && !policy.network {
        return refuse(format!("{owner} gives no package its network."));
    }
    for device in &needs.devices {
        if !policy.devices.contains(device) {
            return refuse(format!("{owner} gives no package the device {device}."));
        }
    }
    if let Some(folder) = (needs.folders.iter()).find(|folder| !may_show(policy, folder)) {
        return refuse(format!("{owner} shows no package the folder {folder}."));
    }
    if let Some(closed) = (needs.kernel.iter()).find(|asked| !policy.kernel.contains(asked)) {
        return refuse(format!(
            "{owner} opens {closed:?} of the kernel to no package."
        ));
    }
    Ok(())
}

/// Whether a folder is one that may be shown or lies in one: as it is written, and where it really is,
/// so that no link leads out of what the owner named.
fn may_show(policy: &Policy, folder: &str) -> bool {
    let folder = Path::new(folder);
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let is_plain = !folder.components().any(|part| part == Component::ParentDir);
    is_plain
        && policy.folders.iter().map(Path::new).any(|listed| {
            let is_really_in = match (real(folder), real(listed)) {
                (Some(folder), Some(listed)) => folder.starts_with(listed),
                _ => false,
            };
            folder.starts_with(listed) && is_really_in
        })
}

/// Checks the kind of world that a trial gets, of which `strongest` is the strongest here.
pub fn check_isolation(
    policy: &Policy,
    spec: &TrialSpec,
    strongest: IsolationKind,
) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(Refusal::new(RefusalReason::Policy, message));
    match wanted_kind(spec, strongest) {
        // A guest's times are not those of this machine: nothing but the experiment may choose one.
        kind if policy.guests_only && kind != IsolationKind::Guest => refuse(
            "The owner of this machine allows packages in guests alone: isolation = \"guest\" in the experiment.",
        ),
        IsolationKind::Plain if !policy.plain => refuse(
            "Nothing would keep the package apart from this machine, and its owner does not allow that.",
        ),
        IsolationKind::Overlay if !policy.privileged => {
            refuse("The package would be root of this machine, and its owner does not allow that.")
        }
        _ => Ok(()),
    }
}

/// The kind of world that a trial gets where `strongest` is the strongest.
fn wanted_kind(spec: &TrialSpec, strongest: IsolationKind) -> IsolationKind {
    match spec.isolation {
        IsolationWanted::Auto if spec.needs.privileged => IsolationKind::Overlay,
        IsolationWanted::Auto => strongest,
        IsolationWanted::Guest => IsolationKind::Guest,
        IsolationWanted::Confined => IsolationKind::Confined,
        IsolationWanted::UserNamespace => IsolationKind::UserNamespace,
        IsolationWanted::Overlay => IsolationKind::Overlay,
        IsolationWanted::Plain => IsolationKind::Plain,
    }
}

/// The lease with what the policy covers, with its rule of quiet where the experiment has none, and with the kind of world that was checked: should that
/// turn out impossible, nothing weaker takes its place.
pub fn keep_apart(mut lease: Lease, policy: Policy, strongest: IsolationKind) -> Lease {
    lease.spec.covered.extend(policy.covered);
    lease.spec.quiet = lease.spec.quiet.or(policy.quiet);
    lease.spec.isolation = match wanted_kind(&lease.spec, strongest) {
        IsolationKind::Guest => IsolationWanted::Guest,
        IsolationKind::Confined => IsolationWanted::Confined,
        IsolationKind::UserNamespace => IsolationWanted::UserNamespace,
        IsolationKind::Overlay => IsolationWanted::Overlay,
        IsolationKind::Plain => IsolationWanted::Plain,
    };
    lease
}

/// The boot that a leased trial asks for; none where it leaves that to the machine. A build asks for none.
pub fn wanted_boot(lease: &Lease) -> Option<WantedBoot> {
    match lease.task {
        LeaseTask::Trial | LeaseTask::Profile => WantedBoot::of(&lease.spec.levels),
        LeaseTask::Build => None,
    }
}

/// Checks a lease against the policy.
pub fn check_policy(policy: &Policy, lease: &Lease) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::new(RefusalReason::Policy, message));
    if !policy.users.is_empty() && !policy.users.contains(&lease.user) {
        return refuse(format!(
            "The owner of this machine allows no experiments of the user {}.",
            lease.user
        ));
    }
    let spec = &lease.spec;
    let shipped = [&spec.package]
        .into_iter()
        .chain(&spec.background)
        .map(|package| (&package.name, &package.sha256))
        .chain(
            spec.user_factors
                .iter()
                .map(|factor| (&factor.name, &factor.sha256)),
        );
    for (name, sha256) in shipped {
        let is_allowed = sha256
            .as_ref()
            .is_some_and(|sha256| policy.packages.contains(sha256));
        if !policy.packages.is_empty() && !is_allowed {
            return refuse(format!(
                "The owner of this machine allows no package or factor with the digest of {name}."
            ));
        }
    }
    if let Some(factor) = spec
        .levels
        .keys()
        .find(|factor| policy.forbidden_factors.contains(factor))
    {
        return refuse(format!(
            "The owner of this machine forbids the factor {factor}."
        ));
    }
    if lease.reboot && !policy.reboot {
        return refuse("The owner of this machine does not allow reboots.".to_owned());
    }
    if let Some(wanted) = wanted_boot(lease) {
        if !policy.reboot {
            return refuse("The owner of this machine does not allow reboots.".to_owned());
        }
        let own = BootState::read(&Host::here()).map(|state| state.own_release);
        let is_other = |release: &String| own.as_ref().ok() != Some(release);
        if wanted.release.as_ref().is_some_and(is_other) && !policy.kernels {
            return refuse(
                "The owner of this machine lets no experiment choose the kernel.".to_owned(),
            );
        }
        let is_allowed = |name: &&str| policy.boot_parameters.iter().any(|known| known == name);
        if let Some(name) = wanted.names().find(|name| !is_allowed(name)) {
            return refuse(format!(
                "The owner of this machine does not allow the boot parameter {name}."
            ));
        }
    }
    let limit = policy.package_bytes;
    if let Some(file) = lease
        .files
        .iter()
        .find(|file| limit > 0 && file.bytes > limit)
    {
        return refuse(format!(
            "A file of the attempt has {} bytes; the owner of this machine allows {limit}.",
            file.bytes
        ));
    }
    Ok(())
}
