//! Building for machines of another architecture: what `setup.sh` is told, and whether it heeded it.

use std::collections::BTreeMap;
use std::ffi::CString;

use datamill_protocol::{FailureKind, Phase};

use crate::assignment::Assignment;
use crate::process::set_variable;
use crate::trouble::{Step, failure};

/// Variables that name the tools of a target, and what stands behind its triplet in their names.
const TOOLS: [(&str, &str); 9] = [
    ("CC", "gcc"),
    ("CXX", "g++"),
    ("AR", "ar"),
    ("RANLIB", "ranlib"),
    ("STRIP", "strip"),
    ("NM", "nm"),
    ("LD", "ld"),
    ("OBJCOPY", "objcopy"),
    ("FC", "gfortran"),
];

/// The machine that a package is built for, of another architecture than this one.
pub struct CrossTarget<'a> {
    arch: &'a str,
    triplet: &'a str,
}

impl<'a> CrossTarget<'a> {
    /// That of a build; none where it is for this machine.
    pub fn of(assignment: &'a Assignment<'_>) -> Option<Self> {
        Some(Self {
            arch: assignment.spec.build_for.as_deref()?,
            triplet: assignment.levels.compiler.cross.as_deref()?,
        })
    }

    /// Tells `setup.sh` what to build for and with: nothing of the package's own `env` goes before it.
    pub fn announce(&self, environment: &mut Vec<CString>) {
        for (variable, tool) in TOOLS {
            set_variable(environment, variable, &format!("{}-{tool}", self.triplet));
        }
        set_variable(environment, "CHOST", self.triplet);
        set_variable(environment, "CROSS_COMPILE", &format!("{}-", self.triplet));
        set_variable(environment, "DATAMILL_BUILD_FOR", self.arch);
        let libraries = format!("/usr/lib/{0}/pkgconfig:/usr/share/pkgconfig", self.triplet);
        set_variable(environment, "PKG_CONFIG_LIBDIR", &libraries);
    }

    /// Whether every executable that the build linked and left, by its path, is one of the target.
    pub fn check(&self, architectures: &BTreeMap<String, String>) -> Step<()> {
        let Some((path, arch)) = architectures
            .iter()
            .find(|(_, arch)| arch.as_str() != self.arch)
        else {
            return Ok(());
        };
        Err(failure(
            Phase::Setup,
            FailureKind::BadPackage,
            format!(
                "The package was to be built for {}, and setup.sh linked {path} for {arch}.",
                self.arch
            ),
            format!(
                "Change setup.sh so that it builds with $CC, $CXX and $AR, or ./configure --host=$CHOST, and removes programs that it built to execute itself; or write build_on = \"worker\". Here $CC was {}-gcc.",
                self.triplet
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: CrossTarget<'static> = CrossTarget {
        arch: "aarch64",
        triplet: "aarch64-linux-gnu",
    };

    #[test]
    fn a_script_is_told_the_tools_whatever_the_package_says() {
        let mut environment = vec![CString::new("CC=gcc").unwrap()];
        TARGET.announce(&mut environment);
        let told: Vec<&str> = environment.iter().map(|it| it.to_str().unwrap()).collect();
        assert_eq!(told[0], "CC=aarch64-linux-gnu-gcc");
        for wanted in ["CHOST=aarch64-linux-gnu", "DATAMILL_BUILD_FOR=aarch64"] {
            assert!(told.contains(&wanted), "{told:?}");
        }
    }

    #[test]
    fn a_program_of_another_machine_fails_the_build_and_is_named() {
        let of = |pairs: &[(&str, &str)]| {
            let owned = |(path, arch): &(&str, &str)| ((*path).to_owned(), (*arch).to_owned());
            TARGET.check(&pairs.iter().map(owned).collect())
        };
        assert!(of(&[("/a", "aarch64")]).is_ok() && of(&[]).is_ok());
        let told = of(&[("/a", "aarch64"), ("/bin/b", "x86_64")]).unwrap_err();
        assert!(
            told.message.contains("linked /bin/b for x86_64"),
            "{}",
            told.message
        );
    }
}
