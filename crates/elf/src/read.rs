//! From the bytes of a program to its table.

use std::ops::Range;

use rayon::prelude::*;

use crate::digest::{digest, mix, spell};
use crate::image::frames::read_frames;
use crate::image::layout::Layout;
use crate::image::slots::read_slots;
use crate::image::symbols::{Place, symbols_of};
use crate::image::{Image, build};
use crate::names::{shown, tell_apart};
use crate::normal::{Form, add_held, content_of, list_starts, read_function};
use crate::rows::{Names, Piece, Rows};
use crate::table::FunctionTable;
use crate::trouble::Trouble;

/// Pieces of the code for each thread, so that one that finished early finds more, and the fewest bytes of one.
/// The result does not depend on them.
const PIECES: u64 = 8;
const LEAST_PIECE: u64 = 1 << 15;

/// Reads the table of a program from its bytes, with names from the bytes of its separate debug file if there are any.
///
/// # Errors
/// [`Trouble`] where `bytes` are not a linked ELF file of an architecture that is understood. A debug file that cannot
/// be read is named in the table's field `lost`.
pub fn read_table(bytes: &[u8], debug: Option<&[u8]>) -> Result<FunctionTable, Trouble> {
    read_rows(bytes, debug, |rows| FunctionTable::from(rows))
}

/// Reads it as rows, and returns what `take` makes of them: see [`read_table`].
pub(crate) fn read_rows<T>(
    bytes: &[u8],
    debug: Option<&[u8]>,
    take: impl FnOnce(&Rows<'_>) -> T,
) -> Result<T, Trouble> {
    let file = parse(bytes)?;
    let image = Image::new(&file)?;
    let mut lost = Vec::new();
    let debug_file = debug.and_then(|bytes| match object::File::parse(bytes) {
        Ok(debug) => Some(debug),
        Err(why) => {
            lost.push(format!("its debug file cannot be read: {why}"));
            None
        }
    });
    let build = build::read_build(&file, debug_file.as_ref(), &image);
    let slots = read_slots(&file, &image);
    let (mut symbols, mut source) = symbols_of(&file, &image);
    if source != "symbols"
        && let Some(debug) = &debug_file
    {
        let found = symbols_of(debug, &image);
        if found.1 == "symbols" {
            (symbols, source) = (found.0, "debug file");
        }
    }
    if source == "dynamic symbols" {
        let frames = unnamed(read_frames(&image), &symbols.functions);
        if !frames.is_empty() {
            source = "frames";
            lost.push(
                "no symbol table: functions that nothing outside calls have no names".to_owned(),
            );
            lost.push(
                "no symbol table: changed data show in the functions that use them, if at all"
                    .to_owned(),
            );
        } else if symbols.functions.is_empty() {
            lost.push("neither symbols nor unwinding tables: no functions".to_owned());
        } else {
            lost.push("no symbol table: only functions that others may call".to_owned());
        }
        symbols.functions.extend(frames);
        symbols.functions.sort_by_key(|place| place.start);
    }
    let layout = Layout::new(image, symbols, slots);
    let (pieces, (content, data)) = rayon::join(
        || read_pieces(&layout),
        || rayon::join(|| whole(&layout), || content_of(&layout)),
    );
    let names = Names {
        functions: function_names(&layout.functions, &pieces),
        objects: tell_apart(
            layout
                .objects
                .iter()
                .map(|place| (shown(place.symbol), place.file))
                .collect(),
        ),
        imports: layout
            .slots
            .imports()
            .iter()
            .map(|symbol| shown(symbol))
            .collect(),
    };
    Ok(take(&Rows {
        machine: layout.image.machine.name(),
        source,
        content,
        build,
        lost,
        names,
        places: &layout.functions,
        pieces,
        data,
    }))
}

fn read_pieces(layout: &Layout<'_>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = part(&layout.functions)
        .into_par_iter()
        .map_init(
            || Form::new(layout),
            |form, range| Piece {
                first: range.start,
                reads: range
                    .map(|index| read_function(layout, index, form))
                    .collect(),
                used: form.take_used(),
            },
        )
        .collect();
    if pieces.iter().any(|piece| !piece.used.open.is_empty()) {
        let starts = list_starts(layout, pieces.iter().map(|piece| &piece.used));
        pieces
            .par_iter_mut()
            .for_each(|piece| add_held(layout, &starts, &mut piece.reads, &piece.used));
    }
    pieces
}

/// Functions in rows of about the same number of bytes.
fn part(functions: &[Place<'_>]) -> Vec<Range<usize>> {
    let length = |place: &Place<'_>| place.end - place.start;
    let whole = functions
        .iter()
        .fold(0u64, |sum, place| sum.saturating_add(length(place)));
    let most = (whole / (PIECES * rayon::current_num_threads() as u64)).max(LEAST_PIECE);
    let mut pieces = Vec::new();
    let (mut first, mut bytes) = (0, 0u64);
    for (index, place) in functions.iter().enumerate() {
        bytes = bytes.saturating_add(length(place));
        if bytes >= most || index + 1 == functions.len() {
            pieces.push(first..index + 1);
            (first, bytes) = (index + 1, 0);
        }
    }
    pieces
}

fn parse(bytes: &[u8]) -> Result<object::File<'_>, Trouble> {
    match object::FileKind::parse(bytes) {
        Ok(object::FileKind::Elf32 | object::FileKind::Elf64) => {}
        Ok(_) => return Err(Trouble::NotElf("another format".to_owned())),
        Err(why) => return Err(Trouble::NotElf(why.to_string())),
    }
    object::File::parse(bytes).map_err(|why| Trouble::NotElf(why.to_string()))
}

/// Frames of code that no symbol names; those that are named ascend.
fn unnamed<'a>(frames: Vec<Place<'a>>, named: &[Place<'a>]) -> Vec<Place<'a>> {
    let is_named = |place: &Place<'a>| {
        named
            .binary_search_by_key(&place.start, |named| named.start)
            .is_ok()
    };
    frames
        .into_iter()
        .filter(|place| !is_named(place))
        .collect()
}

/// Names that occur once. What has no symbol is named by its content, which a move does not change.
fn function_names(functions: &[Place<'_>], pieces: &[Piece]) -> Vec<String> {
    let reads = pieces.iter().flat_map(|piece| &piece.reads);
    let names = functions.iter().zip(reads).map(|(place, read)| {
        let name = if place.symbol.is_empty() {
            // Twelve digits of its digest.
            let digits = spell(read.code);
            let digits = std::str::from_utf8(&digits[..12]).expect("digits are ASCII");
            ["nameless-", digits].concat()
        } else {
            shown(place.symbol)
        };
        (name, place.file)
    });
    tell_apart(names.collect())
}

/// Digest of the bytes of all code and data, and of the libraries that the program needs.
fn whole(layout: &Layout<'_>) -> String {
    let mut parts = Vec::new();
    for section in &layout.image.sections {
        if section.name.starts_with(".note") || section.name == ".gnu_debuglink" {
            continue;
        }
        parts.extend_from_slice(section.name.as_bytes());
        parts.extend_from_slice(&section.size.to_le_bytes());
        let (first, second) = mix(section.bytes);
        parts.extend_from_slice(&first.to_le_bytes());
        parts.extend_from_slice(&second.to_le_bytes());
    }
    digest(&parts)
}
