//! Reading what a process writes: a limited part is kept, the rest counted and dropped.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use datamill_protocol::digest::Digest;

use super::hashing::StreamHash;

const TAIL_BYTES: usize = 8192;

/// One output stream of a measured process.
pub(crate) struct OutputStream {
    pipe: Option<File>,
    kept: Option<File>,
    keep_left: u64,
    hash: Option<StreamHash>,
    tail: VecDeque<u8>,
    /// Bytes that the process wrote.
    pub(crate) bytes: u64,
    /// Whether more was written than is kept, where a part is to be kept.
    pub(crate) truncated: bool,
    /// Why the kept part could not be stored.
    pub(crate) storage_error: Option<io::Error>,
}

impl OutputStream {
    /// Reads from `pipe`, keeping the first `keep_bytes` in `kept`.
    pub(crate) fn kept(pipe: OwnedFd, kept: File, keep_bytes: u64) -> Self {
        Self {
            kept: Some(kept),
            keep_left: keep_bytes,
            ..Self::read(pipe)
        }
    }

    /// Reads from `pipe`, keeping and hashing nothing.
    pub(crate) fn read(pipe: OwnedFd) -> Self {
        Self {
            pipe: Some(File::from(pipe)),
            ..Self::unseen()
        }
    }

    /// Reads from `pipe` and hashes it.
    pub(crate) fn hashed(pipe: OwnedFd) -> Self {
        Self {
            hash: Some(StreamHash::default()),
            ..Self::read(pipe)
        }
    }

    /// One of which nothing is read.
    pub(crate) fn unseen() -> Self {
        Self {
            pipe: None,
            kept: None,
            keep_left: 0,
            hash: None,
            tail: VecDeque::new(),
            bytes: 0,
            truncated: false,
            storage_error: None,
        }
    }

    /// Descriptor to poll for the next `next_bytes`, or -1 once the stream has ended and while hashing
    /// has to catch up.
    pub(crate) fn poll_descriptor(&self, next_bytes: usize) -> RawFd {
        let pipe = self.pipe.as_ref();
        pipe.filter(|_| !self.hash.as_ref().is_some_and(|it| it.is_full(next_bytes)))
            .map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Whether something that was read waits to be hashed.
    pub(crate) fn is_behind(&self) -> bool {
        self.hash.as_ref().is_some_and(StreamHash::is_behind)
    }

    /// Hashes a little of what waits for it.
    pub(crate) fn catch_up(&mut self) {
        if let Some(hash) = &mut self.hash {
            hash.hash_slice();
        }
    }

    /// The digest of all that was read, where that was wanted.
    pub(crate) fn take_digest(&mut self) -> Option<Digest> {
        self.hash.take().map(StreamHash::finish)
    }

    /// Reads once; returns whether there may be more right now.
    pub(crate) fn read_once(&mut self, buffer: &mut [u8]) -> bool {
        let Some(pipe) = self.pipe.as_mut() else {
            return false;
        };
        match pipe.read(buffer) {
            Ok(0) => {
                self.pipe = None;
                false
            }
            Ok(count) => {
                self.accept(&buffer[..count]);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(_) => {
                self.pipe = None;
                false
            }
        }
    }

    /// Takes the last bytes written, at most 8 KiB.
    pub(crate) fn take_tail(&mut self) -> Vec<u8> {
        Vec::from(std::mem::take(&mut self.tail))
    }

    fn accept(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        if let Some(hash) = &mut self.hash {
            hash.accept(data);
        }
        if let Some(file) = &mut self.kept {
            let kept = data
                .len()
                .min(usize::try_from(self.keep_left).unwrap_or(usize::MAX));
            self.truncated |= kept < data.len();
            if kept > 0 && self.storage_error.is_none() {
                self.storage_error = file.write_all(&data[..kept]).err();
                self.keep_left -= kept as u64;
            }
        }
        let recent = &data[data.len().saturating_sub(TAIL_BYTES)..];
        let excess = (self.tail.len() + recent.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
        self.tail.extend(recent);
    }
}
