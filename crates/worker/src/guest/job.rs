//! What a guest is to do: written to a disk by the worker outside, read from it by the one inside.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use datamill_protocol::{BuildPolicy, IsolationWanted, TrialLimits, TrialSpec};
use serde::{Deserialize, Serialize};

use crate::assignment::Purpose;
use crate::package::{COLLECT, has_member};

/// Where the guest unpacks it.
pub const JOB_FOLDER: &str = "/var/job";
/// Where the guest's trial has its folders.
const TRIAL_FOLDER: &str = "/var/trial";
/// Member that tells what to do.
const JOB: &str = "job.json";
/// Member with the package, packed where it ends so.
const PACKAGE: &str = "package";
/// Ending of what is packed.
const PACKED: &str = ".tar.gz";
/// Blocks of a disk.
const BLOCK: u64 = 4096;

/// What a guest is to do.
#[derive(Debug, Serialize, Deserialize)]
pub enum GuestJob {
    /// Tell what it offers of each factor.
    Probe {
        /// Levels that are asked about, by factor name.
        asked: Vec<(String, String)>,
        /// Factors of an experiment, where the guest finds them.
        user: Vec<PathBuf>,
    },
    /// Run a trial.
    Trial {
        /// The trial.
        spec: Box<TrialSpec>,
        /// Digest of the build that is shipped with it.
        prebuilt: Option<String>,
        /// What is to come of it.
        purpose: Purpose,
    },
    /// Make the shared build of a trial.
    Build(Box<TrialSpec>),
}

/// Something that the experiment ships: where it is, and where the guest finds it.
struct Shipped {
    original: PathBuf,
    member: String,
}

/// Writes the disk of a job; the file is empty.
pub fn write_job(job: &GuestJob, shipped: &ShippedParts, disk: &File) -> io::Result<()> {
    let mut archive = tar::Builder::new(io::BufWriter::new(disk));
    archive.follow_symlinks(false);
    let text = serde_json::to_vec(job)?;
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o600);
    header.set_size(text.len() as u64);
    archive.append_data(&mut header, JOB, text.as_slice())?;
    for part in &shipped.0 {
        if part.original.is_dir() {
            archive.append_dir_all(&part.member, &part.original)?;
        } else {
            archive.append_path_with_name(&part.original, &part.member)?;
        }
    }
    let mut file = archive.into_inner()?.into_inner()?;
    file.flush()?;
    let bytes = file.stream_position()?;
    file.set_len(bytes.next_multiple_of(BLOCK))
}

