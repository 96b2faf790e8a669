//! A new credential for the broker, from the coordinator: each ends.

use std::fs::File;
use std::io::{self, Read};

use datamill_protocol::{Credential, CredentialRequest};

use super::agent::Agent;
use crate::disk::Identity;

/// A request for a new credential, signed with the key with which the worker joined.
fn sign_request(identity: &Identity) -> Result<CredentialRequest, String> {
    let key = nkeys::KeyPair::from_seed(&identity.nats_seed)
        .map_err(|error| format!("the key of this worker cannot be used: {error}"))?;
    let nonce = draw_nonce().map_err(|error| error.to_string())?;
    let signed = format!("datamill-credential {} {nonce}", identity.worker_id);
    let signature = key
        .sign(signed.as_bytes())
        .map_err(|error| error.to_string())?;
    Ok(CredentialRequest {
        worker_id: identity.worker_id.clone(),
        nonce,
        signature: to_hexadecimal(&signature),
    })
}

fn draw_nonce() -> io::Result<String> {
    let mut drawn = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut drawn)?;
    Ok(to_hexadecimal(&drawn))
}

fn to_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Agent<'_> {
    /// Asks the coordinator for a new credential, keeps it, and uses it from the next connection on.
    pub(crate) fn renew_credential(&mut self) -> Result<(), String> {
        let request = sign_request(self.identity)?;
        let answer = self.files.renew_credential(&request)?;
        let Credential {
            worker_id,
            nats_jwt,
            ..
        } = answer;
        if worker_id != self.identity.worker_id {
            return Err("the coordinator's new credential is another worker's".to_owned());
        }
        let next = Identity {
            nats_jwt: nats_jwt.clone(),
            ..self.identity.clone()
        };
        next.write(self.folder)
            .map_err(|error| format!("{}: {error}", self.folder.identity().display()))?;
        self.credential.replace(nats_jwt);
        eprintln!("datamill-worker: the coordinator gave a new credential");
        Ok(())
    }
}
