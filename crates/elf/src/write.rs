//! A table as JSON. Most of it are names and digests, which a serialiser looks at letter by letter.

use rayon::prelude::*;

use crate::digest::spell;
use crate::image::symbols::Place;
use crate::names::{clone_of, shown};
use crate::normal::{Content, Read, Reference, Used};

/// Functions in a row that one thread read.
pub(crate) struct Piece {
    /// The index of the first one.
    pub(crate) first: usize,
    pub(crate) reads: Vec<Read>,
    pub(crate) used: Used,
}

/// Names of functions, data and imports by their indices, each as JSON.
pub(crate) struct Names {
    pub(crate) functions: Vec<String>,
    pub(crate) objects: Vec<String>,
    pub(crate) imports: Vec<String>,
}

/// Names as JSON.
pub(crate) fn quote_all(names: Vec<String>) -> Vec<String> {
    names.iter().map(|name| quote(name)).collect()
}

/// A text as JSON.
pub(crate) fn quote(text: &str) -> String {
    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    if !text.as_bytes().iter().all(is_plain) {
        return serde_json::to_string(text).expect("a text is JSON");
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    quoted.push_str(text);
    quoted.push('"');
    quoted
}

/// The list of functions, in pieces that follow each other.
pub(crate) fn write_functions(
    pieces: &[Piece],
    places: &[Place<'_>],
    names: &Names,
) -> Vec<Vec<u8>> {
    pieces
        .par_iter()
        .map(|piece| {
            let mut out = Vec::with_capacity(256 * piece.reads.len());
            let (mut calls, mut refers_to, mut constants) = (
                piece.used.calls.as_slice(),
                piece.used.refers_to.as_slice(),
                piece.used.constants.as_slice(),
            );
            for (index, read) in (piece.first..).zip(&piece.reads) {
                if index > 0 {
                    out.push(b',');
                }
                write_function(&mut out, &places[index], read, &names.functions[index]);
                write_references(&mut out, "calls", split_off(&mut calls, read.calls), names);
                write_references(
                    &mut out,
                    "refers_to",
                    split_off(&mut refers_to, read.refers_to),
                    names,
                );
                let constants = split_off(&mut constants, read.constants);
                if !constants.is_empty() {
                    write_key(&mut out, "constants");
                    write_list(&mut out, constants, |out, value| {
                        if *value < 0 {
                            out.push(b'-');
                        }
                        write_number(out, value.unsigned_abs());
                    });
                }
                out.push(b'}');
            }
            out
        })
        .collect()
}

/// The list of named data.
pub(crate) fn write_data(data: &[Content<'_>], names: &Names) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, (content, name)) in data.iter().zip(&names.objects).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"name\":");
        out.extend_from_slice(name.as_bytes());
        write_digest(&mut out, "content", content.digest);
        if let Some(digest) = content.without_names {
            write_digest(&mut out, "content_without_names", digest);
        }
        write_key(&mut out, "size");
        write_number(&mut out, content.size);
        write_key(&mut out, "section");
        out.extend_from_slice(quote(content.section).as_bytes());
        write_references(&mut out, "refers_to", &content.refers_to, names);
        out.push(b'}');
    }
    out
}

fn split_off<'p, T>(list: &mut &'p [T], length: usize) -> &'p [T] {
    let (first, rest) = list.split_at(length);
    *list = rest;
    first
}

fn write_function(out: &mut Vec<u8>, place: &Place<'_>, read: &Read, name: &str) {
    out.extend_from_slice(b"{\"name\":");
    out.extend_from_slice(name.as_bytes());
    write_digest(out, "code", read.code);
    if let Some(digest) = read.without_lines {
        write_digest(out, "code_without_lines", digest);
    }
    if let Some(digest) = read.without_names {
        write_digest(out, "code_without_names", digest);
    }
    write_key(out, "size");
    write_number(out, place.end - place.start);
    write_key(out, "instructions");
    write_number(out, read.instructions.into());
    write_key(out, "loops");
    write_number(out, read.loops.into());
    write_text(out, "symbol", place.symbol);
    if let Some(name) = clone_of(place.symbol) {
        write_text(out, "clone_of", &name);
    }
    if let Some(file) = place.file {
        write_text(out, "file", file);
    }
    if !place.aliases.is_empty() {
        write_key(out, "aliases");
        write_list(out, &place.aliases, |out, alias| {
            out.extend_from_slice(quote(&shown(alias)).as_bytes());
        });
    }
}

fn write_references(out: &mut Vec<u8>, key: &str, references: &[Reference], names: &Names) {
    if references.is_empty() {
        return;
    }
    write_key(out, key);
    write_list(out, references, |out, reference| {
        let name = match *reference {
            Reference::Function(index) => &names.functions[index],
            Reference::Object(index) => &names.objects[index],
            Reference::Import(index) => &names.imports[index],
        };
        out.extend_from_slice(name.as_bytes());
    });
}

fn write_list<T>(out: &mut Vec<u8>, list: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    for (index, item) in list.iter().enumerate() {
        out.push(if index == 0 { b'[' } else { b',' });
        write(out, item);
    }
    out.push(b']');
}

/// The beginning of a field that is not the first.
#[inline(always)]
fn write_key(out: &mut Vec<u8>, key: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

fn write_text(out: &mut Vec<u8>, key: &str, text: &str) {
    write_key(out, key);
    if text.is_empty() {
        out.extend_from_slice(b"\"\"");
    } else {
        out.extend_from_slice(quote(text).as_bytes());
    }
}

fn write_digest(out: &mut Vec<u8>, key: &str, digest: (u64, u64)) {
    write_key(out, key);
    out.push(b'"');
    out.extend_from_slice(&spell(digest));
    out.push(b'"');
}

fn write_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

#[cfg(test)]
mod tests {
    use super::{quote, write_number};

    #[test]
    fn numbers_and_texts_are_what_a_serialiser_writes() {
        for number in [0, 9, 10, 1234567890, u64::MAX] {
            let mut out = Vec::new();
            write_number(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
        for text in [
            "",
            "walk",
            "a\"b",
            "a\\b",
            "line\nnext",
            "\u{1}",
            "Größe",
            "\u{7f}",
        ] {
            assert_eq!(quote(text), serde_json::to_string(text).expect("JSON"));
        }
    }
}