/// Whether the package on a job's disk has a `collect.sh`, seen from outside the guest: it may not say so itself.
pub fn ships_collect(disk: &File, limits: &TrialLimits) -> io::Result<bool> {
    let packed = format!("{PACKAGE}{PACKED}");
    let script = Path::new(PACKAGE).join(COLLECT);
    let mut archive = tar::Archive::new(io::BufReader::with_capacity(1 << 18, disk));
    for entry in archive.entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        if path == Path::new(&packed) {
            return has_member(entry, COLLECT, limits);
        }
        if path == script {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is shipped with a job.
#[derive(Default)]
pub struct ShippedParts(Vec<Shipped>);

/// Factors of an experiment as the guest finds them, and what must be shipped for that.
pub fn place_factors(user: &[PathBuf]) -> (Vec<PathBuf>, ShippedParts) {
    let mut parts = ShippedParts::default();
    let placed = user
        .iter()
        .enumerate()
        .map(|(index, original)| {
            let ending = if original.is_dir() { "" } else { PACKED };
            let member = format!("factor-{index}{ending}");
            let place = Path::new(JOB_FOLDER).join(&member);
            let original = original.clone();
            parts.0.push(Shipped { original, member });
            place
        })
        .collect();
    (placed, parts)
}

impl ShippedParts {
    /// Adds a packed build, where the guest looks for it by its digest.
    pub fn add_build(&mut self, archive: &Path, sha256: &str) {
        self.0.push(Shipped {
            original: archive.to_owned(),
            member: format!("{sha256}{PACKED}"),
        });
    }
}

/// Reads the job from its disk, and unpacks what is shipped with it.
pub fn read_job(disk: &File) -> io::Result<GuestJob> {
    fs::create_dir_all(JOB_FOLDER)?;
    let mut archive = tar::Archive::new(io::BufReader::with_capacity(1 << 18, disk));
    archive.set_preserve_permissions(true);
    archive.set_preserve_mtime(true);
    archive.unpack(JOB_FOLDER)?;
    Ok(serde_json::from_slice(&fs::read(
        Path::new(JOB_FOLDER).join(JOB),
    )?)?)
}

/// The trial as the guest is to run it, and what must be shipped for that.
pub fn place_trial(spec: &TrialSpec) -> (TrialSpec, ShippedParts) {
    let mut parts = ShippedParts::default();
    let cache = Path::new(&spec.cache_dir).join("packages");
    let mut placed = spec.clone();
    let mut place = |name: &str, path: &mut String, sha256: &mut Option<String>| {
        let mut original = PathBuf::from(&*path);
        // Archives are thrown away once they are unpacked in the cache.
        if let Some(known) = sha256.as_ref().map(|digest| cache.join(digest))
            && !original.exists()
            && known.is_dir()
        {
            original = known;
        }
        let mut member = name.to_owned();
        if original.is_dir() {
            *sha256 = None;
        } else {
            member.push_str(PACKED);
        }
        *path = format!("{JOB_FOLDER}/{member}");
        parts.0.push(Shipped { original, member });
    };
    let package = &mut placed.package;
    place(PACKAGE, &mut package.path, &mut package.sha256);
    if let Some(background) = &mut placed.background {
        place("background", &mut background.path, &mut background.sha256);
    }
    for (index, factor) in placed.user_factors.iter_mut().enumerate() {
        let name = format!("factor-{index}");
        place(&name, &mut factor.path, &mut factor.sha256);
    }
    // Root of the guest: the guest is what keeps it from the host, and has nothing to cover.
    placed.isolation = IsolationWanted::Overlay;
    placed.covered.clear();
    placed.build = BuildPolicy::Fresh;
    placed.scratch_dir = format!("{TRIAL_FOLDER}/scratch");
    placed.cache_dir = format!("{TRIAL_FOLDER}/cache");
    placed.output_dir = format!("{TRIAL_FOLDER}/output");
    (placed, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::TemporaryFolder;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn example() -> TrialSpec {
        let text = include_str!("../../../../protocol/trials/examples/trial-spec.json");
        serde_json::from_str(text).unwrap()
    }

    /// Whether the disk of a trial with the package at `path` holds a `collect.sh`.
    fn is_told(path: &Path, sha256: Option<&str>) -> bool {
        let mut spec = example();
        spec.package.path = path.display().to_string();
        spec.package.sha256 = sha256.map(str::to_owned);
        spec.background = None;
        spec.user_factors.clear();
        let (placed, shipped) = place_trial(&spec);
        let job = GuestJob::Trial {
            spec: Box::new(placed),
            prebuilt: None,
            purpose: Purpose::Measurements,
        };
        let disk = path.with_extension("disk");
        write_job(&job, &shipped, &File::create(&disk).unwrap()).unwrap();
        ships_collect(&File::open(&disk).unwrap(), &spec.limits).unwrap()
    }

    #[test]
    fn a_jobs_disk_tells_whether_its_package_has_a_collect_script() {
        let folder = TemporaryFolder::new("job");
        for (name, script, has_collect) in [
            ("with", "collect.sh", true),
            ("without", "run.sh", false),
            ("below", "src/collect.sh", false),
        ] {
            let package = folder.path().join(name);
            let file = package.join(script);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "#!/bin/sh\n").unwrap();
            assert_eq!(is_told(&package, None), has_collect, "{name}");
            let packed = folder.path().join(format!("{name}.tar.gz"));
            let compressed = GzEncoder::new(File::create(&packed).unwrap(), Compression::fast());
            let mut archive = tar::Builder::new(compressed);
            archive.append_dir_all(".", &package).unwrap();
            archive.into_inner().unwrap().finish().unwrap();
            assert_eq!(is_told(&packed, Some("0")), has_collect, "{name}, packed");
        }
    }
}
