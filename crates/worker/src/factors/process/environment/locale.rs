//! `locale`: the locale in LANG and LC_ALL.

use datamill_protocol::FactorOffer;

use super::installed_locales::{find_locale, is_locale_name, list_locales};
use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, offer_each};
use crate::factors::process::read_back::{Observer, Reading, witness_did};
use crate::process::{set_variable, variable_of};

/// Most locales that are listed; others that are installed can be asked for all the same.
const MOST_LOCALES: usize = 12;

/// Variables that name the locale.
const VARIABLES: [&str; 2] = ["LANG", "LC_ALL"];

/// The factor.
pub struct Locale;

impl ProcessFactor for Locale {
    type Level = String;
    /// The values of LANG and LC_ALL.
    type Seen = [Option<String>; 2];

    fn name(&self) -> &'static str {
        "locale"
    }

    fn offer(&self) -> FactorOffer {
        let mut levels = vec!["C.UTF-8".to_owned(), "C".to_owned()];
        let others = list_locales()
            .into_iter()
            .filter(|name| !levels.contains(name));
        let others: Vec<String> = others.collect();
        levels.extend(others.into_iter().take(MOST_LOCALES - 2));
        offer_each(
            self.name(),
            levels.into_iter().map(|name| {
                let refusal = find_locale(&name).err();
                (name, refusal)
            }),
        )
    }

    fn parse(&self, text: &str) -> Result<String, String> {
        if is_locale_name(text) {
            Ok(text.to_owned())
        } else {
            Err("the name of a locale, as `locale -a` lists them".to_owned())
        }
    }

    fn check(&self, level: &String) -> Result<(), String> {
        find_locale(level).map(drop)
    }

    fn sets_variable(&self, name: &str) -> bool {
        VARIABLES.contains(&name)
    }

    fn apply(&self, level: &String, conditions: &mut RunConditions) -> Result<(), String> {
        find_locale(level)?;
        for name in VARIABLES {
            set_variable(&mut conditions.environment, name, level);
        }
        Ok(())
    }

    fn observe(&self, environment: &[u8]) -> [Option<String>; 2] {
        VARIABLES.map(|name| variable_of(environment, name))
    }

    fn read_back(
        &self,
        asked: &Asked<'_, String>,
        seen: &[Option<String>; 2],
        _observer: &Observer<'_>,
    ) -> Reading {
        let place = find_locale(&asked.level).unwrap_or_else(|reason| reason);
        judge(asked.text, &place, seen)
    }
}

fn judge(asked: &str, place: &str, seen: &[Option<String>; 2]) -> Reading {
    match (seen[0].as_deref(), seen[1].as_deref()) {
        (Some(lang), Some(all)) if lang == all => {
            let place = if all == asked {
                place
            } else {
                "which was not asked for"
            };
            witness_did(
                all.to_owned(),
                format!("found the locale {all} in LANG and LC_ALL; {place}"),
            )
        }
        (lang, all) => (
            None,
            format!(
                "A witness process launched like run.sh found LANG={} and LC_ALL={}.",
                lang.unwrap_or_default(),
                all.unwrap_or_default()
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_contradict_each_other_show_no_level() {
        let c = || Some("C".to_owned());
        assert_eq!(judge("C", "here", &[c(), c()]).0.as_deref(), Some("C"));
        assert_eq!(judge("C", "here", &[c(), None]).0, None);
    }
}
