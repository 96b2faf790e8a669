//! `aslr`: whether the kernel randomises the addresses of `run.sh`.

use std::hint::black_box;

use datamill_probe::ChildStep;
use datamill_protocol::FactorOffer;
use serde::{Deserialize, Serialize};

use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, choose, offer_all};
use crate::factors::process::read_back::{Observer, Reading};

/// The factor.
pub struct Aslr;

/// Where a process is in its address space.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Addresses {
    /// Where its stack is.
    stack: u64,
    /// Where the kernel maps memory for it.
    mapping: u64,
    /// Whether its personality turns address-space randomisation off.
    randomization_off: bool,
}

impl ProcessFactor for Aslr {
    type Level = bool;
    type Seen = Addresses;

    fn name(&self) -> &'static str {
        "aslr"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &["on", "off"])
    }

    fn parse(&self, text: &str) -> Result<bool, String> {
        choose(&[("on", true), ("off", false)], text)
    }

    fn apply(&self, level: &bool, conditions: &mut RunConditions) -> Result<(), String> {
        conditions.settings.address_randomization = Some(*level);
        Ok(())
    }

    fn set_at(&self) -> Option<ChildStep> {
        Some(ChildStep::Layout)
    }

    fn observe(&self, _environment: &[u8]) -> Addresses {
        own_addresses()
    }

    fn read_back(
        &self,
        _asked: &Asked<'_, bool>,
        seen: &Addresses,
        observer: &Observer<'_>,
    ) -> Reading {
        match observer.look_again(self) {
            Ok(second) => judge(seen, &second, kernel_randomizes()),
            Err(cause) => (None, cause),
        }
    }
}

fn own_addresses() -> Addresses {
    let on_stack = 0u8;
    // SAFETY: a fresh anonymous page, never touched; the query changes nothing.
    let (mapping, personality) = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, -1, 0);
        (page as u64, libc::personality(0xffff_ffff))
    };
    Addresses {
        stack: std::ptr::from_ref(black_box(&on_stack)) as u64,
        mapping,
        randomization_off: personality >= 0 && personality & libc::ADDR_NO_RANDOMIZE != 0,
    }
}

fn judge(first: &Addresses, second: &Addresses, kernel_randomizes: bool) -> Reading {
    let stack_moved = first.stack != second.stack;
    let mapping_moved = first.mapping != second.mapping;
    let addresses = match (stack_moved, mapping_moved) {
        (true, true) => "different stack and mapping addresses",
        (false, false) => "the same stack and mapping addresses",
        (true, false) => "different stack addresses but the same mapping address",
        (false, true) => "the same stack address but different mapping addresses",
    };
    let switched_off = first.randomization_off && second.randomization_off;
    let setting = match (switched_off, kernel_randomizes) {
        (true, _) => "their personality has randomisation off",
        (false, true) => "randomisation is on in their personality and in the kernel",
        (false, false) => "kernel.randomize_va_space is 0",
    };
    let observed = match (stack_moved, mapping_moved) {
        (true, true) => Some("on".to_owned()),
        (false, false) if switched_off || !kernel_randomizes => Some("off".to_owned()),
        // Half of it moved, or nothing did although it should have: neither level.
        _ => None,
    };
    (
        observed,
        format!("Two witness processes launched like run.sh had {addresses}; {setting}."),
    )
}

fn kernel_randomizes() -> bool {
    let setting = std::fs::read_to_string("/proc/sys/kernel/randomize_va_space");
    setting.is_ok_and(|text| text.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(stack: u64, mapping: u64, randomization_off: bool) -> Addresses {
        Addresses {
            stack,
            mapping,
            randomization_off,
        }
    }

    #[test]
    fn equal_addresses_alone_do_not_prove_that_randomisation_is_off() {
        let still = at(1, 1, false);
        assert_eq!(judge(&still, &still, true).0, None);
        assert_eq!(judge(&still, &still, false).0.as_deref(), Some("off"));
    }

    #[test]
    fn moving_addresses_show_randomisation_even_where_it_was_asked_to_be_off() {
        let (first, second) = (at(1, 1, true), at(2, 2, true));
        assert_eq!(judge(&first, &second, true).0.as_deref(), Some("on"));
    }

    #[test]
    fn two_variables_of_this_process_have_different_addresses() {
        let seen = own_addresses();
        assert!(seen.stack != 0 && seen.mapping != 0 && seen.stack != seen.mapping);
    }
}
