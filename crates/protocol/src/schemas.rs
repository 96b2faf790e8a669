//! The JSON Schemas of the contract, as they stand in `protocol/`.

use schemars::{JsonSchema, schema_for};

use crate::{
    CommandAnswer, CommandGreeting, CommandRequest, Credential, CredentialRequest, Enrolment,
    EnrolmentRequest, FactorOffer, Inventory, NoiseFacts, Orders, TrialRecord, TrialSpec,
    WorkerReport,
};

/// File names and contents of the schemas.
pub fn write_schemas() -> [(&'static str, String); 14] {
    [
        ("trial-spec.schema.json", schema_text::<TrialSpec>()),
        ("trial-record.schema.json", schema_text::<TrialRecord>()),
        (
            "command-greeting.schema.json",
            schema_text::<CommandGreeting>(),
        ),
        (
            "command-request.schema.json",
            schema_text::<CommandRequest>(),
        ),
        ("command-answer.schema.json", schema_text::<CommandAnswer>()),
        ("factor-offer.schema.json", schema_text::<FactorOffer>()),
        ("noise.schema.json", schema_text::<NoiseFacts>()),
        ("inventory.schema.json", schema_text::<Inventory>()),
        (
            "enrolment-request.schema.json",
            schema_text::<EnrolmentRequest>(),
        ),
        ("enrolment.schema.json", schema_text::<Enrolment>()),
        (
            "credential-request.schema.json",
            schema_text::<CredentialRequest>(),
        ),
        ("credential.schema.json", schema_text::<Credential>()),
        ("orders.schema.json", schema_text::<Orders>()),
        ("worker-report.schema.json", schema_text::<WorkerReport>()),
    ]
}

fn schema_text<T: JsonSchema>() -> String {
    // The alternate form of a JSON value is its indented text.
    format!("{:#}\n", schema_for!(T).as_value())
}
