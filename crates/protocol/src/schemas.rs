//! The JSON Schemas of the contract, as they stand in `protocol/`.

use schemars::{JsonSchema, schema_for};

use crate::{FactorOffer, TrialRecord, TrialSpec};

/// File names and contents of the schemas.
pub fn write_schemas() -> [(&'static str, String); 3] {
    [
        ("trial-spec.schema.json", schema_text::<TrialSpec>()),
        ("trial-record.schema.json", schema_text::<TrialRecord>()),
        ("factor-offer.schema.json", schema_text::<FactorOffer>()),
    ]
}

fn schema_text<T: JsonSchema>() -> String {
    // The alternate form of a JSON value is its indented text.
    format!("{:#}\n", schema_for!(T).as_value())
}
