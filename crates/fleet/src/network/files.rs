//! Files from and to the coordinator, over HTTP.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use datamill_protocol::digest::hash_file;
use datamill_protocol::{Credential, CredentialRequest, FileNeed, RefusalReason};
use ureq::http::{Response, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use crate::machine::Refusal;
use crate::termination::Termination;

/// Longest answer that is read where no file is expected, in bytes.
const LONGEST_ANSWER: u64 = 1 << 20;

/// Why a file did not come or go.
#[derive(Debug)]
pub enum TransferError {
    /// The coordinator cannot be reached, or is in trouble itself; later it may work.
    Unreachable(String),
    /// It will not work later either.
    Refused(Refusal),
    /// This process is to end.
    Interrupted,
}

/// The coordinator's files.
pub struct FileClient {
    agent: Agent,
    url: String,
    api_key: String,
    ca_pem: Option<String>,
}

/// An HTTP client that believes one certificate authority, or none where `ca_pem` is absent.
pub fn make_agent(ca_pem: Option<&str>) -> Result<Agent, String> {
    let roots = match ca_pem {
        None => Vec::new(),
        Some(pem) => vec![Certificate::from_pem(pem.as_bytes()).map_err(|error| {
            format!("the coordinator's certificate authority cannot be read: {error}")
        })?],
    };
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .build();
    Ok(configure(tls))
}

/// An HTTP client that believes anybody: only for what is checked otherwise.
pub fn make_credulous_agent() -> Agent {
    configure(TlsConfig::builder().disable_verification(true).build())
}

fn configure(tls: TlsConfig) -> Agent {
    Agent::config_builder()
        .tls_config(tls)
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(Duration::from_secs(120)))
        .timeout_per_read(Some(Duration::from_secs(60)))
        .timeout_per_write(Some(Duration::from_secs(60)))
        .max_idle_connections(1)
        .user_agent(concat!("datamill-worker/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

/// The text of a short answer.
pub fn read_answer(response: &mut Response<Body>) -> Result<Vec<u8>, String> {
    response
        .body_mut()
        .with_config()
        .limit(LONGEST_ANSWER)
        .read_to_vec()
        .map_err(|error| error.to_string())
}

/// What the coordinator says about its refusal: its message and remedy, or the bare status.
pub fn describe_refusal(response: &mut Response<Body>) -> String {
    let status = response.status();
    let told = read_answer(response)
        .ok()
        .and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    let field = |name: &str| {
        let text = told.as_ref()?.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    match (field("message"), field("remedy")) {
        (Some(message), Some(remedy)) => {
            format!("{}. {remedy}", message.trim_end_matches('.'))
        }
        (Some(message), None) => message,
        _ => format!("HTTP status {status}"),
    }
}

impl FileClient {
    /// A client of the coordinator at `url`.
    pub fn new(url: &str, api_key: &str, ca_pem: Option<&str>) -> Result<Self, String> {
        Ok(Self {
            agent: make_agent(ca_pem)?,
            url: url.to_owned(),
            api_key: api_key.to_owned(),
            ca_pem: ca_pem.map(str::to_owned),
        })
    }

    /// Closes connections that are kept for further files.
    pub fn hang_up(&mut self) -> Result<(), String> {
        self.agent = make_agent(self.ca_pem.as_deref())?;
        Ok(())
    }

    /// Brings a file to `target`, going on where an earlier try stopped. It has the wanted digest, or is
    /// not there.
    pub fn download(
        &self,
        need: &FileNeed,
        target: &Path,
        termination: &Termination,
    ) -> Result<(), TransferError> {
        if target.metadata().is_ok_and(|data| data.len() == need.bytes) {
            return Ok(());
        }
        let mut part = target.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        // What an earlier try left may be wrong: then the whole is fetched once more.
        for is_last in [false, true] {
            let started_at = self.append(need, &part, termination)?;
            let (bytes, sha256) = hash_file(&part).map_err(disk_trouble(&part))?;
            if bytes == need.bytes && sha256.to_string() == need.sha256 {
                File::open(&part)
                    .and_then(|file| file.sync_all())
                    .and_then(|()| fs::rename(&part, target))
                    .map_err(disk_trouble(target))?;
                return Ok(());
            }
            fs::remove_file(&part).map_err(disk_trouble(&part))?;
            if is_last || started_at == 0 {
                return Err(refused(
                    RefusalReason::File,
                    format!(
                        "The coordinator's file {} has SHA-256 {sha256} and {bytes} bytes, not {}.",
                        need.sha256, need.bytes
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Fetches what is missing of a file; returns where it began.
    fn append(
        &self,
        need: &FileNeed,
        part: &Path,
        termination: &Termination,
    ) -> Result<u64, TransferError> {
        let mut from = part.metadata().map_or(0, |data| data.len());
        if from > need.bytes {
            fs::remove_file(part).map_err(disk_trouble(part))?;
            from = 0;
        }
        if from == need.bytes && from > 0 {
            return Ok(from);
        }
        let mut request = self
            .agent
            .get(format!("{}/files/{}", self.url, need.sha256))
            .header("Authorization", format!("Bearer {}", self.api_key));
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        let mut response = request.call().map_err(unreachable)?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT if from > 0 => {}
            StatusCode::OK => from = 0,
            _ => return Err(judge_status(&mut response, "serves no file", &need.sha256)),
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(part)
            .map_err(disk_trouble(part))?;
        file.set_len(from).map_err(disk_trouble(part))?;
        let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
        let (mut left, mut buffer) = (need.bytes - from, vec![0u8; 1 << 16]);
        loop {
            if termination.is_pending() {
                return Err(TransferError::Interrupted);
            }
            let count = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) => return Err(TransferError::Unreachable(error.to_string())),
            };
            if count as u64 > left {
                // Whatever it is, it is not the file.
                drop(file);
                fs::remove_file(part).map_err(disk_trouble(part))?;
                return Err(refused(
                    RefusalReason::File,
                    format!(
                        "The coordinator's file {} has more than its {} bytes.",
                        need.sha256, need.bytes
                    ),
                ));
            }
            left -= count as u64;
            file.write_all(&buffer[..count])
                .map_err(disk_trouble(part))?;
        }
        if left > 0 {
            return Err(TransferError::Unreachable(format!(
                "the transfer of file {} broke off",
                need.sha256
            )));
        }
        Ok(from)
    }

    /// Asks for a new credential for the broker; the error is one sentence.
    pub fn renew_credential(&self, request: &CredentialRequest) -> Result<Credential, String> {
        let body = serde_json::to_vec(request).map_err(|error| error.to_string())?;
        let mut response = self
            .agent
            .post(format!("{}/api/workers/credential", self.url))
            .header("Authorization", format!("Bearer {}", self.api_key))
            .header("Content-Type", "application/json")
            .send(&body[..])
            .map_err(|error| format!("the coordinator cannot be reached: {error}"))?;
        if !response.status().is_success() {
            return Err(format!(
                "the coordinator gives no new credential: {}",
                describe_refusal(&mut response)
            ));
        }
        serde_json::from_slice(&read_answer(&mut response)?)
            .map_err(|error| format!("the coordinator's answer cannot be understood: {error}"))
    }

    /// Takes a file to the coordinator, unless it has it already.
    pub fn upload(
        &self,
        sha256: &str,
        path: &Path,
        termination: &Termination,
    ) -> Result<(), TransferError> {
        let url = format!("{}/files/{sha256}", self.url);
        let bearer = format!("Bearer {}", self.api_key);
        let found = self
            .agent
            .head(&url)
            .header("Authorization", &bearer)
            .call()
            .map_err(unreachable)?;
        if found.status() == StatusCode::OK {
            return Ok(());
        }
        drop(found);
        let file = File::open(path).map_err(disk_trouble(path))?;
        let bytes = file.metadata().map_err(disk_trouble(path))?.len();
        let mut body = Interruptible { file, termination };
        let mut response = self
            .agent
            .put(&url)
            .header("Authorization", &bearer)
            .header("Content-Length", bytes.to_string())
            .header("Content-Type", "application/octet-stream")
            .send(ureq::SendBody::from_reader(&mut body))
            .map_err(|error| match error {
                ureq::Error::Io(error) if error.kind() == io::ErrorKind::Interrupted => {
                    TransferError::Interrupted
                }
                other => unreachable(other),
            })?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(judge_status(&mut response, "does not take file", sha256))
    }
}

/// A file whose reading ends when this process is to end.
struct Interruptible<'a> {
    file: File,
    termination: &'a Termination,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.termination.is_pending() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
        }
        self.file.read(buffer)
    }
}

/// Whether a status says that it may work later.
fn judge_status(response: &mut Response<Body>, what: &str, sha256: &str) -> TransferError {
    let status = response.status();
    let cause = format!(
        "The coordinator {what} {sha256}: {}.",
        describe_refusal(response).trim_end_matches('.')
    );
    let is_passing = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS
        );
    if is_passing {
        TransferError::Unreachable(cause)
    } else {
        refused(RefusalReason::File, cause)
    }
}

fn refused(reason: RefusalReason, message: String) -> TransferError {
    TransferError::Refused(Refusal::new(reason, message))
}

fn unreachable(error: ureq::Error) -> TransferError {
    TransferError::Unreachable(error.to_string())
}

fn disk_trouble(path: &Path) -> impl FnOnce(io::Error) -> TransferError {
    move |error| refused(RefusalReason::Disk, format!("{}: {error}.", path.display()))
}
