//! A coordinator of the tests' own: a real broker, and just enough HTTP.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use datamill_protocol::digest::hash_bytes;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

pub const WORKER_ID: &str = "w234567abcdef";

/// What the coordinator's HTTP side knows and has seen.
#[derive(Default)]
pub struct Shelf {
    pub files: HashMap<String, Vec<u8>>,
    /// Method, path and `Range` of each request.
    pub requests: Vec<(String, String, String)>,
    /// Transfers that break off in the middle before one goes through.
    pub broken_transfers: u32,
    /// Answer to an enrolment that is refused.
    pub refusal: Option<Value>,
    pub enrolments: Vec<Value>,
    /// Requests for new credentials.
    pub renewals: Vec<Value>,
}

/// A coordinator that tests command step by step.
pub struct Coordinator {
    folder: PathBuf,
    broker: Option<Child>,
    pub broker_port: u16,
    pub http_port: u16,
    runtime: Runtime,
    client: Option<async_nats::Client>,
    heard: Arc<Mutex<Vec<Value>>>,
    read: usize,
    pub shelf: Arc<Mutex<Shelf>>,
    sequence: u64,
    current: Arc<Mutex<Current>>,
}

/// What the worker is told when it says hello.
#[derive(Default)]
struct Current {
    orders: Option<Value>,
    sessions: Vec<Value>,
}

impl Current {
    /// Orders as they go out: for this worker, with the sessions that are known.
    fn complete(&self, orders: &Value) -> Value {
        let mut told = json!({
            "schema": 4, "worker_id": WORKER_ID, "sequence": 0, "sessions": self.sessions,
            "receipts": [], "renew_credential": false, "lease": null,
        });
        for (name, value) in orders.as_object().unwrap() {
            told[name] = value.clone();
        }
        told
    }
}

/// Where the broker's binary is, or why there is none.
pub fn find_broker() -> Result<PathBuf, String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/nats-server");
    let given = std::env::var_os("DATAMILL_NATS_SERVER").map(PathBuf::from);
    let in_path = std::env::var_os("PATH").into_iter().flat_map(|path| {
        std::env::split_paths(&path)
            .map(|folder| folder.join("nats-server"))
            .collect::<Vec<_>>()
    });
    given
        .into_iter()
        .chain([beside])
        .chain(in_path)
        .find(|path| path.is_file())
        .ok_or_else(|| {
            "nats-server is neither in .venv/bin nor in PATH nor named by DATAMILL_NATS_SERVER"
                .to_owned()
        })
}

/// How many times longer than on a quiet machine anything may take.
pub const PATIENCE: u32 = 8;

