//! What this host offers of the build factors.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use datamill_protocol::{FactorOffer, FactorStage, MissingLevel};

use super::flags::NO_FLAGS;
use super::levels::{LINK_ORDERS, OPTIMIZATION_LEVELS, PIE_LEVELS, SYMBOL_SEEDS};
use crate::compilers::find_installed;
use crate::program::{DEFAULT_PATH, ProgramKind, identify_program};
use crate::wrapping::find_wrapped_programs;

const NO_COMPILER: &str = "no compiler is installed here";
const NO_GCC_OR_CLANG: &str = "neither gcc nor clang is installed here";
const NO_LINKER: &str = "no linker is installed here";

/// Build tools of a host, by what they are called.
#[derive(Debug, Default)]
struct Toolbox {
    names: BTreeSet<String>,
    /// Where they are.
    folders: Vec<PathBuf>,
}

/// What this host offers of `optimization`, `link_order`, `pie`, `symbol_seed`, `compiler_flags` and
/// `compiler_version`.
///
/// Compilers are asked for their versions, and which start-up files they have; nothing is compiled.
pub fn offer_factors() -> Vec<FactorOffer> {
    let mut offers = offer_with(&Toolbox::find(DEFAULT_PATH));
    offers.push(offer_versions(DEFAULT_PATH));
    offers
}

fn offer_with(tools: &Toolbox) -> Vec<FactorOffer> {
    let driver = tools.driver(|_| true);
    let has_linker = tools.has(ProgramKind::Linker);
    let offer = |name: &str, levels: &[&str], lacks: Option<&str>| match lacks {
        None => FactorOffer::of(name, FactorStage::Build, levels),
        Some(reason) => FactorOffer::none(name, FactorStage::Build, reason),
    };
    let compiles = driver.is_none().then_some(NO_COMPILER);
    let links = (!has_linker).then_some(NO_LINKER);
    let mut pie = offer("pie", &PIE_LEVELS, compiles.or(links));
    if let Some(driver) = driver.filter(|_| has_linker) {
        lose_levels(&mut pie, |level| match level {
            "on" => lacks_startup_file(&driver, "Scrt1.o"),
            _ => lacks_startup_file(&driver, "crt1.o"),
        });
    }
    let mut symbol_seed = offer("symbol_seed", &SYMBOL_SEEDS, compiles);
    if tools.driver(|name| !name.contains("clang")).is_none() {
        lose_levels(&mut symbol_seed, |level| {
            let reason = "clang takes no seed, and no other compiler is installed here";
            (level == "random").then(|| reason.to_owned())
        });
    }
    vec![
        offer("optimization", &OPTIMIZATION_LEVELS, compiles),
        offer("link_order", &LINK_ORDERS, links),
        pie,
        symbol_seed,
        offer("compiler_flags", &[NO_FLAGS], compiles),
    ]
}

/// Every gcc and clang in these folders; the host is at what its `cc` is.
fn offer_versions(search_path: &str) -> FactorOffer {
    let name = "compiler_version";
    let levels: Vec<String> = find_installed(search_path)
        .iter()
        .map(|installed| installed.version.to_string())
        .collect();
    if levels.is_empty() {
        return FactorOffer::none(name, FactorStage::Build, NO_GCC_OR_CLANG);
    }
    let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
    FactorOffer::of(name, FactorStage::Build, &levels)
}

/// Why this host has no such level; `None` when it has it, or the factor is another one.
pub fn lacks_compiler(name: &str, level: &str) -> Option<String> {
    if name != "compiler_version" {
        return None;
    }
    let installed = find_installed(DEFAULT_PATH);
    let levels: Vec<String> = installed
        .iter()
        .map(|installed| installed.version.to_string())
        .collect();
    if levels.iter().any(|known| known == level) {
        return None;
    }
    let there = match levels.is_empty() {
        true => NO_GCC_OR_CLANG.to_owned(),
        false => format!("it has {}", levels.join(", ")),
    };
    Some(format!("no such compiler is installed; {there}"))
}

impl Toolbox {
    fn find(search_path: &str) -> Self {
        let names = find_wrapped_programs(None, Path::new("/"), search_path);
        Self {
            names: names.unwrap_or_default(),
            folders: search_path.split(':').map(PathBuf::from).collect(),
        }
    }

    fn has(&self, kind: ProgramKind) -> bool {
        self.names
            .iter()
            .any(|name| identify_program(name.as_bytes()) == Some(kind))
    }

