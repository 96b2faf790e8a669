//! The committed schemas and examples agree with the types.

use std::fs;
use std::path::{Path, PathBuf};

use datamill_protocol::{TrialRecord, TrialSpec, write_schemas};
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

#[test]
fn every_example_survives_a_round_trip() {
    let mut specs = 0;
    let mut records = 0;
    for entry in fs::read_dir(protocol_folder().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("trial-spec") {
            specs += 1;
            round_trip::<TrialSpec>(&path);
        } else if name.starts_with("trial-record") {
            records += 1;
            round_trip::<TrialRecord>(&path);
        } else {
            panic!("{name} is an example of nothing");
        }
    }
    assert!(specs >= 1 && records >= 2);
}

#[test]
fn an_unknown_field_is_refused() {
    let path = protocol_folder().join("examples/trial-spec.json");
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
