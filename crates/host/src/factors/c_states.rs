//! Whether idle processors may sleep deeply.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;

use datamill_protocol::{FactorOffer, FactorStage};

use super::HostFactor;
use crate::changes::{Change, check_writable};
use crate::state::Host;

/// Sleep states of idle processors: `all`, or `none` deeper than waiting in a loop.
///
/// A request for no latency holds as long as `/dev/cpu_dma_latency` is open: nothing is left behind
/// by whoever dies.
pub struct CStates {
    device: PathBuf,
}

impl CStates {
    /// Those of a host.
    pub fn new(host: &Host) -> Self {
        Self {
            device: host.path("/dev/cpu_dma_latency"),
        }
    }

    fn check_device(&self) -> Result<(), String> {
        if self.device.exists() {
            check_writable(&self.device)
        } else {
            Err("this host has no /dev/cpu_dma_latency".to_owned())
        }
    }
}

impl HostFactor for CStates {
    fn name(&self) -> &'static str {
        "c_states"
    }

    fn offer(&self) -> FactorOffer {
        let mut offer = FactorOffer::of(self.name(), FactorStage::Host, &["all"]);
        offer.add("none", self.check_device());
        offer
    }

    fn check(&self, level: &str) -> Result<(), String> {
        match level {
            "all" | "none" => Ok(()),
            _ => Err("all, none".to_owned()),
        }
    }

    fn plan(&self, level: &str) -> Result<Vec<Change>, String> {
        match level {
            "none" => self.check_device().map(|()| Vec::new()),
            _ => Ok(Vec::new()),
        }
    }

    fn hold(&self, level: &str) -> Result<Option<File>, String> {
        if level != "none" {
            return Ok(None);
        }
        let refused = |error: std::io::Error| format!("{}: {error}", self.device.display());
        let mut device = OpenOptions::new()
            .write(true)
            .open(&self.device)
            .map_err(refused)?;
        device.write_all(&0i32.to_ne_bytes()).map_err(refused)?;
        Ok(Some(device))
    }

    fn read_back(&self, asked: &str) -> Result<(String, String), String> {
        let mut bytes = [0u8; 4];
        let read = File::open(&self.device).and_then(|mut device| device.read_exact(&mut bytes));
        if let Err(error) = read {
            return match asked {
                "all" => Ok((
                    "all".to_owned(),
                    format!("Nothing was asked of the kernel ({error})."),
                )),
                _ => Err(format!("{}: {error}", self.device.display())),
            };
        }
        let latency_us = i32::from_ne_bytes(bytes);
        let observed = if latency_us == 0 { "none" } else { "all" };
        let evidence = format!("The kernel keeps a latency of at most {latency_us} µs.");
        Ok((observed.to_owned(), evidence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    #[test]
    fn a_host_without_the_device_has_all_states_and_says_why() {
        let offer = CStates::new(&FakeHost::new().host).offer();
        assert_eq!(offer.levels, ["all"]);
        assert!(offer.missing[0].reason.contains("cpu_dma_latency"));
    }

    #[test]
    fn the_request_is_read_back_from_the_device() {
        let host = FakeHost::new();
        host.write("/dev/cpu_dma_latency", "");
        let factor = CStates::new(&host.host);
        let held = factor.hold("none").unwrap();
        assert!(held.is_some());
        assert_eq!(factor.read_back("none").unwrap().0, "none");
        std::fs::write(
            host.host.path("/dev/cpu_dma_latency"),
            2_000i32.to_ne_bytes(),
        )
        .unwrap();
        assert_eq!(factor.read_back("none").unwrap().0, "all");
    }
}
