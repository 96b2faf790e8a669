//! The agent: connected, waiting for orders, handing reports in.

use std::collections::BTreeSet;
use std::future::pending;
use std::io;
use std::time::Duration;

use async_nats::Event;
use datamill_protocol::{Lease, ReportContent, Session};
use futures_util::StreamExt;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::rest::{release_code, watch_connections};
use super::serve::ServeOptions;
use crate::disk::{FleetFolder, Identity, Seen, begin_session, list_spooled};
use crate::leasing::is_borrowed;
use crate::locks::HostLock;
use crate::machine::Machine;
use crate::network::{
    Broker, ConnectFailure, CurrentCredential, Delays, FileClient, connect, is_about_credential,
};
use crate::reports::clock_unix_ns;
use crate::termination::Termination;

/// Time in which the next trial may come for which the machine was booted, before it gets its own boot back.
const BORROWED_FOR: Duration = Duration::from_secs(20);
/// Time for last words when the process is told to end.
const FAREWELL: Duration = Duration::from_secs(10);

const NO_ANSWER: &str = "the coordinator does not answer";

/// Why the agent stops being one.
pub enum Parting {
    /// An attempt has its receipt, and no more was asked for.
    Done,
    /// It was told to end.
    Interrupted,
    /// An attempt was taken and is to be run, under the host's lock.
    Run(HostLock),
    /// An attempt was taken and the machine is to be rebooted first, or back into its own boot.
    Reboot,
}

/// The agent of one worker.
pub struct Agent<'a> {
    pub(crate) folder: &'a FleetFolder,
    pub(crate) identity: &'a Identity,
    pub(crate) machine: &'a dyn Machine,
    pub(crate) termination: &'a Termination,
    pub(crate) options: ServeOptions,
    pub(crate) files: FileClient,
    pub(crate) seen: Seen,
    /// This process, as the coordinator knows it.
    pub(crate) session: Option<Session>,
    pub(crate) lease: Option<Lease>,
    /// Refusal of the lease at hand, and whether the broker has it.
    pub(crate) refusal: Option<(ReportContent, bool)>,
    pub(crate) unsent: BTreeSet<String>,
    /// Orders that could not be written down: the disk is full, or the like.
    pub(crate) stuck: Option<Vec<u8>>,
    pub(crate) hello_is_due: bool,
    /// Whether orders answered the latest hello.
    pub(crate) is_heard: bool,
    pub(crate) credential: CurrentCredential,
    pub(crate) was_cut: bool,
    /// When the next try is due of what did not work.
    pub(crate) catch_up_at: Option<Instant>,
    pub(crate) lease_at: Option<Instant>,
    /// When everything was sent last, and when what is not answered is sent again.
    pub(crate) said_at: Option<Instant>,
    pub(crate) again_at: Option<Instant>,
    /// When a new credential is asked for.
    pub(crate) renew_at: Option<Instant>,
    /// When a machine that was booted for a trial gets its own boot back, if no attempt comes before.
    pub(crate) own_boot_at: Option<Instant>,
    pub(crate) holder: Option<UnixStream>,
    /// Whether it was said that somebody is waited for.
    pub(crate) has_said: bool,
    pub(crate) delays: Delays,
    pub(crate) fetches: Delays,
    pub(crate) answers: Delays,
    pub(crate) renewals: Delays,
}

impl<'a> Agent<'a> {
    /// An agent that is not connected yet.
    pub fn new(
        folder: &'a FleetFolder,
        identity: &'a Identity,
        machine: &'a dyn Machine,
        termination: &'a Termination,
        options: ServeOptions,
    ) -> io::Result<Self> {
        let files = FileClient::new(&identity.url, &identity.api_key, identity.ca_pem.as_deref())
            .map_err(io::Error::other)?;
        let seed = clock_unix_ns();
        let mut seen = Seen::read(folder)?;
        // A full disk keeps nobody from serving: such a session leaves without a goodbye.
        let session = begin_session(folder, &mut seen)
            .map_err(|error| eprintln!("datamill-worker: the session cannot be counted: {error}"))
            .ok();
        Ok(Self {
            folder,
            identity,
            machine,
            termination,
            options,
            files,
            seen,
            session,
            lease: None,
            refusal: None,
            unsent: list_spooled(folder)?.into_iter().collect(),
            stuck: None,
            hello_is_due: true,
            is_heard: false,
            credential: CurrentCredential::of(identity),
            was_cut: false,
            catch_up_at: Some(Instant::now()),
            lease_at: None,
            said_at: None,
            again_at: None,
            renew_at: None,
            own_boot_at: is_borrowed().then(|| Instant::now() + BORROWED_FOR),
            holder: None,
            has_said: false,
            delays: Delays::of_connections(seed),
            fetches: Delays::new(seed),
            answers: Delays::new(seed),
            renewals: Delays::new(seed),
        })
    }

