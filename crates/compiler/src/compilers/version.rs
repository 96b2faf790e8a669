//! A compiler's family and version: as a level such as `gcc-12`, in its own words, in the mark that it
//! leaves.

use std::fmt;

/// Versions of GCC before this one differ by their second number as others do by their first.
const FIRST_GCC_OF_ONE_NUMBER: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    Gcc,
    Clang,
}

/// A compiler as a level names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CompilerVersion {
    pub family: Family,
    pub major: u32,
    /// Of GCC before 5 alone.
    pub minor: Option<u32>,
}

impl CompilerVersion {
    /// Reads a level in its one spelling: `gcc-12`, `gcc-4.9`, `clang-16`.
    pub(crate) fn parse(level: &str) -> Option<Self> {
        let (family, number) = level.split_once('-')?;
        let family = match family {
            "gcc" => Family::Gcc,
            "clang" => Family::Clang,
            _ => return None,
        };
        let version = Self::of(family, number)?;
        (version.to_string() == level).then_some(version)
    }

    /// Reads what `--version` prints.
    pub(crate) fn of_answer(text: &str) -> Option<Self> {
        let line = text.lines().next()?;
        if let Some((_, rest)) = line.split_once("clang version ") {
            return Self::of(Family::Clang, rest);
        }
        // Other compilers print numbers, too; GCC alone is the foundation's.
        if !text.contains("Free Software Foundation") {
            return None;
        }
        Self::of(Family::Gcc, number_outside_brackets(line)?)
    }

    /// Reads a string of the section `.comment`, in which compilers leave their marks; `None` for
    /// those of linkers and of other compilers.
    pub(crate) fn of_mark(mark: &str) -> Option<Self> {
        if let Some(rest) = mark.strip_prefix("GCC: ") {
            return Self::of(Family::Gcc, number_outside_brackets(rest)?);
        }
        let (before, rest) = mark.split_once("clang version ")?;
        // "Linker: LLD …" has no such words; a distribution's name may stand before them.
        (!before.contains(':')).then(|| Self::of(Family::Clang, rest))?
    }

    fn of(family: Family, text: &str) -> Option<Self> {
        let number = |text: &str| -> Option<u32> {
            let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok().filter(|_| digits.len() <= 4)
        };
        let mut parts = text.split('.');
        let major = number(parts.next()?)?;
        let old = family == Family::Gcc && major < FIRST_GCC_OF_ONE_NUMBER;
        let minor = if old {
            Some(number(parts.next()?)?)
        } else {
            None
        };
        Some(Self {
            family,
            major,
            minor,
        })
    }

    /// What distributions add to the names of its programs: `12` of `g++-12`.
    pub(crate) fn number(self) -> String {
        match self.minor {
            None => self.major.to_string(),
            Some(minor) => format!("{}.{minor}", self.major),
        }
    }
}

impl fmt::Display for CompilerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.family {
            Family::Gcc => "gcc",
            Family::Clang => "clang",
        };
        write!(f, "{family}-{}", self.number())
    }
}

/// The first word that begins with a digit and is not in brackets, where distributions put their own.
fn number_outside_brackets(line: &str) -> Option<&str> {
    let mut depth = 0usize;
    line.split_whitespace().find(|word| {
        let outside = depth == 0 && !word.starts_with('(');
        depth += word.matches('(').count();
        depth = depth.saturating_sub(word.matches(')').count());
        outside && word.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_one_spelling() {
        for level in ["gcc-12", "gcc-4.9", "clang-16", "clang-3"] {
            assert_eq!(CompilerVersion::parse(level).unwrap().to_string(), level);
        }
        for text in [
            "",
            "gcc",
            "gcc-",
            "gcc-012",
            "gcc-12.2",
            "gcc-4",
            "cc-12",
            "icc-3",
            "clang-99999",
        ] {
            assert_eq!(CompilerVersion::parse(text), None, "{text}");
        }
    }

    #[test]
    fn compilers_tell_their_family_and_version() {
        let gcc = |line: &str| {
            CompilerVersion::of_answer(&format!(
                "{line}\nCopyright (C) 2022 Free Software Foundation, Inc.\n"
            ))
            .map(|version| version.to_string())
        };
        for (line, level) in [
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc-12"),
            ("gcc-11 (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", "gcc-11"),
            ("gcc (GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)", "gcc-4.8"),
            ("cc (GCC) 13.2.1 20230801", "gcc-13"),
        ] {
            assert_eq!(gcc(line).as_deref(), Some(level), "{line}");
        }
        let clang = |text| CompilerVersion::of_answer(text).map(|version| version.to_string());
        assert_eq!(
            clang("Debian clang version 14.0.6\nTarget: x").as_deref(),
            Some("clang-14")
        );
        assert_eq!(
            clang("clang version 17.0.0 (https://x)").as_deref(),
            Some("clang-17")
        );
        assert_eq!(clang("tcc version 0.9.27 (x86_64 Linux)"), None);
        assert_eq!(clang(""), None);
    }

    #[test]
    fn marks_of_compilers_are_told_from_those_of_linkers() {
        let of = |mark| CompilerVersion::of_mark(mark).map(|version| version.to_string());
        assert_eq!(
            of("GCC: (Debian 11.3.0-12) 11.3.0").as_deref(),
            Some("gcc-11")
        );
        assert_eq!(of("GCC: (GNU) 13.2.1 20230801").as_deref(), Some("gcc-13"));
        assert_eq!(
            of("Debian clang version 14.0.6").as_deref(),
            Some("clang-14")
        );
        for other in [
            "Linker: Debian LLD 14.0.6",
            "rustc version 1.88.0",
            "mold 1.10",
            "",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
