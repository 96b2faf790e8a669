//! Whether this machine has guests, found by booting one; once for each boot of the host.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use datamill_host::Host;
use datamill_protocol::{Accelerator, FactorOffer, GuestFacts};
use rustix::fs::fstatvfs;
use serde::{Deserialize, Serialize};

use super::inside::GuestReport;
use super::job::{GuestJob, place_factors, write_job};
use super::result::read_result;
use crate::guest::machine::{
    Boot, Emulator, Ended, GuestImage, Machine, find_emulator, find_image, run_guest,
};
use crate::interrupt::Interrupt;
use crate::scratch::remove_tree;

/// File of the state folder with what was found.
const FOUND: &str = "guest-probe.json";
/// Time to boot on the host's processor; a broken `/dev/kvm` often lets guests hang.
const KVM_BOOT: Duration = Duration::from_secs(15);
/// Time to boot on a busy host without it; an idle one needs two seconds.
const TCG_BOOT: Duration = Duration::from_secs(120);
/// Time to answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Size of the disk for the answer.
const ANSWER_BYTES: u64 = 8 << 20;
/// Blocks of a disk.
const BLOCK: u64 = 4096;
/// Smallest and largest memory of a guest, in MiB; in between it is half of the host's.
const LEAST_MEMORY_MIB: u64 = 256;
const MOST_MEMORY_MIB: u64 = 4096;
/// Most processors of a guest.
const MOST_PROCESSORS: u32 = 64;

/// Guests as this machine has them.
pub struct Guests {
    /// What they boot.
    pub image: GuestImage,
    /// What emulates them.
    pub emulator: Emulator,
    /// What they are made of.
    pub machine: Machine,
    /// What they offer of each factor.
    pub offers: Vec<FactorOffer>,
}

impl Guests {
    /// What a record says of them.
    pub fn facts(&self) -> GuestFacts {
        GuestFacts {
            accelerator: self.machine.accelerator,
            kernel: self.image.release.clone(),
            processors: self.machine.processors,
            memory_bytes: self.machine.memory_mib << 20,
        }
    }

    /// Time until a guest must have come up.
    pub fn boot_timeout(&self) -> Duration {
        boot_timeout(self.machine.accelerator)
    }
}

#[derive(Serialize, Deserialize)]
struct Found {
    /// Changes with the host's boots, the image and the worker.
    key: String,
    accelerator: Accelerator,
    offers: Vec<FactorOffer>,
}

/// Looks for guests; the error is one sentence without a full stop that says what is missing.
pub fn find_guests(interrupt: &Interrupt) -> Result<Guests, String> {
    let emulator = find_emulator()?;
    let image = find_image()?;
    let host = Host::here();
    let key = format!("{} {}", host.boot_id(), image.fingerprint);
    let place = host.state().join(FOUND);
    if let Some(found) = read_found(&place).filter(|found| found.key == key) {
        let machine = describe_machine(found.accelerator)?;
        return Ok(Guests {
            image,
            emulator,
            machine,
            offers: found.offers,
        });
    }
    let mut reasons = Vec::new();
    for accelerator in [Accelerator::Kvm, Accelerator::Tcg] {
        if accelerator == Accelerator::Kvm && !kvm_can_be_opened() {
            continue;
        }
        let machine = describe_machine(accelerator)?;
        let question = Question {
            asked: &[],
            user: &[],
        };
        match ask_guest(&image, &emulator, machine, question, interrupt) {
            Ok(offers) => {
                let found = Found {
                    key,
                    accelerator,
                    offers: offers.clone(),
                };
                keep_found(&place, &found).ok();
                return Ok(Guests {
                    image,
                    emulator,
                    machine,
                    offers,
                });
            }
            Err(reason) => reasons.push(reason),
        }
    }
    Err(format!(
        "a guest does not boot here: {}",
        reasons.join("; ")
    ))
}

fn boot_timeout(accelerator: Accelerator) -> Duration {
    match accelerator {
        Accelerator::Kvm => KVM_BOOT,
        Accelerator::Tcg => TCG_BOOT,
    }
}

fn kvm_can_be_opened() -> bool {
    File::options()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .is_ok()
}

fn describe_machine(accelerator: Accelerator) -> Result<Machine, String> {
    let host = datamill_host::read_host_facts();
    let memory_mib = (host.memory_bytes >> 21).min(MOST_MEMORY_MIB);
    if memory_mib < LEAST_MEMORY_MIB {
        return Err(format!(
            "a guest gets half of the memory, at least {LEAST_MEMORY_MIB} MiB, and half is {memory_mib} MiB here"
        ));
    }
    Ok(Machine {
        accelerator,
        // A translator runs them one after the other in a single thread.
        processors: match accelerator {
            Accelerator::Kvm => host.cores.clamp(1, MOST_PROCESSORS),
            Accelerator::Tcg => 1,
        },
        memory_mib,
    })
}

