//! `session`: whether the background load shares the session of `run.sh`.

use datamill_protocol::{FactorFacts, FactorOffer};

use crate::factors::fact::fact;
use crate::factors::world::factor::{BesideRun, WorldFactor, offer_all};
use crate::factors::world::load_look::LoadLook;
use crate::process::Witness;
use crate::world::WorldSettings;

const SAME: &str = "same";
const DIFFERENT: &str = "different";

/// The factor.
pub struct Session;

impl WorldFactor for Session {
    fn name(&self) -> &'static str {
        "session"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &[SAME, DIFFERENT])
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        match level {
            SAME | DIFFERENT => Ok(()),
            _ => Err("same, different".to_owned()),
        }
    }

    // Sessions are made when the two scripts are launched, so the factor only says which.
    fn shape_world(&self, level: &str, settings: &mut WorldSettings<'_>) {
        settings.shares_session &= level == SAME;
    }

    fn wants_witness(&self) -> bool {
        true
    }

    fn observe_beside(&self, level: &str, beside: &BesideRun<'_>) -> Option<FactorFacts> {
        let (observed, evidence) = match (beside.looks, beside.witness) {
            (Some((look, _)), Some(witness)) => compare_sessions(look, witness),
            _ => (
                Some(level),
                "No background load runs, whose session could be shared or not.".to_owned(),
            ),
        };
        let observed = observed.map(str::to_owned);
        Some(fact(self.name(), level, observed, evidence))
    }
}

fn compare_sessions(
    look: &LoadLook,
    witness: &Result<Witness, String>,
) -> (Option<&'static str>, String) {
    let witness = match witness {
        Ok(witness) => witness,
        Err(cause) => return (None, cause.clone()),
    };
    if look.end.is_some() {
        return (None, "The background load had ended already.".to_owned());
    }
    match (&look.autogroup, &witness.autogroup) {
        (Some(load), Some(run)) => (
            Some(session_name(load == run)),
            format!(
                "The scheduler has the background load in {load} and a witness process launched like run.sh in {run}."
            ),
        ),
        _ => {
            let said = |leads: bool| {
                if leads {
                    "leads its own session"
                } else {
                    "leads none"
                }
            };
            let observed = match (look.leads_session, witness.leads_session) {
                (false, false) => Some(SAME),
                (true, true) => Some(DIFFERENT),
                _ => None,
            };
            (
                observed,
                format!(
                    "The background load {}, a witness process launched like run.sh {}; this kernel has no autogroup.",
                    said(look.leads_session),
                    said(witness.leads_session)
                ),
            )
        }
    }
}

fn session_name(same: bool) -> &'static str {
    if same { SAME } else { DIFFERENT }
}
