//! Prints the table of a program as JSON, or with `--time` how long reading it takes.

use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: functions PROGRAM [--time]");
        std::process::exit(2);
    };
    let path = std::path::Path::new(path);
    if rest.is_empty() {
        match datamill_elf::read_path(path) {
            Ok(table) => println!(
                "{}",
                serde_json::to_string(&table).expect("a table is JSON")
            ),
            Err(trouble) => {
                eprintln!("{}: {trouble}", path.display());
                std::process::exit(2);
            }
        }
        return;
    }
    for _ in 0..20 {
        let start = Instant::now();
        let table = datamill_elf::read_path(path).expect("a program");
        let read = start.elapsed();
        let json = serde_json::to_vec(&table).expect("a table is JSON");
        let instructions: u64 = table
            .functions
            .iter()
            .map(|function| u64::from(function.instructions))
            .sum();
        println!(
            "{} functions, {instructions} instructions: read {:.1} ms, {} bytes of JSON {:.1} ms",
            table.functions.len(),
            read.as_secs_f64() * 1e3,
            json.len(),
            (start.elapsed() - read).as_secs_f64() * 1e3
        );
    }
}
