//! Workers without machines, many in one process: they take what they are ordered and report a record at once.
//!
//! For benchmarks of a coordinator over the real wire. Reads one JSON object on the standard input, see [`Fleet`],
//! and prints one, see [`Account`], when every trial has its receipt.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Subscriber};
use datamill_protocol::{
    FLEET_SCHEMA_VERSION, Lease, Orders, ReportContent, TrialRecord, WorkerReport,
};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore};
use tokio::task::LocalSet;

type Failure = Box<dyn std::error::Error>;

/// Time without a word after which a worker says again what it said.
const AGAIN: Duration = Duration::from_secs(10);

/// What to play.
#[derive(Deserialize)]
struct Fleet {
    /// Address of the broker.
    url: String,
    workers: Vec<Worker>,
    /// What every worker says of its machine; attempts are filled in.
    hello: ReportContent,
    /// A record, of which what tells trials apart is replaced.
    record: TrialRecord,
    /// Receipts after which it ends.
    trials: usize,
    /// Mean time of a trial, drawn from an exponential distribution, in seconds.
    mean_s: f64,
    /// Whether a worker hangs up for each trial and comes back after it, as `datamill-worker` does.
    hang_up: bool,
}

/// One worker.
#[derive(Deserialize)]
struct Worker {
    worker_id: String,
    seed: String,
    jwt: String,
}

/// What came of it; times in seconds since all workers were connected.
#[derive(Default, Serialize)]
struct Account {
    /// From publishing a report until the next lease arrived.
    dispatch_s: Vec<f64>,
    /// When each receipt arrived.
    receipts_s: Vec<f64>,
    /// Time to connect all workers.
    connect_s: f64,
}

/// What the workers share.
struct Stage {
    fleet: Fleet,
    account: RefCell<Account>,
    start: RefCell<Instant>,
    connecting: Semaphore,
    done: Notify,
}

/// A connection with its orders.
struct Line {
    client: Client,
    orders: Subscriber,
}

fn main() -> Result<(), Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let fleet: Fleet = serde_json::from_str(&text)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let account = LocalSet::new().block_on(&runtime, play(fleet))?;
    std::io::stdout().write_all(&serde_json::to_vec(&account)?)?;
    Ok(())
}

async fn play(fleet: Fleet) -> Result<Account, Failure> {
    let stage = Rc::new(Stage {
        fleet,
        account: RefCell::default(),
        start: RefCell::new(Instant::now()),
        connecting: Semaphore::new(50),
        done: Notify::new(),
    });
    let began = Instant::now();
    let mut lines = Vec::new();
    for worker in &stage.fleet.workers {
        lines.push(connect(&stage, worker).await?);
    }
    stage.account.borrow_mut().connect_s = began.elapsed().as_secs_f64();
    *stage.start.borrow_mut() = Instant::now();
    for (number, line) in lines.into_iter().enumerate() {
        let stage = Rc::clone(&stage);
        tokio::task::spawn_local(async move {
            if let Err(cause) = serve(&stage, number, line).await {
                eprintln!("worker {number}: {cause}");
                std::process::exit(1);
            }
        });
    }
    stage.done.notified().await;
    Ok(stage.account.take())
}

async fn connect(stage: &Stage, worker: &Worker) -> Result<Line, Failure> {
    let _turn = stage.connecting.acquire().await?;
    let key = Arc::new(nkeys::KeyPair::from_seed(&worker.seed)?);
    let client = ConnectOptions::with_jwt(worker.jwt.clone(), move |nonce| {
        let key = Arc::clone(&key);
        async move { key.sign(&nonce).map_err(async_nats::AuthError::new) }
    })
    .ping_interval(Duration::from_secs(24 * 3600))
    .connection_timeout(Duration::from_secs(120))
    .subscription_capacity(64)
    .client_capacity(64)
    .connect(stage.fleet.url.clone())
    .await?;
    let orders = client
        .subscribe(format!("jobs.{}", worker.worker_id))
        .await?;
    Ok(Line { client, orders })
}

