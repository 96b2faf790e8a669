//! The connection to the broker.

use std::sync::Arc;
use std::time::Duration;

use async_nats::client::Request;
use async_nats::{Client, ConnectOptions, Event};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::delays::delay_of;
use crate::identity::Identity;

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
}

/// Connects once; the error is one sentence.
pub async fn connect(identity: &Identity, seed: u64) -> Result<Broker, String> {
    let key = nkeys::KeyPair::from_seed(&identity.nats_seed)
        .map_err(|error| format!("the key of this worker cannot be used: {error}"))?;
    let key = Arc::new(key);
    let (sender, events) = unbounded_channel();
    let mut options = ConnectOptions::with_jwt(identity.nats_jwt.clone(), move |nonce| {
        let key = Arc::clone(&key);
        async move { key.sign(&nonce).map_err(async_nats::AuthError::new) }
    })
    .name(&identity.worker_id)
    .custom_inbox_prefix(format!("_INBOX.{}", identity.worker_id))
    .ping_interval(PING_INTERVAL)
    .connection_timeout(ANSWER_WITHIN)
    .request_timeout(Some(ANSWER_WITHIN))
    .subscription_capacity(64)
    .client_capacity(64)
    .ignore_discovered_servers()
    .reconnect_delay_callback(move |tries| {
        delay_of(
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
            .tls_client_config(trust_authorities(pem)?)
            .require_tls(true);
    }
    let client = options
        .connect(identity.nats_urls.clone())
        .await
        .map_err(|error| describe_connect_error(&error))?;
    Ok(Broker { client, events })
}

fn describe_connect_error(error: &async_nats::ConnectError) -> String {
    use async_nats::ConnectErrorKind::{Authentication, AuthorizationViolation};
    match error.kind() {
        Authentication | AuthorizationViolation => {
            "the coordinator's broker does not accept this worker; was it removed from the fleet?"
                .to_owned()
        }
        _ => format!("the coordinator's broker cannot be reached: {error}"),
    }
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

/// Publishes a message that the broker is to keep, and waits until it has it on its disk.
///
/// Without an identity by which the broker would know a repetition: another worker could send one with the
/// same before, and this message would be dropped. The coordinator knows repetitions by itself.
pub async fn publish_kept(
    client: &Client,
    subject: String,
    payload: Vec<u8>,
) -> Result<(), String> {
    let request = Request::new().payload(payload.into());
    let answer = client
        .send_request(subject, request)
        .await
        .map_err(|error| format!("the broker does not keep the report: {error}"))?;
    let told: serde_json::Value =
        serde_json::from_slice(&answer.payload).map_err(|error| error.to_string())?;
    match told.get("error") {
        None if told.get("stream").is_some() => Ok(()),
        Some(error) => Err(format!("the broker does not keep the report: {error}")),
        None => Err(format!("the broker's answer is not understood: {told}")),
    }
}

/// The latest message on a worker's subject for orders; none when there is none yet.
pub async fn get_orders(client: &Client, worker_id: &str) -> Result<Option<Vec<u8>>, String> {
    let subject = format!("$JS.API.DIRECT.GET.JOBS.jobs.{worker_id}");
    let answer = client
        .send_request(subject, Request::new())
        .await
        .map_err(|error| format!("the broker does not tell the orders: {error}"))?;
    match answer.status {
        None => Ok(Some(answer.payload.to_vec())),
        Some(async_nats::StatusCode::NOT_FOUND) => Ok(None),
        Some(status) => Err(format!(
            "the broker does not tell the orders: {status} {}",
            answer.description.unwrap_or_default()
        )),
    }
}
