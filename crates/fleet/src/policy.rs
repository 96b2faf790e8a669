//! What the owner of this machine allows.

use std::path::Path;

use datamill_protocol::{Lease, Policy, RefusalReason};

use crate::digest::is_digest;
use crate::durable::read_if_there;
use crate::machine::Refusal;

/// Reads a policy file; a missing one allows everything but reboots. The error names the file.
pub fn read_policy(path: &Path) -> Result<Policy, String> {
    let at = |cause: String| format!("{}: {cause}", path.display());
    let Some(text) = read_if_there(path).map_err(|error| at(error.to_string()))? else {
        return Ok(Policy::default());
    };
    let text = String::from_utf8(text).map_err(|error| at(error.to_string()))?;
    let policy: Policy = toml::from_str(&text).map_err(|error| {
        at(format!(
            "{}; it may hold users, packages, forbidden_factors (lists of texts), reboot (true or false) and package_bytes (a number)",
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
    Ok(policy)
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
