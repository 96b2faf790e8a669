//! Which process of the agent speaks: so that a goodbye ends no other than its own.

use std::fs::File;
use std::io::{self, Read};

use datamill_protocol::Session;

use super::folder::FleetFolder;
use super::seen::Seen;

/// Counts one more session, durably, and draws its identity.
pub fn begin_session(folder: &FleetFolder, seen: &mut Seen) -> io::Result<Session> {
    let mut drawn = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut drawn)?;
    let next = Seen {
        sessions: seen.sessions + 1,
        ..seen.clone()
    };
    next.write(folder)?;
    *seen = next;
    Ok(Session {
        number: seen.sessions,
        id: format!("{:016x}", u64::from_ne_bytes(drawn)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_higher_number_than_all_before_whatever_orders_come() {
        let place = std::env::temp_dir().join(format!("datamill-session-{}", std::process::id()));
        let folder = FleetFolder::open(&place).unwrap();
        let first = begin_session(&folder, &mut Seen::read(&folder).unwrap()).unwrap();
        let mut seen = Seen::read(&folder).unwrap();
        let second = begin_session(&folder, &mut seen).unwrap();
        assert_eq!((first.number, second.number), (1, 2));
        assert_ne!(first.id, second.id);
        assert_eq!(Seen::read(&folder).unwrap(), seen);
        std::fs::remove_dir_all(place).unwrap();
    }
}
