//! Joining a fleet: the token proves the worker to the coordinator and the coordinator to the worker.

use std::fs;
use std::path::PathBuf;

use datamill_protocol::digest::hash_bytes;
use datamill_protocol::{Enrolment, EnrolmentRequest};
use ureq::tls::Certificate;

use super::token::{CoordinatorUrl, Trust, parse_token, parse_url};
use crate::disk::{FleetFolder, Identity, write_durably};
use crate::leasing::read_policy;
use crate::machine::Machine;
use crate::network::{describe_refusal, make_agent, make_credulous_agent, read_answer};

/// How a machine is to join.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JoinRequest {
    /// Address of the coordinator.
    pub url: String,
    /// Enrolment token; absent when the worker has joined before.
    pub token: Option<String>,
    /// Name that the worker would like to have; absent: the host's.
    pub name: Option<String>,
    /// File with the policy of the machine's owner; absent: the one in the state folder.
    pub policy: Option<PathBuf>,
    /// Command that reboots the machine; absent: the one given before, else the kernel is asked.
    pub reboot_command: Option<String>,
}

/// Enrols this machine, unless it has joined before; the error says what to do.
pub fn join(
    folder: &FleetFolder,
    machine: &dyn Machine,
    request: &JoinRequest,
) -> Result<Identity, String> {
    let url = parse_url(&request.url)?;
    let policy_file = request.policy.clone().unwrap_or_else(|| folder.policy());
    if request.policy.is_some() && !policy_file.is_file() {
        return Err(format!("--policy: {} is not there", policy_file.display()));
    }
    let policy = read_policy(&policy_file, machine)?;
    let known = Identity::read(folder).map_err(|error| error.to_string())?;
    let identity = match known {
        Some(known) if known.url == url.text => Identity {
            reboot_command: request
                .reboot_command
                .clone()
                .or(known.reboot_command.clone()),
            ..known
        },
        Some(known) => {
            return Err(format!(
                "this state folder belongs to the worker {} of {}; to join {} as another worker give another --state, or leave the old fleet by removing {}",
                known.name,
                known.url,
                url.text,
                folder.identity().display()
            ));
        }
        None => {
            let token = request.token.as_ref().ok_or(
                "this machine has not joined a fleet yet: give --token with what `datamill worker token` prints where the coordinator runs",
            )?;
            let (secret, trust) = parse_token(token)?;
            let ca_pem = fetch_authority(&url, &trust)?;
            let key = nkeys::KeyPair::new_user();
            let body = EnrolmentRequest {
                token: secret,
                name: request.name.clone().unwrap_or_else(datamill_host::hostname),
                public_key: key.public_key(),
                inventory: machine.inventory(&folder.cache()),
                policy,
            };
            let enrolment = ask_to_enrol(&url, ca_pem.as_deref(), &body)?;
            let seed = key.seed().map_err(|error| error.to_string())?;
            Identity {
                nats_urls: place_host(&enrolment.nats_urls, &url.host),
                url: url.text,
                worker_id: enrolment.worker_id,
                name: enrolment.name,
                nats_jwt: enrolment.nats_jwt,
                nats_seed: seed,
                api_key: enrolment.api_key,
                nats_ca_pem: enrolment.ca_pem.or_else(|| ca_pem.clone()),
                ca_pem,
                reboot_command: request.reboot_command.clone(),
            }
        }
    };
    identity
        .write(folder)
        .map_err(|error| format!("{}: {error}", folder.identity().display()))?;
    if let Some(given) = &request.policy {
        fs::read(given)
            .and_then(|text| write_durably(&folder.policy(), &text, 0o600))
            .map_err(|error| format!("{}: {error}", folder.policy().display()))?;
    }
    Ok(identity)
}

/// Fetches the coordinator's certificate authority and checks it against the token.
fn fetch_authority(url: &CoordinatorUrl, trust: &Trust) -> Result<Option<String>, String> {
    let fingerprint = match (trust, url.is_tls) {
        (Trust::Loopback, false) => return Ok(None),
        (Trust::Fingerprint(fingerprint), true) => fingerprint,
        (Trust::Loopback, true) => {
            return Err(format!(
                "--token: it is of a coordinator without TLS, which {} is not; take a token from this very coordinator",
                url.text
            ));
        }
        (Trust::Fingerprint(_), false) => {
            return Err(format!(
                "--token: it is of a coordinator with TLS; write {} with https",
                url.text
            ));
        }
    };
    let mut response = make_credulous_agent()
        .get(format!("{}/ca.pem", url.text))
        .call()
        .map_err(|error| unreachable(url, &error))?;
    if !response.status().is_success() {
        return Err(format!(
            "{} is not a coordinator: it has no /ca.pem (status {})",
            url.text,
            response.status()
        ));
    }
    let pem = read_answer(&mut response)?;
    let certificate = Certificate::from_pem(&pem)
        .map_err(|error| format!("{}/ca.pem is not a certificate: {error}", url.text))?;
    if !hash_bytes(certificate.der())
        .to_string()
        .starts_with(fingerprint)
    {
        return Err(format!(
            "{} shows another certificate than the token names: somebody is in between, or the token is of another coordinator; nothing was sent",
            url.text
        ));
    }
    String::from_utf8(pem)
        .map(Some)
        .map_err(|error| error.to_string())
}

fn ask_to_enrol(
    url: &CoordinatorUrl,
    ca_pem: Option<&str>,
    body: &EnrolmentRequest,
) -> Result<Enrolment, String> {
    let text = serde_json::to_vec(body).map_err(|error| error.to_string())?;
    let mut response = make_agent(ca_pem)?
        .post(format!("{}/api/workers/enrol", url.text))
        .header("Content-Type", "application/json")
        .send(&text[..])
        .map_err(|error| unreachable(url, &error))?;
    if !response.status().is_success() {
        return Err(format!(
            "the coordinator does not enrol this machine: {}",
            describe_refusal(&mut response)
        ));
    }
    serde_json::from_slice(&read_answer(&mut response)?).map_err(|error| {
        format!(
            "the coordinator's answer cannot be understood ({error}); is it of another version?"
        )
    })
}

fn unreachable(url: &CoordinatorUrl, error: &ureq::Error) -> String {
    format!(
        "the coordinator at {} cannot be reached: {error}; see that it runs (`datamill serve`) and that this machine may connect to it",
        url.text
    )
}

/// Puts the coordinator's host where the broker's addresses leave a place for it.
fn place_host(urls: &[String], host: &str) -> Vec<String> {
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    urls.iter()
        .map(|url| url.replace("{host}", &host))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_broker_is_where_the_coordinator_is() {
        let urls = ["tls://{host}:4222".to_owned()];
        assert_eq!(place_host(&urls, "lab"), ["tls://lab:4222"]);
        assert_eq!(place_host(&urls, "::1"), ["tls://[::1]:4222"]);
    }
}
