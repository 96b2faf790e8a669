//! Programs compiled for a test, and what binutils says about them.
#![allow(dead_code)]

pub mod source;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use datamill_elf::{Function, FunctionTable, read_path};

/// A compiler with the tools that read what it makes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub machine: &'static str,
    pub prefix: &'static str,
    pub options: &'static [&'static str],
}

pub const TARGETS: [Target; 4] = [
    Target {
        machine: "x86-64",
        prefix: "",
        options: &[],
    },
    // Without a C library of 32 bits: what needs none.
    Target {
        machine: "i386",
        prefix: "",
        options: &["-m32", "-ffreestanding", "-nostdlib", "-nostdinc"],
    },
    Target {
        machine: "aarch64",
        prefix: "aarch64-linux-gnu-",
        options: &[],
    },
    Target {
        machine: "x86-64",
        prefix: "",
        options: &["-static", "-no-pie"],
    },
];

impl Target {
    /// Whether the compiler is here; says why a part of a test is left out if not.
    pub fn is_here(&self) -> bool {
        let here = Command::new(format!("{}gcc", self.prefix))
            .arg("--version")
            .output()
            .is_ok();
        if !here {
            eprintln!(
                "{}: left out, since {}gcc is not installed",
                self.machine, self.prefix
            );
        }
        here
    }

    /// Compiles `sources` to a program.
    pub fn compile(&self, sources: &[(&str, &str)], options: &[&str]) -> Program {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("datamill-elf-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, text) in sources {
            std::fs::write(folder.join(name), text).expect("a source");
        }
        let output = Command::new(format!("{}gcc", self.prefix))
            .current_dir(&folder)
            .args(["-O2", "-o", "program"])
            .args(self.options)
            .args(options)
            .args(sources.iter().map(|(name, _)| name))
            .output()
            .expect("gcc starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Program {
            folder,
            target: *self,
        }
    }
}

/// Those of `targets` whose compiler is here: one at least, so that no test passes without having tried anything.
pub fn those_here(targets: &[Target]) -> Vec<Target> {
    let here: Vec<Target> = targets
        .iter()
        .filter(|target| target.is_here())
        .copied()
        .collect();
    assert!(!here.is_empty(), "no compiler for any of {targets:?}");
    here
}

/// A compiled program; its folder goes with it.
pub struct Program {
    pub folder: PathBuf,
    pub target: Target,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Program {
    pub fn path(&self) -> PathBuf {
        self.folder.join("program")
    }

    pub fn table(&self) -> FunctionTable {
        read_path(&self.path()).expect("a program")
    }

    pub fn tool(&self, name: &str, arguments: &[&str]) -> String {
        let output = Command::new(format!("{}{name}", self.target.prefix))
            .current_dir(&self.folder)
            .args(arguments)
            .output()
            .expect("binutils");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Sizes of functions by symbol, as `nm -S` prints them.
pub fn sizes_of_nm(printed: &str) -> BTreeMap<String, u64> {
    printed
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, size, kind, name] = fields.as_slice() else {
                return None;
            };
            let size = u64::from_str_radix(size, 16).ok()?;
            "tTwWi".contains(kind).then(|| ((*name).to_owned(), size))
        })
        .collect()
}

/// Counts of instructions by symbol, as `objdump -d` prints them, up to the size that `nm` gives.
pub fn counts_of_objdump(printed: &str, sizes: &BTreeMap<String, u64>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    let mut current: Option<(String, u64, u64)> = None;
    for line in printed.lines() {
        if let Some((address, name)) = line
            .strip_suffix(">:")
            .and_then(|line| line.split_once(" <"))
        {
            let size = sizes.get(name).copied();
            let start = u64::from_str_radix(address, 16).expect("an address");
            // A label inside a function ends nothing.
            if size.is_none() && current.as_ref().is_some_and(|(_, _, end)| start < *end) {
                continue;
            }
            current = size.map(|size| (name.to_owned(), start, start + size));
        } else if let (Some((name, _, end)), Some((address, rest))) =
            (&current, line.split_once(':'))
        {
            let Ok(address) = u64::from_str_radix(address.trim(), 16) else {
                continue;
            };
            // A line without a mnemonic goes on with the bytes of the instruction before it.
            if address < *end && rest.trim_start().contains('\t') {
                *counts.entry(name.clone()).or_insert(0) += 1;
            }
        }
    }
    counts
}

pub fn function<'t>(table: &'t FunctionTable, name: &str) -> &'t Function {
    table
        .functions
        .iter()
        .find(|function| function.name == name)
        .unwrap_or_else(|| panic!("no function {name}"))
}
