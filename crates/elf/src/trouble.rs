//! Why a file gives no table.

use std::fmt;

/// Why a file cannot be read as a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The file could not be opened or read.
    Unreadable(String),
    /// It is not an ELF file, or one whose headers contradict themselves.
    NotElf(String),
    /// An ELF file of a kind that holds no finished code: an object file or a core.
    NotLinked(&'static str),
    /// An architecture that is not understood.
    Machine(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(formatter, "cannot be read: {why}"),
            Self::NotElf(why) => write!(formatter, "cannot be read as an ELF file: {why}"),
            Self::NotLinked(kind) => {
                write!(formatter, "is {kind}, not a linked program or library")
            }
            Self::Machine(name) => write!(
                formatter,
                "is for {name}; understood are x86-64, i386, aarch64, arm and riscv64, little-endian"
            ),
        }
    }
}

impl std::error::Error for Trouble {}