    /// A compiler whose name is accepted: the one that builds call by default, if there is one.
    fn driver(&self, is_accepted: impl Fn(&str) -> bool) -> Option<PathBuf> {
        let usual = ["cc", "gcc", "clang"].iter().map(|name| (*name).to_owned());
        let others = self.names.iter().cloned();
        let name = usual.chain(others).find(|name| {
            self.names.contains(name)
                && identify_program(name.as_bytes()) == Some(ProgramKind::Driver)
                && self.resolve(name).is_some_and(|real| {
                    is_accepted(&real.file_name().unwrap_or_default().to_string_lossy())
                })
        })?;
        self.path_of(&name)
    }

    fn path_of(&self, name: &str) -> Option<PathBuf> {
        let mut paths = self.folders.iter().map(|folder| folder.join(name));
        paths.find(|path| path.exists())
    }

    fn resolve(&self, name: &str) -> Option<PathBuf> {
        self.path_of(name)?.canonicalize().ok()
    }
}

/// Moves levels for which there is a reason to those that do not exist here.
fn lose_levels(offer: &mut FactorOffer, reason: impl Fn(&str) -> Option<String>) {
    for level in std::mem::take(&mut offer.levels) {
        match reason(&level) {
            None => offer.levels.push(level),
            Some(reason) => offer.missing.push(MissingLevel { level, reason }),
        }
    }
}

/// Why the compiler cannot link executables that start with this file; `None` when it can.
fn lacks_startup_file(driver: &Path, file: &str) -> Option<String> {
    let answer = Command::new(driver)
        .arg(format!("-print-file-name={file}"))
        .stdin(Stdio::null())
        .output();
    let name = driver.display();
    match answer {
        // A file that there is not is answered by its bare name.
        Ok(answer) if answer.stdout.starts_with(b"/") => None,
        Ok(_) => Some(format!(
            "{name} finds no {file} to link such executables with"
        )),
        Err(error) => Some(format!("{name} cannot be asked for {file}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolbox(names: &[&str]) -> Toolbox {
        Toolbox {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            folders: vec![PathBuf::from("/usr/bin")],
        }
    }

    fn named<'a>(offers: &'a [FactorOffer], name: &str) -> &'a FactorOffer {
        offers.iter().find(|offer| offer.name == name).unwrap()
    }

    #[test]
    fn a_host_with_a_compiler_offers_all_six_build_factors() {
        let offers = offer_factors();
        assert_eq!(offers.len(), 6);
        for offer in &offers {
            assert_eq!(offer.stage, FactorStage::Build);
            assert_eq!(offer.reason, "", "{}", offer.name);
            assert!(offer.missing.is_empty(), "{offer:?}");
        }
        assert_eq!(named(&offers, "pie").levels, PIE_LEVELS);
        assert_eq!(named(&offers, "symbol_seed").levels, SYMBOL_SEEDS);
        assert_eq!(named(&offers, "link_order").levels, LINK_ORDERS);
    }

    #[test]
    fn every_level_that_is_offered_is_understood() {
        for offer in offer_factors() {
            for level in &offer.levels {
                let parsed = crate::WrapperSettings::default().parse_level(&offer.name, level);
                assert_eq!(parsed, Some(Ok(())), "{} {level}", offer.name);
            }
        }
    }

    #[test]
    fn a_host_without_a_compiler_has_no_levels_and_says_so() {
        let offers = offer_with(&Toolbox::find("/nonexistent"));
        for offer in &offers {
            assert!(offer.levels.is_empty() && offer.missing.is_empty());
            assert!(!offer.reason.is_empty(), "{}", offer.name);
        }
        assert_eq!(named(&offers, "optimization").reason, NO_COMPILER);
    }

    #[test]
    fn a_compiler_without_a_linker_has_no_types_and_orders() {
        let offers = offer_with(&toolbox(&["cc", "gcc"]));
        assert_eq!(named(&offers, "pie").reason, NO_LINKER);
        assert_eq!(named(&offers, "link_order").reason, NO_LINKER);
        assert_eq!(named(&offers, "optimization").reason, "");
    }

    #[test]
    fn a_compiler_that_finds_no_startup_file_lacks_the_level() {
        let reason = lacks_startup_file(Path::new("/usr/bin/cc"), "no-such-crt1.o").unwrap();
        assert!(reason.contains("no-such-crt1.o"), "{reason}");
        assert!(lacks_startup_file(Path::new("/nonexistent/cc"), "crt1.o").is_some());
    }
}
