//! Rewrites `protocol/*/*.schema.json` from the types: `cargo run -p datamill-protocol --example write_schemas`.

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocol");
    for (name, text) in datamill_protocol::write_schemas() {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
