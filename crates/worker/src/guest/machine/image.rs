//! What a guest boots: a kernel, an initial memory disk with its modules, and a disk with its root.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use datamill_host::Host;
use datamill_protocol::digest::hash_parts;
use serde::Deserialize;

use crate::world::own_binary;

/// Names another folder with the image than the one in the state folder.
pub const IMAGE_VARIABLE: &str = "DATAMILL_GUEST_IMAGE";
/// Folder of the state folder with the image.
const FOLDER: &str = "guest-image";
/// Version of the folder's layout.
const SCHEMA: u32 = 1;

/// The image, as `datamill worker guest-image` makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestImage {
    /// The bootable kernel.
    pub kernel: PathBuf,
    /// Initial memory disk with the kernel's modules; the worker is added at every boot.
    pub modules: PathBuf,
    /// Read-only disk with the root.
    pub root: PathBuf,
    /// Release of the kernel.
    pub release: String,
    /// Changes when the image does.
    pub fingerprint: String,
}

/// The file `image.json`.
#[derive(Deserialize)]
struct ImageFacts {
    schema: u32,
    arch: String,
    kernel: String,
}

/// Finds the image; the error is one sentence without a full stop, with the remedy.
pub fn find_image() -> Result<GuestImage, String> {
    let folder = env::var_os(IMAGE_VARIABLE).map_or_else(
        || Host::here().state().join(FOLDER),
        |folder| PathBuf::from(&folder),
    );
    read_image(&folder)
}

fn read_image(folder: &Path) -> Result<GuestImage, String> {
    let facts = folder.join("image.json");
    let text = match fs::read(&facts) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!(
                "there is no image of a guest in {}; `datamill worker guest-image` makes one",
                folder.display()
            ));
        }
        Err(error) => return Err(format!("{}: {error}", facts.display())),
    };
    let told: ImageFacts =
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", facts.display()))?;
    let again = "make it again with `datamill worker guest-image`";
    if told.schema != SCHEMA {
        return Err(format!(
            "{} is of version {}, not {SCHEMA}; {again}",
            facts.display(),
            told.schema
        ));
    }
    let arch = datamill_host::read_host_facts().arch;
    if told.arch != arch {
        return Err(format!(
            "the image in {} is for {}, and this machine is {arch}; {again}",
            folder.display(),
            told.arch
        ));
    }
    let part = |name: &str| {
        let path = folder.join(name);
        match fs::metadata(&path) {
            Ok(data) if data.is_file() => Ok((path, data)),
            Ok(_) => Err(format!("{} is not a file; {again}", path.display())),
            Err(error) => Err(format!("{}: {error}; {again}", path.display())),
        }
    };
    let (kernel, kernel_data) = part("kernel")?;
    let (modules, modules_data) = part("modules")?;
    let (root, root_data) = part("root")?;
    let stamps: Vec<String> = [kernel_data, modules_data, root_data]
        .iter()
        .map(|data| format!("{} {:?}", data.len(), data.modified().ok()))
        .collect();
    Ok(GuestImage {
        kernel,
        modules,
        root,
        release: told.kernel,
        fingerprint: hash_parts(&[&stamps.join(" "), env!("CARGO_PKG_VERSION")]).to_string(),
    })
}

/// The initial memory disk that a guest boots: the modules, and this very program as its first process.
pub fn make_initramfs(image: &GuestImage) -> io::Result<Vec<u8>> {
    let worker = fs::read(own_binary()?)?;
    let mut archive = fs::read(&image.modules)?;
    // The kernel unpacks archives one after the other, each at a multiple of four bytes.
    pad(&mut archive);
    add_member(&mut archive, "init", 0o100_755, &worker);
    add_member(&mut archive, "TRAILER!!!", 0, &[]);
    Ok(archive)
}

/// Adds a member in the format `newc`.
fn add_member(archive: &mut Vec<u8>, name: &str, mode: u32, content: &[u8]) {
    let fields = [
        1,
        mode as usize,
        0,
        0,
        1,
        0,
        content.len(),
        0,
        0,
        0,
        0,
        name.len() + 1,
        0,
    ]
    .map(|field| format!("{field:08X}"));
    archive.extend_from_slice(b"070701");
    archive.extend_from_slice(fields.concat().as_bytes());
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    pad(archive);
    archive.extend_from_slice(content);
    pad(archive);
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::TemporaryFolder;

    #[test]
    fn a_missing_image_is_refused_with_the_remedy() {
        let folder = TemporaryFolder::new("guest-image");
        let refused = read_image(folder.path()).unwrap_err();
        assert!(refused.contains("datamill worker guest-image"), "{refused}");
    }

    #[test]
    fn an_image_of_another_architecture_is_refused() {
        let folder = TemporaryFolder::new("guest-image");
        fs::write(
            folder.path().join("image.json"),
            r#"{"schema": 1, "arch": "vax", "kernel": "1"}"#,
        )
        .unwrap();
        let refused = read_image(folder.path()).unwrap_err();
        assert!(refused.contains("is for vax"), "{refused}");
    }

    #[test]
    fn an_image_without_its_kernel_is_refused() {
        let folder = TemporaryFolder::new("guest-image");
        let arch = datamill_host::read_host_facts().arch;
        let facts = format!(r#"{{"schema": 1, "arch": "{arch}", "kernel": "1"}}"#);
        fs::write(folder.path().join("image.json"), facts).unwrap();
        let refused = read_image(folder.path()).unwrap_err();
        assert!(refused.contains("kernel"), "{refused}");
    }

    #[test]
    fn members_lie_at_multiples_of_four_bytes() {
        let mut archive = Vec::new();
        add_member(&mut archive, "init", 0o100_755, b"12345");
        assert_eq!(archive.len() % 4, 0);
        assert!(archive.starts_with(b"07070100000001000081ED"));
    }
}
