//! Function tables against what binutils says.

mod compiled;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use compiled::{TARGETS, counts_of_objdump, sizes_of_nm};
use datamill_elf::{FunctionTable, read_table};

const SOURCE: &str = "
static const int table[5] = {1, 2, 3, 4, 5};
void hear(int);
int work(int n) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) s += table[(i + j) % 5] * j; return s; }
double mean(const double *x, int n) { double s = 0.5; for (int i = 0; i < n; i++) s += x[i]; return s / n; }
int pick(int k) {
  switch (k) {
    case 0: hear(3); return 5; case 1: hear(1); return 7; case 2: hear(9); return 11; case 3: return 1;
    case 4: return work(4); case 5: return work(3); case 6: hear(2); return 8; default: return 0;
  }
}
volatile int heard;
__attribute__((noinline)) void hear(int x) { heard += x; }
int main(void) { double x[3] = {1, 2, 3}; return pick(heard) + (int)mean(x, 3); }
#if __STDC_HOSTED__ == 0
void _start(void) { heard = main(); for (;;) {} }
#endif
";

/// Compares sizes and instructions; returns how many functions were compared.
fn compare(
    table: &FunctionTable,
    sizes: &BTreeMap<String, u64>,
    counts: &BTreeMap<String, u32>,
) -> usize {
    let mut compared = 0;
    for function in &table.functions {
        let (Some(size), Some(count)) = (sizes.get(&function.symbol), counts.get(&function.symbol))
        else {
            continue;
        };
        // Two local functions of one name: binutils' listing cannot tell which is which.
        if *size == 0
            || function.name.ends_with(')') && function.name.contains(" (")
            || function.name.contains(" #")
        {
            continue;
        }
        assert_eq!(function.size, *size, "size of {}", function.symbol);
        assert_eq!(
            function.instructions, *count,
            "instructions of {}",
            function.symbol
        );
        compared += 1;
    }
    compared
}

#[test]
fn sizes_and_instructions_are_those_of_nm_and_objdump_on_each_architecture() {
    for target in TARGETS.iter().filter(|target| target.is_here()) {
        let program = target.compile(&[("program.c", SOURCE)], &[]);
        let table = program.table();
        assert_eq!(table.machine, target.machine);
        let sizes = sizes_of_nm(&program.tool("nm", &["-S", "program"]));
        let counts = counts_of_objdump(&program.tool("objdump", &["-d", "program"]), &sizes);
        assert!(compare(&table, &sizes, &counts) >= 5, "{target:?}");
        let named: std::collections::BTreeSet<&str> = table
            .functions
            .iter()
            .flat_map(|f| {
                [f.symbol.as_str()]
                    .into_iter()
                    .chain(f.aliases.iter().map(String::as_str))
            })
            .collect();
        for (name, size) in &sizes {
            assert!(
                *size == 0 || named.contains(name.as_str()),
                "{name} of {target:?} is missing"
            );
        }
    }
}

#[test]
fn functions_that_the_c_library_shows_are_those_of_nm_and_objdump() {
    let libraries = [
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/usr/aarch64-linux-gnu/lib/libm.so.6",
    ];
    for (path, prefix) in libraries.iter().zip(["", "aarch64-linux-gnu-"]) {
        if !Path::new(path).exists() {
            eprintln!("{path}: left out, since it is not installed");
            continue;
        }
        let tool = |name: &str, arguments: &[&str]| {
            let output = Command::new(format!("{prefix}{name}"))
                .args(arguments)
                .arg(path)
                .output()
                .expect("binutils");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        // Versions of symbols are printed behind an @, which the table's symbols do not have.
        let printed = tool("nm", &["-D", "-S"]);
        let plain: Vec<String> = printed
            .lines()
            .map(|line| line.split('@').next().unwrap_or("").to_owned())
            .collect();
        let mut sizes = sizes_of_nm(&plain.join("\n"));
        // Two versions of one name have one row each, which the listing cannot tell apart.
        let name = |line: &String| line.rsplit(' ').next().unwrap_or("").to_owned();
        sizes.retain(|symbol, _| plain.iter().filter(|line| name(line) == *symbol).count() == 1);
        let listing = tool("objdump", &["-d"]).replace("@@", "@");
        let listing: String = listing
            .lines()
            .map(|line| {
                match line
                    .strip_suffix(">:")
                    .and_then(|head| head.split_once('@'))
                {
                    Some((head, version)) if version != "plt" && !version.contains(['-', '+']) => {
                        format!("{head}>:\n")
                    }
                    _ => format!("{line}\n"),
                }
            })
            .collect();
        let counts = counts_of_objdump(&listing, &sizes);
        let table = read_table(&std::fs::read(path).expect("a library"), None).expect("a library");
        let compared = compare(&table, &sizes, &counts);
        assert!(compared > 200, "{compared} functions of {path}");
        // Without a symbol table the rest comes from the frames.
        assert_eq!(table.source, "frames");
        assert!(table.functions.len() > compared);
    }
}
