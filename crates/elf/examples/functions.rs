//! Prints the table of a program as JSON, or with `--time` how long reading it takes.

use std::io::Write;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: functions PROGRAM [--time]");
        std::process::exit(2);
    };
    let path = std::path::Path::new(path);
    let mut out = std::io::stdout();
    if rest.is_empty() {
        match datamill_elf::read_path(path) {
            Ok(table) => {
                let json = serde_json::to_vec(&table).expect("a table is JSON");
                out.write_all(&json).expect("an output");
            }
            Err(trouble) => {
                eprintln!("{}: {trouble}", path.display());
                std::process::exit(2);
            }
        }
        return;
    }
    for _ in 0..20 {
        let start = Instant::now();
        let functions = datamill_elf::read_path_rows(path, |rows| rows.functions().count());
        let read = start.elapsed();
        println!(
            "{} functions: {:.1} ms",
            functions.expect("a program"),
            read.as_secs_f64() * 1e3
        );
    }
}
