//! Children of a traced process, and the end of one that ends without a word.

use std::sync::atomic::Ordering;

use crate::allocator::settle_now;
use crate::ledger;

/// Have children start over with what a fork leaves them.
pub fn watch() {
    unsafe { libc::pthread_atfork(Some(before), None, Some(in_child)) };
}

extern "C" fn before() {
    settle_now();
    // Before the child exists: from now on both add to the same counters.
    if let Some(header) = ledger::header() {
        header.shared.store(1, Ordering::SeqCst);
    }
}

extern "C" fn in_child() {
    crate::allocator::start_over();
    crate::turns::start_over();
    if let Some(header) = ledger::header() {
        header.forks.fetch_add(1, Ordering::Relaxed);
    }
}

/// In place of the C library's: what is still open is counted first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: libc::c_int) -> ! {
    settle_now();
    loop {
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}
