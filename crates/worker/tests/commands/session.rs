//! A session with the worker: requests in, answers out.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use datamill_protocol::{
    CommandAnswer, CommandGreeting, CommandOutput, CommandRequest, PhaseFacts, SCHEMA_VERSION,
};

/// A worker that measures commands, and a folder of one test.
pub struct Session {
    pub greeting: CommandGreeting,
    folder: PathBuf,
    worker: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Session {
    pub fn begin() -> Self {
        Self::begin_with(|_| {})
    }

    /// The same with a worker that is started otherwise.
    pub fn begin_with(change: impl FnOnce(&mut Command)) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("datamill-commands-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_datamill-worker"));
        command.arg("measure-commands");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        change(&mut command);
        let mut worker = command.spawn().unwrap();
        let requests = worker.stdin.take();
        let mut answers = BufReader::new(worker.stdout.take().unwrap());
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        Self {
            greeting: serde_json::from_str(&line).unwrap(),
            folder,
            worker,
            requests,
            answers,
        }
    }

    /// A request to execute a command in the folder of this test.
    pub fn request(&self, command: &[&str]) -> CommandRequest {
        CommandRequest {
            schema: SCHEMA_VERSION,
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            directory: self.path("").to_string_lossy().into_owned(),
            variables: Default::default(),
            input: None,
            output: CommandOutput::Capture,
            output_file: None,
            timeout_s: 60.0,
            levels: Default::default(),
            build: None,
        }
    }

    /// A request to execute a line of shell.
    pub fn shell(&self, line: &str) -> CommandRequest {
        self.request(&["/bin/sh", "-c", line])
    }

    /// A path in the folder of this test.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name).to_string_lossy().into_owned()
    }

    pub fn send(&mut self, line: &str) {
        writeln!(self.requests.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn receive(&mut self) -> CommandAnswer {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub fn answer(&mut self, request: &CommandRequest) -> CommandAnswer {
        self.send(&serde_json::to_string(request).unwrap());
        self.receive()
    }

    /// The answer to a request that must be executed and left to its end.
    pub fn complete(&mut self, request: &CommandRequest) -> (PhaseFacts, CommandAnswer) {
        let answer = self.answer(request);
        assert_eq!(answer.failure, None);
        (answer.run.clone().unwrap(), answer)
    }

    pub fn worker_pid(&self) -> i32 {
        self.worker.id() as i32
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: signals a child of ours.
        unsafe { libc::kill(self.worker_pid(), signal) };
    }

    /// Ends the requests and waits for the worker.
    pub fn end(&mut self) -> ExitStatus {
        self.requests = None;
        self.worker.wait().unwrap()
    }

    /// Waits for a worker that ends by itself.
    pub fn wait(&mut self) -> ExitStatus {
        self.worker.wait().unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.requests = None;
        self.worker.wait().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// Processes of this host whose command line holds a text.
pub fn processes_with(marker: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}

/// Waits until so many processes have a text in their command line; panics after a minute.
pub fn await_processes(marker: &str, wanted: impl Fn(usize) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !wanted(processes_with(marker)) {
        assert!(Instant::now() < deadline, "{}", processes_with(marker));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A number of seconds that no other process sleeps for.
pub fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("8{}{count:03}", std::process::id())
}

/// Whether a process, zombies included, is a child of another.
pub fn has_children(pid: i32) -> bool {
    let path = format!("/proc/{pid}/task/{pid}/children");
    match fs::read_to_string(Path::new(&path)) {
        Ok(text) => !text.trim().is_empty(),
        Err(error) => panic!("{path}: {error}"),
    }
}
