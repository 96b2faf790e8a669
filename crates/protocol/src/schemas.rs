//! The JSON Schemas of both records, as they stand in `protocol/`.

use schemars::{JsonSchema, schema_for};

use crate::{TrialRecord, TrialSpec};

/// File names and contents of the schemas.
pub fn write_schemas() -> [(&'static str, String); 2] {
    [
        ("trial-spec.schema.json", schema_text::<TrialSpec>()),
        ("trial-record.schema.json", schema_text::<TrialRecord>()),
    ]
}

fn schema_text<T: JsonSchema>() -> String {
    // The alternate form of a JSON value is its indented text.
    format!("{:#}\n", schema_for!(T).as_value())
}
