//! What goes over the network: the broker, the coordinator's files, and how long to wait after a failure.

mod broker;
mod credential;
mod delays;
mod files;

pub use broker::{Broker, ConnectFailure, connect, is_about_credential, publish};
pub use credential::CurrentCredential;
pub use delays::Delays;
pub use files::{
    FileClient, TransferError, describe_refusal, make_agent, make_credulous_agent, read_answer,
};
