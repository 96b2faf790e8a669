//! Following orders: the latest count, and what they take back is dropped.

use std::io;

use datamill_protocol::{Orders, ReportContent};
use tokio::time::Instant;

use super::agent::Agent;
use crate::disk::{Seen, is_spooled, remove_spooled};
use crate::leasing::{Understood, is_attempt, read_orders, refuse_version};
use crate::machine::Refusal;

impl Agent<'_> {
    pub(crate) fn take_orders(&mut self, payload: &[u8]) {
        let understood = match read_orders(payload, &self.identity.worker_id) {
            Ok(understood) => understood,
            Err(cause) => {
                eprintln!("datamill-worker: orders that cannot be understood: {cause}");
                return;
            }
        };
        let sequence = match &understood {
            Understood::Orders(orders) => orders.sequence,
            Understood::Foreign { sequence, .. } => *sequence,
        };
        if sequence < self.seen.sequence {
            return;
        }
        let taken = match understood {
            Understood::Orders(orders) => {
                self.note_answer(&orders);
                self.follow(*orders)
            }
            Understood::Foreign {
                sequence,
                attempt,
                cause,
            } => {
                self.lease = None;
                if let Some(attempt) = attempt {
                    self.refuse(&attempt, refuse_version(&cause));
                }
                self.note_sequence(sequence, self.seen.receipted.clone())
            }
        };
        self.note_answers();
        if let Err(error) = taken {
            self.stuck = Some(payload.to_vec());
            self.try_later(&format!("the state folder cannot be written: {error}"));
        }
    }

    /// Follows orders that could not be kept before.
    ///
    /// Meanwhile a deadline may have passed, and a worker that missed one counts as silent until it speaks: hello is due.
    pub(crate) fn take_stuck_orders(&mut self) {
        if let Some(payload) = self.stuck.take() {
            self.take_orders(&payload);
            self.hello_is_due |= self.stuck.is_none();
        }
    }

    /// Whether the hello of this session has arrived, and whether the credential is old.
    fn note_answer(&mut self, orders: &Orders) {
        // Of a session that could not be counted no orders tell: its hello is said again and again.
        let known = self.session.as_ref();
        self.is_heard = known.is_some_and(|session| orders.sessions.contains(&session.id));
        if orders.renew_credential && self.renew_at.is_none() {
            self.renew_at = Some(Instant::now());
        }
    }

    pub(crate) fn follow(&mut self, orders: Orders) -> io::Result<()> {
        // Newer orders that ask for an attempt know best whether it is over.
        let asked = orders.lease.as_ref().map(|lease| lease.attempt.as_str());
        let over = if orders.receipts.is_empty() {
            let known = self.seen.receipted.iter();
            known
                .filter(|over| Some(over.as_str()) != asked)
                .cloned()
                .collect()
        } else {
            orders.receipts.clone()
        };
        // First what must never be undone by older orders.
        self.note_sequence(orders.sequence, over)?;
        for attempt in orders.receipts.iter().filter(|attempt| is_attempt(attempt)) {
            if is_spooled(self.folder, attempt) {
                remove_spooled(self.folder, attempt)?;
                self.options.has_run = true;
            }
            self.unsent.remove(attempt);
        }
        let wanted = orders.lease.filter(|lease| {
            is_attempt(&lease.attempt)
                && !is_spooled(self.folder, &lease.attempt)
                && !self.seen.receipted.contains(&lease.attempt)
        });
        let is_same = wanted.as_ref().map(|lease| &lease.attempt)
            == self.lease.as_ref().map(|lease| &lease.attempt);
        if !is_same {
            self.refusal = None;
            self.lease_at = None;
            self.holder = None;
            self.fetches.reset();
        }
        self.lease = wanted;
        Ok(())
    }

    pub(crate) fn note_sequence(
        &mut self,
        sequence: u64,
        receipted: Vec<String>,
    ) -> io::Result<()> {
        let next = Seen {
            sequence,
            receipted,
            sessions: self.seen.sessions,
        };
        if next != self.seen {
            next.write(self.folder)?;
            self.seen = next;
        }
        Ok(())
    }

    pub(crate) fn refuse(&mut self, attempt: &str, refusal: Refusal) {
        eprintln!("datamill-worker: {attempt} is refused: {}", refusal.message);
        let content = ReportContent::Refused {
            attempt: attempt.to_owned(),
            reason: refusal.reason,
            message: refusal.message,
        };
        self.refusal = Some((content, false));
        self.options.has_run = true;
        self.catch_up_at = Some(Instant::now());
    }
}
