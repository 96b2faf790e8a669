//! From the bytes of a program to its table.

use rayon::prelude::*;

use crate::digest::{digest, mix, spell};
use crate::image::frames::read_frames;
use crate::image::layout::Layout;
use crate::image::slots::read_slots;
use crate::image::symbols::{Place, symbols_of};
use crate::image::{Image, build};
use crate::names::{clone_of, shown, tell_apart};
use crate::normal::{Form, Read, Reference, content_of, read_function};
use crate::table::{FORM, Function, FunctionTable};
use crate::trouble::Trouble;

/// Functions that one thread reads at a time. The result does not depend on it.
const PIECE: usize = 256;

/// Reads the table of a program from its bytes, with names from the bytes of its separate debug file if there are any.
///
/// # Errors
/// [`Trouble`] where `bytes` are not a linked ELF file of an architecture that is understood. A debug file that cannot
/// be read is named in the table's field `lost`.
pub fn read_table(bytes: &[u8], debug: Option<&[u8]>) -> Result<FunctionTable, Trouble> {
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
                "no symbol table: data without names are left out, changed or not".to_owned(),
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
    let reads: Vec<Read> = (0..layout.functions.len())
        .collect::<Vec<_>>()
        .par_chunks(PIECE)
        .map(|piece| {
            let mut form = Form::default();
            piece
                .iter()
                .map(|index| read_function(&layout, *index, &mut form))
                .collect::<Vec<_>>()
        })
        .flatten()
        .collect();
    let data = content_of(&layout);
    let names = function_names(&layout.functions, &reads);
    let data_names: Vec<&str> = data.iter().map(|object| object.name.as_str()).collect();
    let functions: Vec<Function> = layout
        .functions
        .par_iter()
        .zip(reads)
        .enumerate()
        .map(|(index, (place, read))| function(place, read, &names[index], &names, &data_names))
        .collect();
    let content = whole(&layout);
    Ok(FunctionTable {
        form: FORM,
        machine: layout.image.machine.name().to_owned(),
        source: source.to_owned(),
        content,
        functions,
        data,
        build,
        lost,
    })
}

fn parse(bytes: &[u8]) -> Result<object::File<'_>, Trouble> {
    match object::FileKind::parse(bytes) {
        Ok(object::FileKind::Elf32 | object::FileKind::Elf64) => {}
        Ok(_) => return Err(Trouble::NotElf("another format".to_owned())),
        Err(why) => return Err(Trouble::NotElf(why.to_string())),
    }
    object::File::parse(bytes).map_err(|why| Trouble::NotElf(why.to_string()))
}

/// Frames of code that no symbol names.
fn unnamed<'a>(frames: Vec<Place<'a>>, named: &[Place<'a>]) -> Vec<Place<'a>> {
    let starts: std::collections::HashSet<u64> = named.iter().map(|place| place.start).collect();
    frames
        .into_iter()
        .filter(|place| !starts.contains(&place.start))
        .collect()
}

/// Names that occur once. What has no symbol is named by its content, which a move does not change.
fn function_names(functions: &[Place<'_>], reads: &[Read]) -> Vec<String> {
    let names = functions.iter().zip(reads).map(|(place, read)| {
        let name = if place.symbol.is_empty() {
            format!("nameless-{:012x}", read.code.0 >> 16)
        } else {
            shown(place.symbol)
        };
        (name, place.file)
    });
    tell_apart(names.collect())
}

fn function(
    place: &Place<'_>,
    read: Read,
    name: &str,
    names: &[String],
    data: &[&str],
) -> Function {
    let told = |references: Vec<Reference>| {
        references
            .into_iter()
            .map(|reference| match reference {
                Reference::Function(index) => names[index].clone(),
                Reference::Object(index) => data[index].to_owned(),
                Reference::Import(symbol) => shown(&symbol),
            })
            .collect()
    };
    Function {
        name: name.to_owned(),
        code: spell(read.code),
        code_without_lines: read.without_lines.map(spell),
        code_without_names: read.without_names.map(spell),
        size: place.end - place.start,
        instructions: read.instructions,
        loops: read.loops,
        symbol: place.symbol.to_owned(),
        clone_of: clone_of(place.symbol),
        file: place.file.map(str::to_owned),
        aliases: place.aliases.iter().map(|alias| shown(alias)).collect(),
        calls: told(read.calls),
        refers_to: told(read.refers_to),
        constants: read.constants,
    }
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