    /// Serves until there is a reason to part.
    pub async fn serve(mut self) -> io::Result<Parting> {
        if self.termination.is_pending() {
            return self.part_in_haste().await;
        }
        let Some(mut broker) = self.connect_patiently().await? else {
            // An earlier form of this process may have said hello.
            return self.part_in_haste().await;
        };
        loop {
            if self.termination.is_pending() {
                self.part(&broker.client).await.ok();
                return Ok(Parting::Interrupted);
            }
            if is_due(self.again_at) {
                self.say_again();
            }
            if is_due(self.renew_at) {
                self.try_to_renew()?;
            }
            if is_due(self.catch_up_at) {
                self.catch_up_at = None;
                match self.catch_up(&broker.client).await {
                    Ok(()) => {
                        self.delays.reset();
                        self.wait_for_answers();
                        self.rest()?;
                    }
                    Err(cause) => self.try_later(&cause),
                }
            }
            if self.lease.is_some()
                && self.refusal.is_none()
                && self.holder.is_none()
                && self.lease_at.is_none_or(|at| at <= Instant::now())
            {
                self.lease_at = None;
                if let Some(parting) = self.make_attempt(&mut broker).await? {
                    return Ok(parting);
                }
                continue;
            }
            if self.options.once && self.options.has_run && self.is_clear()? {
                self.part(&broker.client).await.ok();
                return Ok(Parting::Done);
            }
            if is_due(self.own_boot_at) {
                self.own_boot_at = Some(Instant::now() + BORROWED_FOR);
                // Whoever measures here without a fleet ends first.
                if let (true, Some(_lock)) = (self.is_clear()?, HostLock::try_take()?) {
                    self.part(&broker.client).await.ok();
                    return Ok(Parting::Reboot);
                }
            }
            tokio::select! {
                biased;
                told = self.termination.wait() => told?,
                event = broker.events.recv() => match event {
                    Some(event) => self.note(&event),
                    None => return Err(io::Error::other("the connection to the broker is closed")),
                },
                message = broker.orders.next() => match message {
                    Some(message) => self.take_orders(&message.payload),
                    None => return Err(io::Error::other("the connection to the broker is closed")),
                },
                () = wait_until(self.catch_up_at) => {}
                () = wait_until(self.lease_at) => {}
                () = wait_until(self.again_at) => {}
                () = wait_until(self.renew_at) => {}
                () = wait_until(self.own_boot_at) => {}
                () = wait_for_end(self.holder.as_ref()) => self.holder = None,
            }
        }
    }

    /// Gives back what waiting does not need.
    fn rest(&mut self) -> io::Result<()> {
        self.files.hang_up().map_err(io::Error::other)?;
        watch_connections()?;
        if self.lease.is_none() {
            release_code();
        }
        Ok(())
    }

