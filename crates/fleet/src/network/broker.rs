//! The connection to the broker.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Auth, AuthError, Client, ConnectOptions, Event, Subscriber};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use super::credential::CurrentCredential;
use super::delays::connection_delay_of;
use crate::disk::Identity;

/// Time between signs of life: a quiet worker has no timer.
const PING_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// Time in which the broker answers.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A connection, and what happens to it.
pub struct Broker {
    /// The connection; it comes back by itself.
    pub client: Client,
    /// What happens to it.
    pub events: UnboundedReceiver<Event>,
    /// Orders for this worker.
    pub orders: Subscriber,
}

/// Why there is no connection.
pub enum ConnectFailure {
    /// The broker does not believe the credential: it may have ended.
    Refused(String),
    /// Anything else.
    Unreachable(String),
}

impl ConnectFailure {
    /// The same in one sentence.
    pub fn cause(&self) -> &str {
        match self {
            Self::Refused(cause) | Self::Unreachable(cause) => cause,
        }
    }
}

/// Connects once; each connection made by itself later uses the credential of then.
pub async fn connect(
    identity: &Identity,
    credential: &CurrentCredential,
    seed: u64,
) -> Result<Broker, ConnectFailure> {
    let unreachable = ConnectFailure::Unreachable;
    let key = nkeys::KeyPair::from_seed(&identity.nats_seed)
        .map_err(|error| unreachable(format!("the key of this worker cannot be used: {error}")))?;
    let key = Arc::new(key);
    let current = credential.clone();
    let (sender, events) = unbounded_channel();
    let mut options = ConnectOptions::with_auth_callback(move |nonce| {
        let (key, current) = (Arc::clone(&key), current.clone());
        async move {
            let mut auth = Auth::new();
            auth.jwt = Some(current.read());
            auth.signature = Some(key.sign(&nonce).map_err(AuthError::new)?);
            Ok(auth)
        }
    })
    .name(&identity.worker_id)
    .ping_interval(PING_INTERVAL)
    .connection_timeout(ANSWER_WITHIN)
    // A process that fetches files for hours reads what came meanwhile at once.
    .subscription_capacity(1024)
    .client_capacity(64)
    .ignore_discovered_servers()
    .reconnect_delay_callback(move |tries| {
        connection_delay_of(
            u32::try_from(tries).unwrap_or(u32::MAX).saturating_sub(1),
            seed,
        )
    })
    .event_callback(move |event| {
        sender.send(event).ok();
        async {}
    });
    let is_tls = identity.nats_urls.iter().any(|url| url.starts_with("tls:"));
    if let Some(pem) = identity.nats_ca_pem.as_ref().filter(|_| is_tls) {
        options = options
            .tls_client_config(trust_authorities(pem).map_err(unreachable)?)
            .require_tls(true);
    }
    let client = options
        .connect(identity.nats_urls.clone())
        .await
        .map_err(|error| describe_connect_error(&error))?;
    let orders = client
        .subscribe(format!("jobs.{}", identity.worker_id))
        .await
        .map_err(|error| unreachable(error.to_string()))?;
    Ok(Broker {
        client,
        events,
        orders,
    })
}

fn describe_connect_error(error: &async_nats::ConnectError) -> ConnectFailure {
    use async_nats::ConnectErrorKind::{Authentication, AuthorizationViolation};
    let is_refused = matches!(error.kind(), Authentication | AuthorizationViolation)
        || is_about_credential(&error.to_string());
    if is_refused {
        ConnectFailure::Refused(
            "the coordinator's broker does not accept this worker; was it removed from the fleet?"
                .to_owned(),
        )
    } else {
        ConnectFailure::Unreachable(format!(
            "the coordinator's broker cannot be reached: {error}"
        ))
    }
}

/// Whether an error of the broker says that the credential ended or is void.
pub fn is_about_credential(error: &str) -> bool {
    let error = error.to_lowercase();
    ["authorization", "authentication", "revoked", "expired"]
        .iter()
        .any(|word| error.contains(word))
}

fn trust_authorities(pem: &str) -> Result<ClientConfig, String> {
    let wrong = |error: &dyn std::fmt::Display| {
        format!("the coordinator's certificate authority cannot be used: {error}")
    };
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let authority = authority.map_err(|error| wrong(&error))?;
        roots.add(authority).map_err(|error| wrong(&error))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Publishes a report and waits until it is on its way.
///
/// Nobody answers: orders tell what has arrived, and until then it is sent again.
pub async fn publish(client: &Client, subject: String, payload: Vec<u8>) -> Result<(), String> {
    let sending = async {
        client
            .publish(subject, payload.into())
            .await
            .map_err(|error| format!("the report cannot be sent: {error}"))?;
        client
            .flush()
            .await
            .map_err(|error| format!("the report cannot be sent: {error}"))
    };
    timeout(ANSWER_WITHIN, sending)
        .await
        .unwrap_or_else(|_| Err("the coordinator's broker takes nothing".to_owned()))
}
