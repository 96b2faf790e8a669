//! What hosts offer, as sentences.

use datamill_protocol::{FactorOffer, FactorStage};

use super::*;

fn named<'a>(offers: &'a [FactorOffer], name: &str) -> &'a FactorOffer {
    offers.iter().find(|offer| offer.name == name).unwrap()
}

#[test]
fn a_host_with_a_compiler_offers_every_build_factor() {
    let offers = offer_factors();
    assert_eq!(offers.len(), BUILD_FACTORS.len());
    for offer in &offers {
        assert_eq!(offer.stage, FactorStage::Build);
        assert_eq!(offer.reason, "", "{}", offer.name);
        assert!(offer.missing.is_empty(), "{offer:?}");
    }
    assert_eq!(named(&offers, "pie").levels, ["off", "on"]);
    assert_eq!(named(&offers, "symbol_seed").levels, ["default", "random"]);
    assert_eq!(
        named(&offers, "link_order").levels,
        ["default", "alphabetical", "reverse", "random"]
    );
}

#[test]
fn every_level_that_is_offered_is_understood() {
    for offer in offer_factors() {
        for level in &offer.levels {
            let parsed = crate::WrapperSettings::default().parse_level(&offer.name, level);
            assert_eq!(parsed, Some(Ok(())), "{} {level}", offer.name);
        }
    }
}

#[test]
fn a_host_without_a_compiler_has_no_levels_and_says_so() {
    let offers = offer_with(&Toolbox::find("/nonexistent"));
    for offer in &offers {
        assert!(offer.levels.is_empty() && offer.missing.is_empty());
        assert!(!offer.reason.is_empty(), "{}", offer.name);
    }
    assert_eq!(
        named(&offers, "optimization").reason,
        "no compiler is installed here"
    );
}

#[test]
fn a_compiler_without_a_linker_has_no_types_and_orders() {
    let offers = offer_with(&Toolbox::of(&["cc", "gcc"], "/usr/bin"));
    assert_eq!(named(&offers, "pie").reason, "no linker is installed here");
    assert_eq!(
        named(&offers, "link_order").reason,
        "no linker is installed here"
    );
    assert_eq!(named(&offers, "optimization").reason, "");
}
