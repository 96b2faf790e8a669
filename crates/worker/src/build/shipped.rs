//! Builds that are made on one worker and measured on others: packing and installing them.
//!
//! A stored build is packed as it lies in the cache, if plain files, folders and links can say all of it: what
//! an overlay marks as removed cannot be shipped, and then every worker builds for itself.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use datamill_protocol::{BuildFacts, IsolationKind, TrialLimits};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::lgetxattr;
use serde::{Deserialize, Serialize};

use super::shared::{BUILD_FACTS, LAYERS};
use crate::interrupt::Interrupt;
use crate::package::unpack_archive;
use crate::scratch::{UnfinishedFolder, remove_tree};
use crate::world::ROOT_LAYER;

/// Digits of a shipped build's digest that are its identity in records.
pub const IDENTITY_DIGITS: usize = 32;

/// Name of the artifact that a shipped build is.
pub const BUILD_ARTIFACT: &str = "build.tar.gz";
/// Member of the artifact, and file of an installed build, that tells where it is from.
const ORIGIN: &str = "origin.json";
/// How much larger than its package a build may be.
const BUILD_GROWTH: u64 = 16;

/// Where a shipped build is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Name of the worker that made it.
    pub worker: String,
    /// What stands before the names of the tools that made it, of a build for another architecture than the maker's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross: Option<String>,
    /// Whether it is a folder of its own, as in a plain world, rather than layers.
    pub is_plain: bool,
}

/// Packs a stored build; the error is one sentence that says what cannot be shipped.
pub fn pack_build(
    stored: &Path,
    package: &Path,
    origin: &Origin,
    target: &Path,
) -> Result<(), String> {
    let layers = stored.join(LAYERS);
    if !origin.is_plain {
        check_layers(&layers, package)?;
    }
    write_archive(stored, &layers, origin, target)
        .map_err(|error| format!("The build could not be packed: {error}."))
}

/// Checks that plain files tell all that the layers of a build do.
fn check_layers(layers: &Path, package: &Path) -> Result<(), String> {
    for entry in list(layers)? {
        let root = layers.join(&entry);
        if entry.as_os_str() == ROOT_LAYER {
            check_folder(&root, Path::new(""), package)?;
        } else if !list(&root)?.is_empty() {
            return Err(format!(
                "The build changes a file system of the host below {}, which cannot be shipped.",
                entry.display().to_string().replace("%2F", "/")
            ));
        }
    }
    Ok(())
}

fn check_folder(root: &Path, inner: &Path, package: &Path) -> Result<(), String> {
    for name in list(&root.join(inner))? {
        let place = inner.join(name);
        let path = root.join(&place);
        let kind = fs::symlink_metadata(&path)
            .map_err(|error| format!("{}: {error}.", path.display()))?
            .file_type();
        let cause = if kind.is_char_device() {
            "is removed by the build"
        } else if kind.is_block_device() || kind.is_fifo() || kind.is_socket() {
            "is not a file, folder or link"
        } else if kind.is_dir() && is_marked(&path, "redirect") {
            "is a folder that the build renamed"
        } else if kind.is_dir()
            && is_marked(&path, "opaque")
            && (package.join(&place).exists() || Path::new("/").join(&place).exists())
        {
            "is a folder that the build replaced"
        } else if kind.is_file() && is_marked(&path, "metacopy") {
            "is a file of which the build changed the rights only"
        } else {
            if kind.is_dir() {
                check_folder(root, &place, package)?;
            }
            continue;
        };
        return Err(format!(
            "/{} {cause}, which cannot be shipped.",
            place.display()
        ));
    }
    Ok(())
}

/// Whether an overlay gave a folder or file this mark, as root or in a user namespace.
fn is_marked(path: &Path, mark: &str) -> bool {
    ["trusted", "user"].iter().any(|space| {
        let mut value = [0u8; 256];
        lgetxattr(path, format!("{space}.overlay.{mark}"), &mut value[..]).is_ok()
    })
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let read = || -> io::Result<Vec<PathBuf>> {
        let mut names = fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| PathBuf::from(entry.file_name())))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    };
    read().map_err(|error| format!("{}: {error}.", folder.display()))
}

fn write_archive(stored: &Path, layers: &Path, origin: &Origin, target: &Path) -> io::Result<()> {
    let mut packed = GzEncoder::new(File::create(target)?, Compression::fast());
    let mut archive = tar::Builder::new(&mut packed);
    archive.follow_symlinks(false);
    archive.sparse(false);
    let text = serde_json::to_vec(origin)?;
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    archive.append_data(&mut header, ORIGIN, &text[..])?;
    archive.append_path_with_name(stored.join(BUILD_FACTS), BUILD_FACTS)?;
    archive.append_dir_all(LAYERS, layers)?;
    archive.finish()?;
    drop(archive);
    let file = packed.finish()?;
    file.sync_all()?;
    (&file).flush()
}

/// Removes builds from elsewhere that a killed worker left among its own.
pub fn remove_installed(builds: &Path) -> io::Result<()> {
    for entry in fs::read_dir(builds).into_iter().flatten().flatten() {
        if entry.path().join(ORIGIN).exists() {
            remove_tree(&entry.path())?;
        }
    }
    Ok(())
}

/// Puts a shipped build where a trial looks for its shared build; the error says why it is of no use here.
pub fn install_build(
    archive: &Path,
    identity: &str,
    place: &Path,
    kind: IsolationKind,
    limits: &TrialLimits,
    interrupt: &Interrupt,
) -> Result<Origin, String> {
    let builds = place.parent().ok_or("a build lies in no folder")?;
    let io_error = |error: io::Error| format!("{}: {error}", builds.display());
    let unfinished = UnfinishedFolder::make_in(builds).map_err(io_error)?;
    let limits = TrialLimits {
        package_bytes: limits.package_bytes.saturating_mul(BUILD_GROWTH),
        package_files: limits.package_files.saturating_mul(BUILD_GROWTH),
        ..limits.clone()
    };
    let file = File::open(archive).map_err(io_error)?;
    unpack_archive(file, unfinished.path(), &limits, interrupt).map_err(|told| told.message)?;
    let origin: Origin = read_json(&unfinished.path().join(ORIGIN))?;
    if origin.is_plain != (kind == IsolationKind::Plain) {
        return Err(format!(
            "{} made it in another kind of world than this host has",
            origin.worker
        ));
    }
    let facts_file = unfinished.path().join(BUILD_FACTS);
    let facts: BuildFacts = read_json(&facts_file)?;
    let facts = BuildFacts {
        id: identity.to_owned(),
        ..facts
    };
    let text = serde_json::to_vec_pretty(&facts).map_err(|error| error.to_string())?;
    fs::write(facts_file, text).map_err(io_error)?;
    remove_tree(place).map_err(io_error)?;
    unfinished.finish(place).map_err(io_error)?;
    Ok(origin)
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}
