//! The boot that a trial asks for by its levels.

use std::collections::BTreeMap;

use super::state::BootState;

/// The factor whose levels are added to the machine's command line.
pub const BOOT_PARAMETERS: &str = "boot_parameters";
/// Its level at which nothing is added.
pub const DEFAULT_PARAMETERS: &str = "default";
/// The factor whose levels are kernels that are installed, by release.
pub const KERNEL_RELEASE: &str = "kernel_release";
/// Longest text of a level.
const LONGEST: usize = 1000;

/// What a trial asks of the boot that it runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedBoot {
    /// Parameters to add to the machine's own, separated by single spaces; empty: none.
    pub parameters: String,
    /// Release of the kernel; absent: the machine's own.
    pub release: Option<String>,
}

impl WantedBoot {
    /// The boot that levels ask for; none where they leave it to the machine.
    pub fn of(levels: &BTreeMap<String, String>) -> Option<Self> {
        let parameters = levels.get(BOOT_PARAMETERS);
        let release = levels.get(KERNEL_RELEASE).cloned();
        if parameters.is_none() && release.is_none() {
            return None;
        }
        let parameters = parameters.filter(|level| *level != DEFAULT_PARAMETERS);
        Some(Self {
            parameters: parameters.cloned().unwrap_or_default(),
            release,
        })
    }

    /// Release of the kernel on a machine in some boot.
    pub fn release_on<'a>(&'a self, state: &'a BootState) -> &'a str {
        self.release.as_deref().unwrap_or(&state.own_release)
    }

    /// Whether a machine is in this boot. All of an experiment that varies it are borrowed, also those that add
    /// nothing: only so do they differ by the level alone, and not by what started the kernel.
    pub fn is_met(&self, state: &BootState) -> bool {
        state.is_borrowed
            && state.added == self.parameters
            && state.release == self.release_on(state)
    }

    /// Whether a machine may run a trial with these levels as it is; one that asks for no boot wants the
    /// machine's own.
    pub fn is_met_or_own(wanted: Option<&Self>, state: &BootState) -> bool {
        wanted.map_or(!state.is_borrowed, |wanted| wanted.is_met(state))
    }

    /// Names of the parameters that are added, as an owner allows them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parameters
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(|word| word.split('=').next().unwrap_or(word))
    }
}

/// Whether a text can be a level of `boot_parameters`; the error says what it can be.
pub fn check_parameters(level: &str) -> Result<(), String> {
    let is_word = |word: &str| {
        let first = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = |c: char| c.is_ascii_alphanumeric() || "_.,:;=/@+%*-".contains(c);
        word.starts_with(first) && word.chars().all(rest) && !word.starts_with("datamill.")
    };
    if level.len() <= LONGEST && level.split(' ').all(is_word) {
        return Ok(());
    }
    Err(
        "default, or parameters of the kernel such as mitigations=off, with one space between two"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, level): &(&str, &str)| ((*name).to_owned(), (*level).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn a_boot_is_met_by_exactly_its_parameters_and_kernel() {
        let own = BootState::parse("quiet", "6.1");
        let off = WantedBoot::of(&levels(&[(BOOT_PARAMETERS, "mitigations=off")])).unwrap();
        assert!(!off.is_met(&own));
        let state = |text: &str| BootState::parse(&own.line_with(text), "6.1");
        assert!(off.is_met(&state("mitigations=off")));
        assert!(!off.is_met(&state("mitigations=off nosmt")));
        assert!(!off.is_met(&state("")));
        let usual = WantedBoot::of(&levels(&[(BOOT_PARAMETERS, "default")])).unwrap();
        assert!(usual.is_met(&state("")) && !usual.is_met(&own));
        let other = WantedBoot::of(&levels(&[(KERNEL_RELEASE, "6.6")])).unwrap();
        assert!(!other.is_met(&state("")));
        assert!(other.is_met(&BootState::parse(&own.line_with(""), "6.6")));
    }

    #[test]
    fn a_trial_that_asks_for_no_boot_wants_the_machines_own() {
        let own = BootState::parse("quiet", "6.1");
        assert_eq!(WantedBoot::of(&levels(&[("aslr", "off")])), None);
        assert!(WantedBoot::is_met_or_own(None, &own));
        let borrowed = BootState::parse(&own.line_with(""), "6.1");
        assert!(!WantedBoot::is_met_or_own(None, &borrowed));
    }

    #[test]
    fn parameters_are_words_of_the_kernel_and_nothing_that_ends_them() {
        for level in ["default", "mitigations=off", "nosmt isolcpus=1-3,5"] {
            assert_eq!(check_parameters(level), Ok(()), "{level}");
        }
        for level in [
            "",
            " a",
            "a  b",
            "-- init=/x",
            "a\"b",
            "datamill.own=x",
            "a\nb",
        ] {
            assert!(check_parameters(level).is_err(), "{level:?}");
        }
        let wanted = WantedBoot::of(&levels(&[(BOOT_PARAMETERS, "nosmt isolcpus=1-3")])).unwrap();
        assert_eq!(wanted.names().collect::<Vec<_>>(), ["nosmt", "isolcpus"]);
    }
}