    /// Connects, however long it takes; none when the process is told to end.
    async fn connect_patiently(&mut self) -> io::Result<Option<Broker>> {
        let mut has_failed = false;
        let mut has_renewed = false;
        loop {
            let failure = tokio::select! {
                biased;
                told = self.termination.wait() => {
                    told?;
                    return Ok(None);
                }
                connected = connect(self.identity, &self.credential, clock_unix_ns()) => match connected {
                    Ok(broker) => {
                        if has_failed {
                            eprintln!("datamill-worker: connected");
                        }
                        self.delays.reset();
                        return Ok(Some(broker));
                    }
                    Err(failure) => failure,
                },
            };
            has_failed = true;
            let mut cause = failure.cause().to_owned();
            if matches!(failure, ConnectFailure::Refused(_)) {
                match self.renew_credential() {
                    // Once: a broker that does not believe the new one either will not a moment later.
                    Ok(()) if !has_renewed => {
                        has_renewed = true;
                        continue;
                    }
                    Ok(()) => {}
                    Err(error) => cause = format!("{cause} {error}"),
                }
            }
            let delay = self.delays.next();
            eprintln!(
                "datamill-worker: {cause}; the next try is in {} s",
                delay.as_secs_f64().round()
            );
            tokio::select! {
                biased;
                told = self.termination.wait() => {
                    told?;
                    return Ok(None);
                }
                () = sleep(delay) => {}
            }
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Connected if self.was_cut => {
                eprintln!("datamill-worker: connected again");
                self.was_cut = false;
                // What was under way may be gone with the connection.
                self.is_heard = false;
                self.renew_at = None;
                self.say_again();
            }
            Event::Disconnected => {
                eprintln!("datamill-worker: the connection to the coordinator is lost");
                self.was_cut = true;
            }
            Event::ServerError(error) if is_about_credential(&error.to_string()) => {
                self.renew_at.get_or_insert_with(Instant::now);
            }
            Event::ClientError(error) if is_about_credential(&error.to_string()) => {
                self.renew_at.get_or_insert_with(Instant::now);
            }
            // A try to connect again, which fails while the coordinator is away.
            Event::ClientError(error) if self.was_cut && error.to_string().contains("IO error") => {
            }
            Event::ServerError(_) | Event::ClientError(_) => {
                eprintln!("datamill-worker: {event}");
            }
            _ => {}
        }
    }

    /// Asks for a new credential, and later again when there is none.
    fn try_to_renew(&mut self) -> io::Result<()> {
        self.renew_at = None;
        match self.renew_credential() {
            Ok(()) => self.renewals.reset(),
            Err(cause) => {
                let delay = self.renewals.next();
                eprintln!(
                    "datamill-worker: {cause}; the next try is in {} s",
                    delay.as_secs_f64().round()
                );
                self.renew_at = Some(Instant::now() + delay);
            }
        }
        self.rest()
    }

    pub(crate) fn try_later(&mut self, cause: &str) {
        let delay = self.delays.next();
        eprintln!(
            "datamill-worker: {cause}; the next try is in {} s",
            delay.as_secs_f64().round()
        );
        self.catch_up_at = Some(Instant::now() + delay);
    }

    /// Whether nothing waits for the coordinator.
    fn is_clear(&self) -> io::Result<bool> {
        Ok(self.lease.is_none() && list_spooled(self.folder)?.is_empty())
    }

    /// Says what must be said, and no more.
    async fn part_in_haste(&mut self) -> io::Result<Parting> {
        let words = async {
            let connecting = connect(self.identity, &self.credential, clock_unix_ns());
            let broker = timeout(FAREWELL, connecting)
                .await
                .map_err(|_| NO_ANSWER.to_owned())?
                .map_err(|failure| failure.cause().to_owned())?;
            self.part(&broker.client).await
        };
        if let Err(cause) = words.await {
            eprintln!("datamill-worker: {cause}; it is told at the next start");
        }
        Ok(Parting::Interrupted)
    }

    /// Says goodbye, and what there is to tell without files.
    ///
    /// Goodbye comes first: what ends thereafter makes room for no other attempt.
    async fn part(&mut self, client: &async_nats::Client) -> Result<(), String> {
        let words = async {
            let goodbye = self.say_goodbye(client).await;
            self.deliver_words(client).await.and(goodbye)
        };
        timeout(FAREWELL, words)
            .await
            .unwrap_or_else(|_| Err(NO_ANSWER.to_owned()))
    }
}

fn is_due(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at <= Instant::now())
}

async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// Waits until the other end of a line is gone.
async fn wait_for_end(line: Option<&UnixStream>) {
    match line {
        Some(line) => {
            line.readable().await.ok();
        }
        None => pending().await,
    }
}
