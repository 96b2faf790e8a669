//! What the coordinator has not answered yet is sent again, later and later.

use std::time::Duration;

use tokio::time::Instant;

use super::agent::Agent;
use crate::disk::{begin_session, list_spooled};

/// Longest time until what is not answered is sent again.
const LONGEST: Duration = Duration::from_secs(300);
/// Time in which orders may have been on their way before they could answer what was sent.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

impl Agent<'_> {
    /// Whether something that was sent, or is to be, has no answer.
    fn is_waiting_for_answers(&self) -> bool {
        !self.is_heard
            || self.refusal.is_some()
            || list_spooled(self.folder).map_or(true, |spooled| !spooled.is_empty())
    }

    /// Everything was sent: what is not answered in time is sent again.
    pub(crate) fn wait_for_answers(&mut self) {
        self.said_at = Some(Instant::now());
        self.again_at = self
            .is_waiting_for_answers()
            .then(|| Instant::now() + (2 * self.answers.next()).min(LONGEST));
    }

    /// Orders came: the coordinator is there, and should have by now what they do not answer.
    pub(crate) fn note_answers(&mut self) {
        if !self.is_waiting_for_answers() {
            self.again_at = None;
            self.answers.reset();
        } else if self.session.is_none() {
            // Orders name no session that could not be counted: not at once, or it would never end.
            if self.again_at.is_none() {
                self.wait_for_answers();
            }
        } else if self.said_at.is_none_or(|at| at.elapsed() >= LEAST_PAUSE) {
            self.again_at = Some(Instant::now());
        } else {
            self.again_at
                .get_or_insert_with(|| Instant::now() + LEAST_PAUSE);
        }
    }

    /// Makes everything that is not answered due at once.
    pub(crate) fn say_again(&mut self) {
        self.again_at = None;
        if self.session.is_none() {
            // There may be room on the disk by now.
            self.session = begin_session(self.folder, &mut self.seen).ok();
        }
        self.hello_is_due |= !self.is_heard;
        self.unsent
            .extend(list_spooled(self.folder).unwrap_or_default());
        if let Some((_, is_sent)) = &mut self.refusal {
            *is_sent = false;
        }
        self.catch_up_at = Some(Instant::now());
    }
}
