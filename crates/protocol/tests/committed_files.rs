//! The committed schemas and examples agree with the types.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use datamill_protocol::{
    CommandAnswer, CommandGreeting, CommandRequest, Credential, CredentialRequest, Enrolment,
    EnrolmentRequest, FactorOffer, Inventory, NoiseFacts, Orders, TrialRecord, TrialSpec,
    WorkerReport, write_schemas,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn protocol_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocol")
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    for (name, text) in write_schemas() {
        let committed = fs::read_to_string(protocol_folder().join(name)).unwrap_or_default();
        assert!(
            committed == text,
            "protocol/{name} differs from the types; rewrite it with: cargo run -p datamill-protocol --example write_schemas"
        );
    }
}

/// Reads a file as a type, writes it again, and compares.
type RoundTrip = fn(&Path);

/// What an example's name begins with, and its way through the type.
const KINDS: [(&str, RoundTrip); 14] = [
    ("trial-spec", round_trip::<TrialSpec>),
    ("trial-record", round_trip::<TrialRecord>),
    ("command-greeting", round_trip::<CommandGreeting>),
    ("command-request", round_trip::<CommandRequest>),
    ("command-answer", round_trip::<CommandAnswer>),
    ("factor-offer", round_trip::<FactorOffer>),
    ("noise", round_trip::<NoiseFacts>),
    ("inventory", round_trip::<Inventory>),
    ("enrolment-request", round_trip::<EnrolmentRequest>),
    ("enrolment", round_trip::<Enrolment>),
    ("credential-request", round_trip::<CredentialRequest>),
    ("credential", round_trip::<Credential>),
    ("orders", round_trip::<Orders>),
    ("worker-report", round_trip::<WorkerReport>),
];

/// The folder of a schema and its file name.
fn split_path(schema: &str) -> (&str, &str) {
    schema.split_once('/').unwrap()
}

/// The examples that lie beside the schemas.
fn list_examples() -> Vec<PathBuf> {
    let schemas = write_schemas();
    let folders: BTreeSet<&str> = schemas.iter().map(|(path, _)| split_path(path).0).collect();
    let folders = folders
        .into_iter()
        .map(|folder| protocol_folder().join(folder).join("examples"));
    folders
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect()
}

#[test]
fn every_example_survives_a_round_trip() {
    let mut seen = BTreeSet::new();
    for path in list_examples() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let kind = KINDS
            .iter()
            .filter(|(kind, _)| name.starts_with(kind))
            .max_by_key(|(kind, _)| kind.len());
        let (kind, round_trip) = kind.unwrap_or_else(|| panic!("{name} is an example of nothing"));
        round_trip(&path);
        seen.insert(*kind);
    }
    let schemas = write_schemas();
    let wanted = schemas
        .iter()
        .map(|(path, _)| split_path(path).1.trim_end_matches(".schema.json"));
    assert_eq!(seen, wanted.collect());
}

#[test]
fn an_unknown_field_is_refused() {
    let path = protocol_folder().join("trials/examples/trial-spec.json");
    let mut spec: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    spec["surprise"] = Value::Bool(true);
    let refused = serde_json::from_value::<TrialSpec>(spec).unwrap_err();
    assert!(refused.to_string().contains("surprise"));
}

fn round_trip<T: DeserializeOwned + Serialize>(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let typed: T =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(
        serde_json::to_value(&typed).unwrap(),
        value,
        "{}",
        path.display()
    );
}
