//! What symbols are called, and by what they are known in another build.

mod duplicates;

use std::borrow::Cow;

pub(crate) use duplicates::tell_apart;

/// Marks that compilers put behind the name of a function that they made of another.
const CLONES: [&str; 9] = [
    "part",
    "cold",
    "constprop",
    "isra",
    "clone",
    "lto_priv",
    "llvm",
    "localalias",
    "unlikely",
];

/// The symbol as people read it: C++ and Rust demangled, marks of clones kept.
pub(crate) fn shown(symbol: &str) -> String {
    // C has most names, and both demanglers search them to their ends.
    if !symbol.starts_with(['_', 'Z', 'R']) {
        return symbol.to_owned();
    }
    let (base, marks) = split_marks(symbol);
    let readable = if base.starts_with("_Z") && !is_rust(base) {
        cpp_demangle::Symbol::new(base)
            .ok()
            .and_then(|name| name.demangle().ok())
    } else {
        rustc_demangle::try_demangle(base)
            .ok()
            .map(|name| format!("{name:#}"))
    };
    match readable {
        Some(name) => name + marks,
        None => symbol.to_owned(),
    }
}

/// The function of which the compiler made `symbol`, as people read it.
pub(crate) fn clone_of(symbol: &str) -> Option<String> {
    let (base, marks) = split_marks(symbol);
    marks
        .split('.')
        .any(|mark| CLONES.contains(&mark))
        .then(|| shown(base))
}

/// The symbol without what a compiler counts anew in each build: numbers of clones and local data, Rust's hash.
pub(crate) fn stem(symbol: &str) -> Cow<'_, str> {
    let (base, marks) = split_marks(symbol);
    let base = if is_rust(base) {
        &base[..base.len() - 20]
    } else {
        base
    };
    if base.len() + marks.len() == symbol.len() && !marks.bytes().any(|byte| byte.is_ascii_digit())
    {
        return Cow::Borrowed(symbol);
    }
    let mut stem = base.to_owned();
    for mark in marks.split('.').skip(1).filter(|mark| !is_number(mark)) {
        stem.push('.');
        stem.push_str(mark);
    }
    Cow::Owned(stem)
}

/// A symbol before and from its marks, which begin with a dot; one that begins with a dot has none.
///
/// Rust's older scheme writes `::` within a type as two dots: there marks begin behind the hash.
fn split_marks(symbol: &str) -> (&str, &str) {
    if let Some(end) = end_of_rust(symbol) {
        return symbol.split_at(end);
    }
    match symbol.find('.') {
        Some(dot) if dot > 0 => symbol.split_at(dot),
        _ => (symbol, ""),
    }
}

/// Whether a symbol is of Rust, by its newer scheme or its older one.
pub(crate) fn is_of_rust(symbol: &str) -> bool {
    // C has such names too: `_Report`.
    let is_newer = || rustc_demangle::try_demangle(split_marks(symbol).0).is_ok();
    symbol.starts_with("_R") && is_newer() || end_of_rust(symbol).is_some()
}

fn is_number(mark: &str) -> bool {
    !mark.is_empty() && mark.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether Rust's older scheme made the symbol, whose end is `17h`, sixteen digits and `E`.
fn is_rust(symbol: &str) -> bool {
    end_of_rust(symbol) == Some(symbol.len())
}

/// Where the hash of Rust's older scheme ends: at the end of the symbol, or before its marks.
fn end_of_rust(symbol: &str) -> Option<usize> {
    if !symbol.starts_with("_ZN") {
        return None;
    }
    symbol.match_indices("17h").find_map(|(at, _)| {
        let end = at + 20;
        let hash = symbol.get(at + 3..end)?;
        let (digits, close) = hash.split_at_checked(16)?;
        let is_hash = close == "E" && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_end = matches!(symbol.as_bytes().get(end), None | Some(b'.'));
        (is_hash && is_end).then_some(end)
    })
}

#[cfg(test)]
mod tests {
    use super::{clone_of, is_of_rust, shown, stem};

    #[test]
    fn numbers_of_clones_and_local_data_are_left_out_of_stems() {
        assert_eq!(stem("walk.constprop.12.isra.0"), "walk.constprop.isra");
        assert_eq!(stem("walk.part.0.cold"), "walk.part.cold");
        assert_eq!(stem("counter.3"), "counter");
        assert_eq!(stem("walk2"), "walk2");
        assert_eq!(stem(".Lanon"), ".Lanon");
        assert_eq!(stem("_ZN3git4walk17h0123456789abcdefE"), "_ZN3git4walk");
        assert_eq!(
            stem("_ZN4core3ptr30drop_in_place$LT$git..Walk$GT$17h0123456789abcdefE.llvm.77"),
            "_ZN4core3ptr30drop_in_place$LT$git..Walk$GT$.llvm"
        );
    }

    #[test]
    fn clones_name_the_function_that_they_are_of() {
        assert_eq!(clone_of("walk.part.0").as_deref(), Some("walk"));
        assert_eq!(clone_of("_Z4walki.cold").as_deref(), Some("walk(int)"));
        assert_eq!(clone_of("counter.3"), None);
    }

    #[test]
    fn names_of_c_and_cpp_are_not_of_rust() {
        for symbol in [
            "_RNvC3foo3bar",
            "_RNvC3foo3bar.llvm.77",
            "_RINvNtC3std3mem8align_ofdE",
            "_ZN3git4walk17h0123456789abcdefE",
            "_ZN3git4walk17h0123456789abcdefE.cold",
        ] {
            assert!(is_of_rust(symbol), "{symbol}");
        }
        for symbol in [
            "_Report",
            "_Read",
            "_R",
            "_RIGHT",
            "_RNvC",
            "_Z4walki",
            "_ZN3git4walkEv",
            "walk",
            "",
        ] {
            assert!(!is_of_rust(symbol), "{symbol}");
        }
    }

    #[test]
    fn names_of_cpp_and_rust_are_readable() {
        assert_eq!(shown("_Z4walki.constprop.0"), "walk(int).constprop.0");
        assert_eq!(shown("_ZN3git4walk17h0123456789abcdefE"), "git::walk");
        assert_eq!(
            shown("_ZN4core3ptr30drop_in_place$LT$git..Walk$GT$17h0123456789abcdefE"),
            "core::ptr::drop_in_place<git::Walk>"
        );
        assert_eq!(shown("_RNvC3foo3bar"), "foo::bar");
        assert_eq!(shown("_Z!"), "_Z!");
    }
}
