//! This program as a member of a fleet: what the agent asks of it, and the leased trial itself.

mod leased;

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use datamill_compiler::{CrossCompiler, find_cross_compilers, is_listed_factor};
use datamill_fleet::{
    FleetFolder, JoinRequest, Machine, Refusal, RunOptions, ServeOptions, agent_arguments,
    become_worker, free_bytes, join, run_leased, serve,
};
use datamill_host::{
    BOOT_PARAMETERS, Host, InventoryParts, KERNEL_RELEASE, WantedBoot, check_boots, list_kernels,
    offer_with_boots, read_inventory,
};
use datamill_probe::counters_can_be_read;
use datamill_protocol::{
    CrossCompilerVersion, FactorOffer, GuestOffer, Inventory, IsolationKind, IsolationWanted,
    Policy, RefusalReason, TrialSpec,
};
use rustix::fs::Mode;
use rustix::process::umask;

use crate::factors;
use crate::guest::find_guests;
use crate::host::{check_folders, find_isolation, restore_quietly};
use crate::interrupt::Interrupt;
use crate::trial::check_spec;
use crate::world::SEARCH_PATH;
use leased::make_attempt;

/// How this machine serves a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetOptions {
    /// State folder; absent: the one of this host.
    pub state: Option<PathBuf>,
    /// Leave when an attempt has its receipt.
    pub once: bool,
    /// Whether an attempt has ended already; the runner says so.
    pub has_run: bool,
}

impl FleetOptions {
    fn open_folder(&self) -> Result<FleetFolder, String> {
        let state = self
            .state
            .clone()
            .unwrap_or_else(|| Host::here().state().to_owned());
        FleetFolder::open(&state)
            .map_err(|error| format!("the state folder {}: {error}", state.display()))
    }

    fn serving(&self) -> ServeOptions {
        ServeOptions {
            once: self.once,
            has_run: self.has_run,
        }
    }
}

/// Enrols this machine, unless it has joined before, and serves; returns the exit status, or one sentence.
pub fn join_fleet(options: &FleetOptions, request: &JoinRequest) -> Result<u8, String> {
    let folder = options.open_folder()?;
    let identity = join(&folder, &ThisMachine, request)?;
    eprintln!(
        "datamill-worker: this machine is {} ({}) of {}; its state is in {}",
        identity.name,
        identity.worker_id,
        identity.url,
        folder.state().display()
    );
    Ok(serve(&folder, &ThisMachine, options.serving()))
}

/// Serves trials as the worker that this machine has joined as.
pub fn serve_trials(options: &FleetOptions) -> Result<u8, String> {
    let folder = options.open_folder()?;
    Ok(serve(&folder, &ThisMachine, options.serving()))
}

/// What this machine tells its fleet of itself.
pub fn fleet_inventory(options: &FleetOptions) -> Inventory {
    let state = options
        .state
        .clone()
        .unwrap_or_else(|| Host::here().state().to_owned());
    // The folder itself need not exist yet.
    let existing = state.ancestors().find(|path| path.is_dir());
    ThisMachine.inventory(existing.unwrap_or(Path::new("/")))
}

/// Runs the trial that the agent took, and becomes the agent again where it has been that.
pub fn run_leased_trial(options: &FleetOptions, run: RunOptions) -> Result<u8, String> {
    umask(Mode::from_raw_mode(0o022));
    let interrupt = Interrupt::listen().map_err(|error| error.to_string())?;
    let folder = options.open_folder()?;
    let ended = run_leased(&folder, run, interrupt.as_fd(), |open, worker| {
        make_attempt(open, worker, &interrupt)
    });
    if let Err(error) = &ended {
        eprintln!("datamill-worker: {error}");
    }
    if run.is_child || run.is_for_boot {
        return Ok(u8::from(ended.is_err()));
    }
    let serving = ServeOptions {
        has_run: ended.is_ok(),
        ..options.serving()
    };
    Err(become_worker(&agent_arguments(&folder, serving)).to_string())
}

/// The machine that this process runs on.
struct ThisMachine;

impl Machine for ThisMachine {
    fn inventory(&self, cache: &Path) -> Inventory {
        read_inventory(InventoryParts {
            worker_version: env!("CARGO_PKG_VERSION").to_owned(),
            isolation: self.isolation(),
            cross: list_cross_compilers(),
            counters: counters_can_be_read(),
            guest: offer_guests(),
            factors: offer_in_fleet(),
            free_disk_bytes: free_bytes(cache).unwrap_or(0),
            known_compilers: cache
                .ends_with("fleet/cache")
                .then(|| cache.join("compilers.json")),
        })
    }

    fn has_factor(&self, name: &str) -> bool {
        factors::is_built_in(name)
    }