/// A port that was free a moment ago, below those that the kernel gives to connections: while the broker is
/// away, one of these could be given to a worker that tries to reach it, which would then speak to itself.
pub fn free_port() -> u16 {
    loop {
        let chance = std::hash::BuildHasher::hash_one(
            &std::collections::hash_map::RandomState::new(),
            std::process::id(),
        );
        let port = 10_000 + u16::try_from(chance % 22_000).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl Coordinator {
    /// Starts one; none when there is no broker, which it says.
    pub fn start(folder: &Path) -> Option<Self> {
        if let Err(why) = find_broker() {
            eprintln!("SKIPPED: {why}");
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let http_port = listener.local_addr().unwrap().port();
        let shelf = Arc::new(Mutex::new(Shelf::default()));
        let broker_port = free_port();
        let shared = Arc::clone(&shelf);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shelf = Arc::clone(&shared);
                std::thread::spawn(move || serve_http(stream, &shelf, broker_port));
            }
        });
        let mut coordinator = Self {
            folder: folder.join("coordinator"),
            broker: None,
            broker_port,
            http_port,
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap(),
            client: None,
            heard: Arc::default(),
            read: 0,
            shelf,
            sequence: 0,
            current: Arc::default(),
        };
        coordinator.start_broker();
        Some(coordinator)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.http_port)
    }

    pub fn start_broker(&mut self) {
        std::fs::create_dir_all(&self.folder).unwrap();
        let config = self.folder.join("nats.conf");
        std::fs::write(
            &config,
            format!(
                "listen: 127.0.0.1:{}\nmax_payload: 8MB\nping_interval: \"24h\"\n",
                self.broker_port
            ),
        )
        .unwrap();
        let log = std::fs::File::create(self.folder.join("nats.log")).unwrap();
        let broker = Command::new(find_broker().unwrap())
            .arg("-c")
            .arg(&config)
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        self.broker = Some(broker);
        let port = self.broker_port;
        let heard = Arc::clone(&self.heard);
        let current = Arc::clone(&self.current);
        let client = self.runtime.block_on(async {
            let begun = Instant::now();
            let client = loop {
                match async_nats::connect(format!("127.0.0.1:{port}")).await {
                    Ok(client) => break client,
                    Err(error) => {
                        assert!(
                            begun.elapsed() < Duration::from_secs(20) * PATIENCE,
                            "{error}"
                        );
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            };
            for subject in ["results.>", "status.>"] {
                let mut subscription = client.subscribe(subject).await.unwrap();
                let heard = Arc::clone(&heard);
                let current = Arc::clone(&current);
                let client = client.clone();
                tokio::spawn(async move {
                    while let Some(message) = subscription.next().await {
                        let mut told: Value = serde_json::from_slice(&message.payload).unwrap();
                        told["subject"] = json!(message.subject.as_str());
                        assert_eq!(message.reply, None, "a worker waits for no answer");
                        let is_hello = told["content"]["kind"] == "hello";
                        let session = told["content"]["session"]["id"].clone();
                        heard.lock().unwrap().push(told);
                        if is_hello {
                            let orders = {
                                let mut current = current.lock().unwrap();
                                current.sessions.push(session);
                                let orders = current.orders.clone().unwrap_or(json!({}));
                                current.complete(&orders)
                            };
                            let subject = format!("jobs.{WORKER_ID}");
                            client
                                .publish(subject, orders.to_string().into())
                                .await
                                .ok();
                        }
                    }
                });
            }
            client.flush().await.unwrap();
            client
        });
        self.client = Some(client);
    }

    /// Ends the broker as a power cut does.
    pub fn cut_broker(&mut self) {
        self.client = None;
        if let Some(mut broker) = self.broker.take() {
            broker.kill().unwrap();
            broker.wait().unwrap();
        }
    }

    /// Lets the broker stop answering, or go on.
    pub fn signal_broker(&self, signal: i32) {
        let broker = self.broker.as_ref().unwrap();
        // SAFETY: a child that has not been waited for keeps its number.
        unsafe { libc::kill(broker.id() as i32, signal) };
    }

    /// Puts a file on the shelf; returns its digest.
    pub fn put(&self, content: Vec<u8>) -> String {
        let digest = hash_bytes(&content).to_string();
        let mut shelf = self.shelf.lock().unwrap();
        shelf.files.insert(digest.clone(), content);
        digest
    }

    /// Gives the worker its next orders.
    pub fn order(&mut self, receipts: &[&str], lease: Option<Value>) {
        self.sequence += 1;
        let orders = json!({
            "sequence": self.sequence, "receipts": receipts, "lease": lease,
        });
        self.current.lock().unwrap().orders = Some(orders.clone());
        self.publish_orders(&orders);
    }

    /// Publishes orders, with what they lack.
    pub fn publish_orders(&mut self, orders: &Value) {
        let payload = self.current.lock().unwrap().complete(orders).to_string();
        let client = self.client.clone().unwrap();
        self.runtime.block_on(async move {
            let subject = format!("jobs.{WORKER_ID}");
            client.publish(subject, payload.into()).await.unwrap();
            client.flush().await.unwrap();
        });
    }

    /// The next report of one kind, others in between passed over; in so many seconds of a quiet machine.
    pub fn expect(&mut self, kind: &str, within_s: u64) -> Value {
        let begun = Instant::now();
        loop {
            {
                let heard = self.heard.lock().unwrap();
                while let Some(told) = heard.get(self.read) {
                    self.read += 1;
                    if told["content"]["kind"] == kind {
                        return told.clone();
                    }
                }
                assert!(
                    begun.elapsed() < Duration::from_secs(within_s) * PATIENCE,
                    "no {kind} in {within_s} s; heard {:?}",
                    heard
                        .iter()
                        .map(|told| told["content"]["kind"].clone())
                        .collect::<Vec<_>>()
                );
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// All reports of these kinds so far, of one attempt.
    pub fn heard(&self, kinds: &[&str], attempt: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        heard
            .iter()
            .filter(|told| {
                let content = &told["content"];
                kinds.iter().any(|kind| content["kind"] == *kind) && content["attempt"] == attempt
            })
            .cloned()
            .collect()
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.cut_broker();
    }
}

fn serve_http(stream: TcpStream, shelf: &Mutex<Shelf>, broker_port: u16) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut words = first.split_whitespace();
        let method = words.next().unwrap_or_default().to_owned();
        let path = words.next().unwrap_or_default().to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(':') else {
                break;
            };
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        let length: usize = headers
            .get("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let range = headers.get("range").cloned().unwrap_or_default();
        let mut shelf = shelf.lock().unwrap();
        shelf
            .requests
            .push((method.clone(), path.clone(), range.clone()));
        let (status, content, is_broken) = answer(
            &mut shelf,
            &method,
            &path,
            &range,
            headers.get("authorization").map(String::as_str),
            body,
            broker_port,
        );
        drop(shelf);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        let shown = if is_broken {
            &content[..content.len() / 2]
        } else {
            &content[..]
        };
        if stream.write_all(head.as_bytes()).is_err()
            || (method != "HEAD" && stream.write_all(shown).is_err())
            || is_broken
        {
            return;
        }
    }
}

fn answer(
    shelf: &mut Shelf,
    method: &str,
    path: &str,
    range: &str,
    bearer: Option<&str>,
    body: Vec<u8>,
    broker_port: u16,
) -> (&'static str, Vec<u8>, bool) {
    if (method, path) == ("POST", "/api/workers/credential") {
        let asked: Value = serde_json::from_slice(&body).unwrap();
        shelf.renewals.push(asked);
        let credential = json!({
            "worker_id": WORKER_ID, "nats_jwt": "a.newer.one", "clock_unix_ns": 1,
        });
        return ("200 OK", credential.to_string().into_bytes(), false);
    }
    if (method, path) == ("POST", "/api/workers/enrol") {
        let asked: Value = serde_json::from_slice(&body).unwrap();
        shelf.enrolments.push(asked.clone());
        if let Some(refusal) = &shelf.refusal {
            return ("403 Forbidden", refusal.to_string().into_bytes(), false);
        }
        let enrolment = json!({
            "worker_id": WORKER_ID,
            "name": "the-enrolled-name",
            "nats_urls": [format!("nats://{{host}}:{broker_port}")],
            "nats_jwt": "not.asked.for",
            "api_key": "key-of-the-worker",
            "ca_pem": null,
            "clock_unix_ns": 1,
        });
        return ("200 OK", enrolment.to_string().into_bytes(), false);
    }
    let Some(digest) = path.strip_prefix("/files/") else {
        return ("404 Not Found", Vec::new(), false);
    };
    if bearer != Some("Bearer key-of-the-worker") {
        return ("401 Unauthorized", Vec::new(), false);
    }
    match method {
        "PUT" => {
            if hash_bytes(&body).to_string() != digest {
                return ("400 Bad Request", Vec::new(), false);
            }
            shelf.files.insert(digest.to_owned(), body);
            ("201 Created", Vec::new(), false)
        }
        _ => match shelf.files.get(digest).cloned() {
            None => ("404 Not Found", Vec::new(), false),
            Some(content) => {
                let is_broken = method == "GET" && shelf.broken_transfers > 0;
                if is_broken {
                    shelf.broken_transfers -= 1;
                }
                match range
                    .strip_prefix("bytes=")
                    .and_then(|range| range.strip_suffix('-'))
                    .and_then(|from| from.parse::<usize>().ok())
                {
                    Some(from) => ("206 Partial Content", content[from..].to_vec(), is_broken),
                    None => ("200 OK", content, is_broken),
                }
            }
        },
    }
}
