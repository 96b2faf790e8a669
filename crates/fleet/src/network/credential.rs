//! The credential for the broker, which changes while the agent runs.

use std::sync::{Arc, Mutex, PoisonError};

use crate::disk::Identity;

/// The user JWT that the next connection uses.
#[derive(Clone)]
pub struct CurrentCredential(Arc<Mutex<String>>);

impl CurrentCredential {
    /// That of an identity.
    pub fn of(identity: &Identity) -> Self {
        Self(Arc::new(Mutex::new(identity.nats_jwt.clone())))
    }

    /// The JWT.
    pub fn read(&self) -> String {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The next connection uses this one.
    pub fn replace(&self, jwt: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = jwt;
    }
}
