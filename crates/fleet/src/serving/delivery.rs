//! Handing in: hello, reports, and the files that go before them; orders tell what arrived.

use async_nats::Client;
use datamill_protocol::{ReportContent, WorkerReport};

use super::agent::Agent;
use crate::disk::{list_spooled, read_spooled};
use crate::leasing::read_policy;
use crate::network::{TransferError, publish};
use crate::reports::make_report;

impl Agent<'_> {
    /// Says hello if that is due, and hands in what is on the disk.
    pub(crate) async fn catch_up(&mut self, client: &Client) -> Result<(), String> {
        self.take_stuck_orders();
        if self.hello_is_due {
            self.say_hello(client).await?;
            // Once a start, not once a trial.
            if !self.options.has_run {
                eprintln!(
                    "datamill-worker: {} serves {}",
                    self.identity.name, self.identity.url
                );
            }
        }
        self.deliver_words(client).await?;
        self.deliver_records(client).await
    }

    async fn say_hello(&mut self, client: &Client) -> Result<(), String> {
        let report = make_report(&self.identity.worker_id, self.hello()?);
        self.publish(client, &report).await?;
        self.hello_is_due = false;
        Ok(())
    }

    /// Tells that this process ends; its hello goes before, for the coordinator heeds no other's goodbye.
    pub(crate) async fn say_goodbye(&mut self, client: &Client) -> Result<(), String> {
        let Some(session) = self.session.clone() else {
            return Ok(());
        };
        if self.hello_is_due {
            self.say_hello(client).await?;
        }
        let report = make_report(&self.identity.worker_id, ReportContent::Goodbye { session });
        self.publish(client, &report).await
    }

    pub(crate) fn hello(&self) -> Result<ReportContent, String> {
        Ok(ReportContent::Hello {
            inventory: Box::new(self.machine.inventory(&self.folder.cache())),
            policy: Box::new(read_policy(&self.folder.policy(), self.machine)?),
            attempts: list_spooled(self.folder).map_err(|error| error.to_string())?,
            session: self.session.clone(),
        })
    }

    pub(crate) async fn publish(
        &self,
        client: &Client,
        report: &WorkerReport,
    ) -> Result<(), String> {
        let payload = serde_json::to_vec(report).map_err(|error| error.to_string())?;
        let subject = format!("results.{}", self.identity.worker_id);
        publish(client, subject, payload).await
    }

    /// Hands in the reports that come without files.
    pub(crate) async fn deliver_words(&mut self, client: &Client) -> Result<(), String> {
        if let Some((content, false)) = &self.refusal {
            let content = content.clone();
            if matches!(content, ReportContent::Refused { .. }) {
                let report = make_report(&self.identity.worker_id, content);
                self.publish(client, &report).await?;
            }
            if let Some((_, is_sent)) = &mut self.refusal {
                *is_sent = true;
            }
        }
        for attempt in self.unsent.clone() {
            match read_spooled(self.folder, &attempt).map_err(|error| error.to_string())? {
                Some((content @ ReportContent::GaveUp { .. }, _)) => {
                    self.deliver(client, &attempt, content).await?;
                }
                Some(_) => {}
                None => {
                    self.unsent.remove(&attempt);
                }
            }
        }
        Ok(())
    }

    /// Hands in records, after their files.
    pub(crate) async fn deliver_records(&mut self, client: &Client) -> Result<(), String> {
        for attempt in self.unsent.clone() {
            let spooled = read_spooled(self.folder, &attempt).map_err(|error| error.to_string())?;
            let Some((mut content, output)) = spooled else {
                continue;
            };
            if let ReportContent::Record { artifacts, .. } = &mut content {
                let mut kept = Vec::new();
                for artifact in artifacts.drain(..) {
                    let path = output.join(&artifact.name);
                    match self.files.upload(&artifact.sha256, &path, self.termination) {
                        Ok(()) => kept.push(artifact),
                        Err(TransferError::Refused(refusal)) => {
                            eprintln!("datamill-worker: {}", refusal.message);
                        }
                        Err(TransferError::Unreachable(cause)) => {
                            return Err(format!(
                                "the files of {attempt} cannot be handed in: {cause}"
                            ));
                        }
                        Err(TransferError::Interrupted) => return Ok(()),
                    }
                }
                *artifacts = kept;
            }
            self.deliver(client, &attempt, content).await?;
        }
        Ok(())
    }

    pub(crate) async fn deliver(
        &mut self,
        client: &Client,
        attempt: &str,
        content: ReportContent,
    ) -> Result<(), String> {
        let mut report = make_report(&self.identity.worker_id, content);
        let bytes = serde_json::to_vec(&report).map_or(0, |text| text.len());
        // Room for the message's own words.
        let most = client.max_payload().saturating_sub(4096);
        if bytes > most {
            report.content = ReportContent::GaveUp {
                attempt: attempt.to_owned(),
                message: format!(
                    "The record has {bytes} bytes, and the broker takes no more than {most}."
                ),
            };
        }
        self.publish(client, &report).await?;
        self.unsent.remove(attempt);
        Ok(())
    }
}