/// What a guest offers of each factor, of levels that are asked about and of an experiment's own factors.
pub fn offer_in_guest(
    asked: &[(String, String)],
    user: &[PathBuf],
    interrupt: &Interrupt,
) -> Result<Vec<FactorOffer>, String> {
    let guests = find_guests(interrupt)?;
    let is_known = asked.iter().all(|(name, level)| {
        guests
            .offers
            .iter()
            .find(|offer| offer.name == *name)
            .is_some_and(|offer| {
                offer.levels.contains(level)
                    || offer.missing.iter().any(|missing| missing.level == *level)
            })
    });
    if is_known && user.is_empty() {
        return Ok(guests.offers);
    }
    let question = Question { asked, user };
    ask_guest(
        &guests.image,
        &guests.emulator,
        guests.machine,
        question,
        interrupt,
    )
}

/// What a guest is asked about besides what it offers of its own.
#[derive(Clone, Copy)]
struct Question<'a> {
    asked: &'a [(String, String)],
    user: &'a [PathBuf],
}

/// Boots a guest that only tells what it offers; nothing of any package is in it.
fn ask_guest(
    image: &GuestImage,
    emulator: &Emulator,
    machine: Machine,
    question: Question<'_>,
    interrupt: &Interrupt,
) -> Result<Vec<FactorOffer>, String> {
    let folder = std::env::temp_dir().join(format!("datamill-guest-{}", std::process::id()));
    let told = ask_guest_in(&folder, image, emulator, machine, question, interrupt);
    remove_tree(&folder).ok();
    told.map_err(|error| format!("{}: {error}", name_accelerator(machine.accelerator)))
}

fn name_accelerator(accelerator: Accelerator) -> &'static str {
    match accelerator {
        Accelerator::Kvm => "with KVM",
        Accelerator::Tcg => "emulated",
    }
}

fn ask_guest_in(
    folder: &Path,
    image: &GuestImage,
    emulator: &Emulator,
    machine: Machine,
    question: Question<'_>,
    interrupt: &Interrupt,
) -> io::Result<Vec<FactorOffer>> {
    let disks = Disks::make(folder, ANSWER_BYTES)?;
    let (user, shipped) = place_factors(question.user);
    let asked = question.asked.to_vec();
    write_job(&GuestJob::Probe { asked, user }, &shipped, &disks.job)?;
    let boot = Boot {
        image,
        emulator,
        machine,
        stage: &disks.stage,
        job: &disks.job_to_read()?,
        result: &disks.result,
        result_bytes: disks.result_bytes,
        boot_timeout: boot_timeout(machine.accelerator),
        timeout: ANSWER,
    };
    let seen = run_guest(&boot, interrupt)?;
    let other = |said: &str| io::Error::other(said.to_owned());
    match seen.ended {
        Ended::Off => {}
        Ended::NotUp(cause) | Ended::Broken(cause) => return Err(other(&cause)),
        Ended::Overdue => return Err(other("it came up and did not answer")),
        Ended::Interrupted => return Err(other("the worker was interrupted")),
    }
    let report = read_result(&disks.result_to_read()?, &disks.output, ANSWER_BYTES)
        .map_err(|cause| other(&format!("{cause:?}; {}", seen.last_words)))?;
    match serde_json::from_slice(&report)? {
        GuestReport::Offers(offers) => Ok(offers),
        GuestReport::Refused(cause) => Err(other(&cause)),
        GuestReport::Record(_) => Err(other("it answered something else")),
    }
}

fn read_found(place: &Path) -> Option<Found> {
    serde_json::from_slice(&fs::read(place).ok()?).ok()
}

fn keep_found(place: &Path, found: &Found) -> io::Result<()> {
    let folder = place.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".{FOUND}.{}", std::process::id()));
    fs::write(&draft, serde_json::to_vec(found)?)?;
    fs::rename(draft, place)
}

/// The disks of a guest, and its other folders.
pub struct Disks {
    /// Disk with the job, to be written.
    pub job: File,
    /// Disk for the result.
    pub result: File,
    /// Size of that disk, in bytes.
    pub result_bytes: u64,
    /// Empty folder for the emulator's root.
    pub stage: PathBuf,
    /// Empty folder for the files that come back.
    pub output: PathBuf,
    folder: PathBuf,
}

impl Disks {
    /// Makes them in a folder.
    pub fn make(folder: &Path, result_bytes: u64) -> io::Result<Self> {
        let [stage, output] = ["stage", "output"].map(|name| folder.join(name));
        fs::create_dir_all(&stage)?;
        fs::create_dir_all(&output)?;
        let job = File::create_new(folder.join("job"))?;
        let result = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.join("result"))?;
        // Whatever a guest writes there, it does not fill the disk of the host.
        let space = fstatvfs(&result)?;
        let half = space.f_bavail.saturating_mul(space.f_frsize) / 2;
        let result_bytes = result_bytes.min(half) / BLOCK * BLOCK;
        result.set_len(result_bytes)?;
        Ok(Self {
            job,
            result,
            result_bytes,
            stage,
            output,
            folder: folder.to_owned(),
        })
    }

    /// The disk with the job, as the guest gets it: it cannot be written.
    pub fn job_to_read(&self) -> io::Result<File> {
        File::open(self.folder.join("job"))
    }

    /// The disk with the result from its beginning.
    pub fn result_to_read(&self) -> io::Result<File> {
        File::open(self.folder.join("result"))
    }
}
