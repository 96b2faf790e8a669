//! From the package that an experiment names to a checked, read-only tree in the cache.

mod checks;
mod env_file;
mod folder;
mod links;
mod unpack;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use datamill_protocol::digest::copy_and_hash;
use datamill_protocol::{FailureKind, PackageSpec, Phase, TrialLimits};

pub use checks::{COLLECT, PROFILE, RUN, SETUP, check_against_host};
pub use unpack::{has_member, is_pax_sparse, unpack_archive};

use crate::interrupt::Interrupt;
use crate::scratch::UnfinishedFolder;
use crate::trouble::{Step, failure, io_failure};

/// A package in the cache.
pub struct Package {
    /// Root of the unpacked tree.
    pub root: PathBuf,
    /// SHA-256 of the archive, or of the folder's names, modes and content.
    pub key: String,
    /// SHA-256 of the archive; absent for a folder.
    pub sha256: Option<String>,
    /// Whether it has a `setup.sh`.
    pub has_setup: bool,
    /// Whether it has a `collect.sh`.
    pub has_collect: bool,
    /// Whether it has a `profile.sh`.
    pub has_profile: bool,
    /// Variables of its `env` file.
    pub variables: Vec<(String, String)>,
    /// Things worth knowing about it.
    pub notices: Vec<String>,
}

/// Brings a package into the cache, unless it is there already, and checks it.
pub fn prepare_package(
    spec: &PackageSpec,
    cache: &Path,
    limits: &TrialLimits,
    interrupt: &Interrupt,
) -> Step<Package> {
    let wanted = spec.sha256.as_deref();
    let Stored { root, key, sha256 } =
        store_tree(Path::new(&spec.path), wanted, cache, limits, interrupt)?;
    let scripts = checks::check_scripts(&root)?;
    let variables = read_variables(&root)?;
    let notices = variables.iter().filter_map(literal_dollar_notice).collect();
    Ok(Package {
        root,
        key,
        sha256,
        has_setup: scripts.setup,
        has_collect: scripts.collect,
        has_profile: scripts.profile,
        variables,
        notices,
    })
}

/// A checked tree in the cache, read-only by agreement.
pub struct Stored {
    /// Its root.
    pub root: PathBuf,
    /// SHA-256 of the archive, or of the folder's names, modes and content.
    pub key: String,
    /// SHA-256 of the archive; absent for a folder.
    pub sha256: Option<String>,
}

/// Brings a folder or a `.tar.gz` into the cache, unless it is there already.
pub fn store_tree(
    path: &Path,
    wanted_sha256: Option<&str>,
    cache: &Path,
    limits: &TrialLimits,
    interrupt: &Interrupt,
) -> Step<Stored> {
    let packages = cache.join("packages");
    let (key, sha256) = match wanted_sha256 {
        Some(sha256) if packages.join(sha256).is_dir() => {
            (sha256.to_owned(), Some(sha256.to_owned()))
        }
        _ if path.is_dir() => (
            store_folder(path, cache, &packages, limits, interrupt)?,
            None,
        ),
        wanted => {
            let sha256 = store_archive(path, wanted, &packages, limits, interrupt)?;
            (sha256.clone(), Some(sha256))
        }
    };
    Ok(Stored {
        root: packages.join(&key),
        key,
        sha256,
    })
}

fn store_archive(
    path: &Path,
    wanted: Option<&str>,
    packages: &Path,
    limits: &TrialLimits,
    interrupt: &Interrupt,
) -> Step<String> {
    let opening = |error: io::Error| {
        failure(
            Phase::Unpack,
            FailureKind::BadPackage,
            format!("The package `{}` cannot be read: {error}.", path.display()),
            "Check the path of the package.",
        )
    };
    let mut archive = File::open(path).map_err(opening)?;
    let (_, found) = copy_and_hash(&mut archive, &mut io::sink()).map_err(opening)?;
    let found = found.to_string();
    if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
        return Err(failure(
            Phase::Unpack,
            FailureKind::BadPackage,
            format!(
                "The package `{}` has SHA-256 {found}, not {wanted}.",
                path.display()
            ),
            "The file changed since the experiment was planned: restore it, or plan the experiment anew.",
        ));
    }
    let target = packages.join(&found);
    if !target.is_dir() {
        let unfinished = unfinished_in(packages)?;
        let archive = File::open(path).map_err(opening)?;
        unpack::unpack_archive(archive, unfinished.path(), limits, interrupt)?;
        unfinished
            .finish(&target)
            .map_err(io_failure(Phase::Unpack, "storing the unpacked package"))?;
    }
    Ok(found)
}

fn store_folder(
    path: &Path,
    cache: &Path,
    packages: &Path,
    limits: &TrialLimits,
    interrupt: &Interrupt,
) -> Step<String> {
    let members = folder::list_folder(path, limits)?;
    let listings = cache.join("folders");
    let listing = listings.join(folder::hash_listing(path, &members));
    if let Ok(key) = fs::read_to_string(&listing)
        && packages.join(&key).is_dir()
    {
        return Ok(key);
    }
    let unfinished = unfinished_in(packages)?;
    let content = folder::copy_folder(path, &members, unfinished.path(), interrupt)?;
    links::check_links_stay_inside(unfinished.path())?;
    let key = format!("folder-{content}");
    let storing = || io_failure(Phase::Unpack, "storing the copy of the package");
    unfinished.finish(&packages.join(&key)).map_err(storing())?;
    fs::create_dir_all(&listings).map_err(storing())?;
    let draft = listing.with_extension(std::process::id().to_string());
    fs::write(&draft, &key)
        .and_then(|()| fs::rename(&draft, &listing))
        .map_err(storing())?;
    Ok(key)
}

fn unfinished_in(packages: &Path) -> Step<UnfinishedFolder> {
    UnfinishedFolder::make_in(packages).map_err(io_failure(
        Phase::Unpack,
        format!("making a folder in `{}`", packages.display()),
    ))
}

/// Tells users of shells, who expect otherwise, that nothing is substituted.
fn literal_dollar_notice((name, value): &(String, String)) -> Option<String> {
    value.contains('$').then(|| {
        format!("The package's env file sets {name} to a value with `$`, taken literally.")
    })
}

fn read_variables(root: &Path) -> Step<Vec<(String, String)>> {
    let text = match fs::read(root.join("env")) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        // A folder called env is content of the package, not its variables.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Ok(Vec::new()),
        Err(error) => {
            return Err(io_failure(Phase::Unpack, "reading the package's env file")(
                error,
            ));
        }
    };
    env_file::parse_env_file(&text).map_err(|cause| {
        failure(
            Phase::Unpack,
            FailureKind::BadPackage,
            format!("The package's env file cannot be used: {cause}."),
            "Write one NAME=VALUE on each line; comments start with #.",
        )
    })
}
