//! The JSON Schemas of the contract, as they stand in `protocol/`.

use schemars::{JsonSchema, schema_for};

use crate::{
    CommandAnswer, CommandGreeting, CommandRequest, Credential, CredentialRequest, Enrolment,
    EnrolmentRequest, FactorOffer, Inventory, NoiseFacts, Orders, TrialRecord, TrialSpec,
    WorkerReport,
};

/// Paths in `protocol/` and contents of the schemas; beside each lie its examples.
pub fn write_schemas() -> [(&'static str, String); 14] {
    [
        ("trials/trial-spec.schema.json", schema_text::<TrialSpec>()),
        (
            "trials/trial-record.schema.json",
            schema_text::<TrialRecord>(),
        ),
        (
            "commands/command-greeting.schema.json",
            schema_text::<CommandGreeting>(),
        ),
        (
            "commands/command-request.schema.json",
            schema_text::<CommandRequest>(),
        ),
        (
            "commands/command-answer.schema.json",
            schema_text::<CommandAnswer>(),
        ),
        (
            "machine/factor-offer.schema.json",
            schema_text::<FactorOffer>(),
        ),
        ("machine/noise.schema.json", schema_text::<NoiseFacts>()),
        ("machine/inventory.schema.json", schema_text::<Inventory>()),
        (
            "joining/enrolment-request.schema.json",
            schema_text::<EnrolmentRequest>(),
        ),
        ("joining/enrolment.schema.json", schema_text::<Enrolment>()),
        (
            "joining/credential-request.schema.json",
            schema_text::<CredentialRequest>(),
        ),
        (
            "joining/credential.schema.json",
            schema_text::<Credential>(),
        ),
        ("orders/orders.schema.json", schema_text::<Orders>()),
        (
            "reports/worker-report.schema.json",
            schema_text::<WorkerReport>(),
        ),
    ]
}

fn schema_text<T: JsonSchema>() -> String {
    // The alternate form of a JSON value is its indented text.
    format!("{:#}\n", schema_for!(T).as_value())
}
