//! From a lease to the attempt that is taken: files, the host's turn, the journal.

use std::io;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Subscriber};
use datamill_protocol::{Lease, RefusalReason, ReportContent};
use futures_util::StreamExt;
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout};

use super::agent::{Agent, Parting};
use super::live_output::run_with_live_output;
use crate::disk::{OpenAttempt, Stage, is_spooled, list_spooled};
use crate::leasing::{check_lease, fetch_files, is_ready, keep_apart, place_lease, read_policy};
use crate::locks::{HostLock, TRY_AGAIN_MS, holder};
use crate::machine::Refusal;
use crate::measuring::give_up;
use crate::network::{Broker, TransferError};
use crate::reports::{boot_id, make_report};

/// How often the files of one lease are tried before it is refused: about five minutes.
const MOST_FETCHES: u32 = 8;
/// Time in which orders that are here already are read.
const HEARING: Duration = Duration::from_millis(20);

impl Agent<'_> {
    /// Goes as far with the lease as is possible now.
    pub(crate) async fn make_attempt(
        &mut self,
        broker: &mut Broker,
    ) -> io::Result<Option<Parting>> {
        let Some(lease) = self.lease.clone() else {
            return Ok(None);
        };
        let attempt = lease.attempt.clone();
        let lease = match self.prepare(lease) {
            Ok(lease) => lease,
            Err(TransferError::Refused(refusal)) => {
                self.refuse(&attempt, refusal);
                return Ok(None);
            }
            Err(TransferError::Unreachable(cause)) if self.fetches.tries() >= MOST_FETCHES => {
                self.refuse(&attempt, Refusal::new(RefusalReason::File, cause));
                return Ok(None);
            }
            Err(TransferError::Unreachable(cause)) => {
                eprintln!("datamill-worker: {cause}");
                self.lease_at = Some(Instant::now() + self.fetches.next());
                return Ok(None);
            }
            Err(TransferError::Interrupted) => return Ok(None),
        };
        let Some(lock) = self.take_host()? else {
            return Ok(None);
        };
        // The files may have taken hours, and the orders may be others by now.
        self.hear_orders(&mut broker.orders).await;
        if broker.client.connection_state() != State::Connected {
            self.lease_at = Some(Instant::now() + self.fetches.next());
            return Ok(None);
        }
        if self.lease.as_ref().map(|lease| &lease.attempt) != Some(&attempt) {
            return Ok(None);
        }
        self.take(&broker.client, lease, lock).await
    }

    /// Follows the orders that came while this process was busy.
    async fn hear_orders(&mut self, orders: &mut Subscriber) {
        while let Ok(Some(message)) = timeout(HEARING, orders.next()).await {
            self.take_orders(&message.payload);
        }
    }

    pub(crate) fn prepare(&self, lease: Lease) -> Result<Lease, TransferError> {
        let refused = TransferError::Refused;
        let lease = place_lease(self.folder, lease).map_err(refused)?;
        let policy = read_policy(&self.folder.policy(), self.machine)
            .map_err(|cause| refused(Refusal::new(RefusalReason::Policy, cause)))?;
        check_lease(self.folder, self.identity, self.machine, &policy, &lease).map_err(refused)?;
        fetch_files(self.folder, &self.files, &lease, self.termination)?;
        let checked = self.machine.check_factors(&lease.spec, &policy);
        checked.map_err(TransferError::Refused)?;
        Ok(keep_apart(lease, policy, self.machine.isolation()))
    }

    /// Takes the host's lock, or waits for whoever has it.
    pub(crate) fn take_host(&mut self) -> io::Result<Option<HostLock>> {
        if let Some(lock) = HostLock::try_take()? {
            self.has_said = false;
            return Ok(Some(lock));
        }
        if !self.has_said {
            self.has_said = true;
            eprintln!("datamill-worker: waiting for another trial on this machine");
        }
        match holder()? {
            Some(line) => {
                line.set_nonblocking(true)?;
                self.holder = Some(UnixStream::from_std(line)?);
            }
            None => self.lease_at = Some(Instant::now() + Duration::from_millis(TRY_AGAIN_MS)),
        }
        Ok(None)
    }

    pub(crate) async fn take(
        &mut self,
        client: &Client,
        lease: Lease,
        lock: HostLock,
    ) -> io::Result<Option<Parting>> {
        let attempt = lease.attempt.clone();
        let open = OpenAttempt {
            stage: Stage::Taken,
            taken_boot_id: boot_id(),
            starts: 1,
            lease,
        };
        if let Err(error) = open.write(self.folder) {
            let message = format!("{}: {error}.", self.folder.journal().display());
            self.refuse(&attempt, Refusal::new(RefusalReason::Disk, message));
            return Ok(None);
        }
        let taken = make_report(
            &self.identity.worker_id,
            ReportContent::Taken {
                attempt: attempt.clone(),
            },
        );
        // Whether it arrives changes nothing here.
        let subject = format!("status.{}", self.identity.worker_id);
        let payload = serde_json::to_vec(&taken)?;
        client.publish(subject, payload.into()).await.ok();
        timeout(Duration::from_secs(5), client.flush()).await.ok();
        if !is_ready(&open) {
            return Ok(Some(Parting::Reboot));
        }
        if !open.lease.live_output {
            return Ok(Some(Parting::Run(lock)));
        }
        run_with_live_output(
            self.folder,
            self.identity,
            client,
            &open,
            lock,
            self.termination,
        )
        .await?;
        if !is_spooled(self.folder, &attempt) {
            give_up(self.folder, &attempt, "The runner went down.")?;
            OpenAttempt::remove(self.folder)?;
        }
        self.lease = None;
        self.unsent.extend(list_spooled(self.folder)?);
        self.catch_up_at = Some(Instant::now());
        Ok(None)
    }
}