    fn check_spec(&self, spec: &TrialSpec, is_built: bool) -> Result<(), Refusal> {
        let refuse = |cause: String| Refusal::new(RefusalReason::Factor, format!("{cause}."));
        check_spec(spec).map_err(refuse)?;
        if spec.isolation == IsolationWanted::Guest {
            return check_guest_levels(spec).map_err(refuse);
        }
        if let Some(wanted) = WantedBoot::of(&spec.levels) {
            check_boot(&wanted).map_err(refuse)?;
        }
        for (name, level) in &spec.levels {
            // Of these a build elsewhere, or one for elsewhere, needs no compiler of this machine's own.
            if is_listed_factor(name) && (is_built || spec.build_for.is_some()) {
                continue;
            }
            let is_of_boot = name == BOOT_PARAMETERS || name == KERNEL_RELEASE;
            if is_of_boot || spec.user_factors.iter().any(|factor| factor.name == *name) {
                continue;
            }
            factors::check_level(name, level).map_err(|cause| {
                refuse(format!("This host has no level {level} of {name}: {cause}"))
            })?;
        }
        Ok(())
    }

    fn isolation(&self) -> IsolationKind {
        // A kernel does not change its mind.
        static FOUND: OnceLock<IsolationKind> = OnceLock::new();
        *FOUND.get_or_init(find_isolation)
    }

    fn check_folders(&self, spec: &TrialSpec, policy: &Policy) -> Result<(), Refusal> {
        if spec.needs.folders.is_empty() || spec.isolation == IsolationWanted::Guest {
            return Ok(());
        }
        check_folders(spec, &policy.covered).map_err(|cause| {
            let message = format!("On this machine {cause}.");
            Refusal::new(RefusalReason::Policy, message)
        })
    }

    fn check_factors(&self, spec: &TrialSpec, policy: &Policy) -> Result<(), Refusal> {
        if policy.privileged || spec.user_factors.is_empty() {
            return Ok(());
        }
        let refuse = |reason, cause: String| Err(Refusal::new(reason, cause));
        match factors::find_host_factor(spec) {
            Err(failure) => refuse(RefusalReason::File, failure.message),
            Ok(Some(name)) => refuse(
                RefusalReason::Policy,
                format!(
                    "The factor {name} has all rights of root, and the owner of this machine gives those to nobody."
                ),
            ),
            Ok(None) => Ok(()),
        }
    }

    fn restore_host(&self) -> Result<(), String> {
        restore_quietly()
    }
}

/// Compilers for machines of other architectures; none is installed while a worker serves, for all that it says.
fn list_cross_compilers() -> Vec<CrossCompilerVersion> {
    static FOUND: OnceLock<Vec<CrossCompilerVersion>> = OnceLock::new();
    let told = |found: CrossCompiler| CrossCompilerVersion {
        arch: found.arch.to_owned(),
        triplet: found.triplet.to_owned(),
        compiler: found.compiler,
    };
    let find = || {
        find_cross_compilers(SEARCH_PATH)
            .into_iter()
            .map(told)
            .collect()
    };
    FOUND.get_or_init(find).clone()
}

/// What this machine offers as a worker, which boots it before trials that ask for that.
fn offer_in_fleet() -> Vec<FactorOffer> {
    let host = Host::here();
    let offers = factors::offer_factors().into_iter();
    offers.map(|offer| offer_with_boots(&host, offer)).collect()
}

/// Whether this machine can be booted as a trial wants it.
fn check_boot(wanted: &WantedBoot) -> Result<(), String> {
    let host = Host::here();
    check_boots(&host)
        .map_err(|cause| format!("This machine cannot be booted for a trial: {cause}"))?;
    let Some(release) = &wanted.release else {
        return Ok(());
    };
    match list_kernels(&host)
        .iter()
        .any(|kernel| kernel.release == *release)
    {
        true => Ok(()),
        false => Err(format!(
            "This host has no kernel {release} in /boot or /lib/modules"
        )),
    }
}

/// Checks the levels of a trial against what a guest here offers; only the guest itself knows those that are
/// not listed.
fn check_guest_levels(spec: &TrialSpec) -> Result<(), String> {
    let interrupt = Interrupt::deaf().map_err(|error| error.to_string())?;
    let guests =
        find_guests(&interrupt).map_err(|cause| format!("This machine has no guest: {cause}"))?;
    for (name, level) in &spec.levels {
        let Some(offer) = guests.offers.iter().find(|offer| offer.name == *name) else {
            continue;
        };
        let missing = offer.missing.iter().find(|missing| missing.level == *level);
        let reason = missing.map_or(&offer.reason, |missing| &missing.reason);
        let unlisted = is_listed_factor(name) && !offer.levels.contains(level);
        if missing.is_some() || unlisted || offer.levels.is_empty() {
            return Err(format!(
                "A guest of this host has no level {level} of {name}: {reason}"
            ));
        }
    }
    Ok(())
}

/// Whether this machine has guests; the first look of each boot takes seconds where there is an image.
fn offer_guests() -> GuestOffer {
    let found = Interrupt::deaf()
        .map_err(|error| error.to_string())
        .and_then(|interrupt| find_guests(&interrupt));
    match found {
        Ok(guests) => GuestOffer {
            accelerator: Some(guests.machine.accelerator),
            reason: String::new(),
            factors: guests.offers,
        },
        Err(reason) => GuestOffer {
            accelerator: None,
            reason,
            factors: Vec::new(),
        },
    }
}
