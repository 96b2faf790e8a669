//! Where functions and named data begin and end.

use std::collections::HashMap;

use object::{Object, ObjectSymbol, SymbolKind};

use super::{Holding, Image, Machine};

/// A stretch of code or data and the names that it has.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The symbol that it is known by; empty where the file has none.
    pub(crate) symbol: &'a str,
    pub(crate) aliases: Vec<&'a str>,
    pub(crate) file: Option<&'a str>,
    /// Thumb code.
    pub(crate) thumb: bool,
}

/// What a symbol table names.
#[derive(Default)]
pub(crate) struct Symbols<'a> {
    pub(crate) functions: Vec<Place<'a>>,
    pub(crate) objects: Vec<Place<'a>>,
    /// Starts of data within code, and of code after it, as ARM's tables mark them.
    pub(crate) marks: Vec<(u64, bool)>,
    /// Names that a linker gives to where sections begin and end, by their addresses.
    pub(crate) boundaries: HashMap<u64, &'a str>,
}

struct Named<'a> {
    start: u64,
    size: u64,
    /// 0 for names that other files see, 1 for weak ones, 2 for local ones.
    rank: u8,
    symbol: &'a str,
    file: Option<&'a str>,
    thumb: bool,
}

/// Reads symbols of functions and data that lie in `image`.
///
/// A function without a size ends where the next one begins, or its section. Names of the same code are one place,
/// known by the name that most files see, the shortest and first in the alphabet among those.
pub(crate) fn read_symbols<'a>(
    symbols: impl Iterator<Item = object::Symbol<'a, 'a>>,
    image: &Image<'a>,
) -> Symbols<'a> {
    let (mut functions, mut objects, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    let mut file = None;
    let mut boundaries = HashMap::new();
    for symbol in symbols {
        if symbol.kind() == SymbolKind::File {
            file = symbol.name().ok().filter(|name| !name.is_empty());
            continue;
        }
        let Ok(name) = symbol.name() else { continue };
        if symbol.size() == 0 && is_boundary(name) {
            let known = boundaries.entry(symbol.address()).or_insert(name);
            *known = name.min(known);
        }
        if name.is_empty() || symbol.is_undefined() || symbol.section_index().is_none() {
            continue;
        }
        if name.starts_with('$') && matches!(image.machine, Machine::Arm | Machine::Aarch64) {
            marks.push((symbol.address(), name.starts_with("$d")));
            continue;
        }
        let rank = if symbol.is_local() {
            2
        } else {
            u8::from(symbol.is_weak())
        };
        let from = if symbol.is_local() { file } else { None };
        let thumb = image.machine == Machine::Arm && symbol.address() & 1 == 1;
        let mut named = Named {
            start: symbol.address(),
            size: symbol.size(),
            rank,
            symbol: name,
            file: from,
            thumb,
        };
        match symbol.kind() {
            SymbolKind::Text => {
                named.start &= if thumb { !1 } else { !0 };
                functions.push(named);
            }
            SymbolKind::Data if named.size > 0 => objects.push(named),
            _ => {}
        }
    }
    marks.sort_unstable();
    Symbols {
        functions: places(functions, image, true),
        objects: places(objects, image, false),
        marks,
        boundaries,
    }
}

fn is_boundary(name: &str) -> bool {
    let ends = [
        "_array_start",
        "_array_end",
        "_iplt_start",
        "_iplt_end",
        "_BEGIN__",
        "_END__",
    ];
    [
        "_end",
        "end",
        "_edata",
        "edata",
        "_etext",
        "etext",
        "__bss_start",
    ]
    .contains(&name)
        || name.starts_with("__start_")
        || name.starts_with("__stop_")
        || ends.iter().any(|end| name.ends_with(end))
}

/// The symbols of `file`, or those that it shows to the loader where it has no others.
pub(crate) fn symbols_of<'a>(
    file: &'a object::File<'a>,
    image: &Image<'a>,
) -> (Symbols<'a>, &'static str) {
    let found = read_symbols(file.symbols(), image);
    if found.functions.is_empty() {
        let mut shown = read_symbols(file.dynamic_symbols(), image);
        // A stripped library may have kept what tells data within code from code.
        if shown.marks.is_empty() {
            shown.marks = found.marks;
        }
        return (shown, "dynamic symbols");
    }
    (found, "symbols")
}

fn places<'a>(mut named: Vec<Named<'a>>, image: &Image<'a>, code: bool) -> Vec<Place<'a>> {
    named.retain(|one| {
        image
            .section_at(one.start)
            .is_some_and(|section| (section.holding == Holding::Code) == code)
    });
    named.sort_by(|a, b| {
        (a.start, a.rank, a.symbol.len(), a.symbol).cmp(&(
            b.start,
            b.rank,
            b.symbol.len(),
            b.symbol,
        ))
    });
    let mut places: Vec<Place<'a>> = Vec::with_capacity(named.len());
    for one in named {
        let end = one.start.saturating_add(one.size);
        match places.last_mut() {
            Some(last) if last.start == one.start => {
                last.end = last.end.max(end);
                if last.symbol != one.symbol && !last.aliases.contains(&one.symbol) {
                    last.aliases.push(one.symbol);
                }
            }
            _ => places.push(Place {
                start: one.start,
                end,
                symbol: one.symbol,
                aliases: Vec::new(),
                file: one.file,
                thumb: one.thumb,
            }),
        }
    }
    bound(&mut places, image);
    places
}

/// Gives places without a size one, and ends all within their sections.
fn bound(places: &mut [Place<'_>], image: &Image<'_>) {
    for index in 0..places.len() {
        let next = places.get(index + 1).map(|place| place.start);
        let place = &mut places[index];
        let Some(section) = image.section_at(place.start) else {
            continue;
        };
        let limit = section.address + section.size;
        if place.end == place.start {
            place.end = next.map_or(limit, |next| next.min(limit));
        }
        place.end = place.end.min(limit);
    }
}