/// Serves for ever.
async fn serve(stage: &Stage, number: usize, mut line: Line) -> Result<(), Failure> {
    let worker = &stage.fleet.workers[number];
    let mut random = number as u64 + 1;
    let mut last = String::new();
    let mut unreceipted = String::new();
    let mut reported: Option<Instant> = None;
    let mut answer: Option<ReportContent> = None;
    hello(stage, worker, &line.client, &[]).await?;
    loop {
        let next = tokio::time::timeout(AGAIN, line.orders.next()).await;
        let Ok(message) = next else {
            // What has no receipt may be lost.
            if let (Some(content), false) = (&answer, unreceipted.is_empty()) {
                publish(worker, &line.client, &make_report(worker, content.clone())).await?;
            } else {
                hello(stage, worker, &line.client, &[]).await?;
            }
            continue;
        };
        let message = message.ok_or("the connection is closed")?;
        let orders: Orders = serde_json::from_slice(&message.payload)?;
        if !unreceipted.is_empty() && orders.receipts.contains(&unreceipted) {
            unreceipted.clear();
            let mut account = stage.account.borrow_mut();
            account.receipts_s.push(stage.now_s());
            if account.receipts_s.len() == stage.fleet.trials {
                stage.done.notify_one();
            }
        }
        let Some(lease) = orders.lease.filter(|lease| lease.attempt != last) else {
            continue;
        };
        if let Some(since) = reported.take() {
            let dispatch_s = since.elapsed().as_secs_f64();
            stage.account.borrow_mut().dispatch_s.push(dispatch_s);
        }
        last.clone_from(&lease.attempt);
        unreceipted.clone_from(&lease.attempt);
        let attempt = lease.attempt.clone();
        let taken = make_report(worker, ReportContent::Taken { attempt });
        let subject = format!("status.{}", worker.worker_id);
        line.client
            .publish(subject, serde_json::to_vec(&taken)?.into())
            .await?;
        let length = draw_exponential(&mut random) * stage.fleet.mean_s;
        if stage.fleet.hang_up {
            line.client.flush().await?;
            drop(line);
            tokio::time::sleep(Duration::from_secs_f64(length)).await;
            line = connect(stage, worker).await?;
            hello(
                stage,
                worker,
                &line.client,
                std::slice::from_ref(&lease.attempt),
            )
            .await?;
        } else if length > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(length)).await;
        }
        let content = fill_in(&stage.fleet.record, lease);
        answer = Some(content.clone());
        reported = Some(Instant::now());
        publish(worker, &line.client, &make_report(worker, content)).await?;
    }
}

impl Stage {
    fn now_s(&self) -> f64 {
        self.start.borrow().elapsed().as_secs_f64()
    }
}

async fn hello(
    stage: &Stage,
    worker: &Worker,
    client: &Client,
    held: &[String],
) -> Result<(), Failure> {
    let mut content = stage.fleet.hello.clone();
    if let ReportContent::Hello {
        inventory,
        attempts,
        ..
    } = &mut content
    {
        inventory.hostname.clone_from(&worker.worker_id);
        inventory.clock_unix_ns = clock_unix_ns();
        attempts.extend_from_slice(held);
    }
    let report = make_report(worker, content);
    publish(worker, client, &report).await
}

async fn publish(worker: &Worker, client: &Client, report: &WorkerReport) -> Result<(), Failure> {
    let subject = format!("results.{}", worker.worker_id);
    let payload = serde_json::to_vec(report)?;
    client.publish(subject, payload.into()).await?;
    Ok(())
}

fn make_report(worker: &Worker, content: ReportContent) -> WorkerReport {
    WorkerReport {
        schema: FLEET_SCHEMA_VERSION,
        worker_id: worker.worker_id.clone(),
        boot_id: "boot".to_owned(),
        clock_unix_ns: clock_unix_ns(),
        content,
    }
}

/// The record of a trial that completed as it was leased.
fn fill_in(usual: &TrialRecord, lease: Lease) -> ReportContent {
    let spec = lease.spec;
    let record = TrialRecord {
        experiment: spec.experiment,
        trial_id: spec.trial_id,
        attempt: spec.attempt,
        package: spec.package.name,
        package_sha256: spec.package.sha256,
        levels: spec.levels,
        seed: spec.seed,
        ..usual.clone()
    };
    ReportContent::Record {
        attempt: lease.attempt,
        record: Box::new(record),
        artifacts: Vec::new(),
        rebooted: false,
        taken_boot_id: "boot".to_owned(),
    }
}

fn clock_unix_ns() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A draw from the exponential distribution of mean 1; xorshift64* gives the uniform one.
fn draw_exponential(state: &mut u64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    let high = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
    -((high as f64 + 1.0) / (1u64 << 53) as f64).ln()
}
