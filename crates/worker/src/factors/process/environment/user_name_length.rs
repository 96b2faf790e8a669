//! `user_name_length`: characters of the name in USER and LOGNAME.

use datamill_protocol::FactorOffer;

use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, offer_all};
use crate::factors::process::read_back::{Observer, Reading, witness_did};
use crate::process::{set_variable, variable_of};

/// Variables that have the name.
const VARIABLES: [&str; 2] = ["USER", "LOGNAME"];

/// Longest user name.
const LONGEST_USER_NAME: usize = 4096;

/// The name of so many characters that USER and LOGNAME get; `root` for 4.
fn user_name(length: usize) -> String {
    "root"
        .chars()
        .chain(std::iter::repeat('x'))
        .take(length)
        .collect()
}

/// The factor.
pub struct UserNameLength;

impl ProcessFactor for UserNameLength {
    /// Characters.
    type Level = usize;
    /// The values of USER and LOGNAME.
    type Seen = [Option<String>; 2];

    fn name(&self) -> &'static str {
        "user_name_length"
    }

    fn offer(&self) -> FactorOffer {
        offer_all(self.name(), &["4", "8", "16", "32"])
    }

    fn parse(&self, text: &str) -> Result<usize, String> {
        let length = text
            .parse()
            .ok()
            .filter(|length| (1..=LONGEST_USER_NAME).contains(length));
        length.ok_or_else(|| format!("1 to {LONGEST_USER_NAME} characters"))
    }

    fn sets_variable(&self, name: &str) -> bool {
        VARIABLES.contains(&name)
    }

    fn apply(&self, level: &usize, conditions: &mut RunConditions) -> Result<(), String> {
        for name in VARIABLES {
            set_variable(&mut conditions.environment, name, &user_name(*level));
        }
        Ok(())
    }

    fn observe(&self, environment: &[u8]) -> [Option<String>; 2] {
        VARIABLES.map(|name| variable_of(environment, name))
    }

    fn read_back(
        &self,
        _asked: &Asked<'_, usize>,
        seen: &[Option<String>; 2],
        _observer: &Observer<'_>,
    ) -> Reading {
        judge(seen)
    }
}

fn judge(seen: &[Option<String>; 2]) -> Reading {
    let length = |value: &Option<String>| value.as_ref().map(|value| value.chars().count());
    match (length(&seen[0]), length(&seen[1])) {
        (Some(user), Some(logname)) if user == logname => witness_did(
            user.to_string(),
            format!("found {user} characters in each of USER and LOGNAME"),
        ),
        _ => (
            None,
            "A witness process launched like run.sh found USER and LOGNAME of different lengths."
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_have_the_length_asked_for() {
        assert_eq!(user_name(4), "root");
        assert_eq!(user_name(1), "r");
        assert_eq!(user_name(300).len(), 300);
    }

    #[test]
    fn names_of_different_lengths_show_no_level() {
        let seen = |user: &str, logname: &str| [Some(user.to_owned()), Some(logname.to_owned())];
        assert_eq!(judge(&seen("abc", "abc")).0.as_deref(), Some("3"));
        assert_eq!(judge(&seen("abc", "ab")).0, None);
        assert_eq!(judge(&[Some("abc".to_owned()), None]).0, None);
    }
}
