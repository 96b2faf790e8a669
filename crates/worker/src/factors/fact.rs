//! What is read back of a factor.

use datamill_protocol::FactorFacts;

/// Read-back of one factor.
pub fn fact(name: &str, asked: &str, observed: Option<String>, evidence: String) -> FactorFacts {
    FactorFacts {
        name: name.to_owned(),
        asked: asked.to_owned(),
        observed,
        evidence,
    }
}
