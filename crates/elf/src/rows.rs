//! What was read of a program as rows, in which a name stands once and is else known by its index.

use crate::digest::spell;
use crate::image::symbols::Place;
use crate::names::{clone_of, shown};
use crate::normal::{Content, Read, Reference, Used};
use crate::table::{Build, DataObject, FORM, Function, FunctionTable};

/// Hexadecimal digits of a digest.
pub type Digits = [u8; 32];

/// The rows of a program, while its file is at hand.
pub struct Rows<'r> {
    /// As in a [`FunctionTable`].
    pub machine: &'static str,
    /// As there.
    pub source: &'static str,
    /// As there.
    pub content: String,
    /// As there.
    pub build: Build,
    /// As there.
    pub lost: Vec<String>,
    /// What references are called.
    pub names: Names,
    pub(crate) places: &'r [Place<'r>],
    pub(crate) pieces: Vec<Piece>,
    pub(crate) data: Vec<Content<'r>>,
}

/// Names of functions, data and imports by their indices.
pub struct Names {
    /// Of each row of functions.
    pub functions: Vec<String>,
    /// Of each row of data.
    pub objects: Vec<String>,
    /// Of symbols of other files.
    pub imports: Vec<String>,
}

impl Names {
    /// What a reference is called.
    pub fn of(&self, reference: Reference) -> &str {
        match reference {
            Reference::Function(index) => &self.functions[index],
            Reference::Object(index) => &self.objects[index],
            Reference::Import(index) => &self.imports[index],
        }
    }
}

/// Functions in a row that one thread read.
pub(crate) struct Piece {
    /// The index of the first one.
    pub(crate) first: usize,
    pub(crate) reads: Vec<Read>,
    pub(crate) used: Used,
}

/// A [`Function`] without its name, which is the next one of [`Names::functions`].
#[allow(missing_docs)]
pub struct FunctionRow<'r> {
    pub code: Digits,
    pub code_without_lines: Option<Digits>,
    pub code_without_names: Option<Digits>,
    pub size: u64,
    pub instructions: u32,
    pub loops: u32,
    pub symbol: &'r str,
    pub clone_of: Option<String>,
    pub file: Option<&'r str>,
    pub aliases: Vec<String>,
    pub calls: &'r [Reference],
    pub refers_to: &'r [Reference],
    pub constants: &'r [i64],
}

/// A [`DataObject`] without its name, which is the next one of [`Names::objects`].
#[allow(missing_docs)]
pub struct DataRow<'r> {
    pub content: Digits,
    pub content_without_names: Option<Digits>,
    pub size: u64,
    pub section: &'r str,
    pub refers_to: &'r [Reference],
}

impl Rows<'_> {
    /// Functions in the order of their addresses.
    pub fn functions(&self) -> impl Iterator<Item = FunctionRow<'_>> {
        self.pieces.iter().flat_map(|piece| {
            let mut calls = piece.used.calls.as_slice();
            let mut refers_to = piece.used.refers_to.as_slice();
            let mut constants = piece.used.constants.as_slice();
            let places = &self.places[piece.first..];
            places
                .iter()
                .zip(&piece.reads)
                .map(move |(place, read)| FunctionRow {
                    code: spell(read.code),
                    code_without_lines: read.without_lines.map(spell),
                    code_without_names: read.without_names.map(spell),
                    size: place.end - place.start,
                    instructions: read.instructions,
                    loops: read.loops,
                    symbol: place.symbol,
                    clone_of: clone_of(place.symbol),
                    file: place.file,
                    aliases: place.aliases.iter().map(|alias| shown(alias)).collect(),
                    calls: split_off(&mut calls, read.calls),
                    refers_to: split_off(&mut refers_to, read.refers_to),
                    constants: split_off(&mut constants, read.constants),
                })
        })
    }

    /// Named data in the order of their addresses.
    pub fn data(&self) -> impl Iterator<Item = DataRow<'_>> {
        self.data.iter().map(|content| DataRow {
            content: spell(content.digest),
            content_without_names: content.without_names.map(spell),
            size: content.size,
            section: content.section,
            refers_to: &content.refers_to,
        })
    }
}

fn split_off<'p, T>(list: &mut &'p [T], length: usize) -> &'p [T] {
    let (first, rest) = list.split_at(length);
    *list = rest;
    first
}

impl From<&Rows<'_>> for FunctionTable {
    fn from(rows: &Rows<'_>) -> Self {
        let names = &rows.names;
        let functions = rows.functions().zip(&names.functions);
        let data = rows.data().zip(&names.objects);
        Self {
            form: FORM,
            machine: rows.machine.to_owned(),
            source: rows.source.to_owned(),
            content: rows.content.clone(),
            functions: functions
                .map(|(row, name)| function(row, name, names))
                .collect(),
            data: data.map(|(row, name)| object(row, name, names)).collect(),
            build: rows.build.clone(),
            lost: rows.lost.clone(),
        }
    }
}

fn function(row: FunctionRow<'_>, name: &str, names: &Names) -> Function {
    Function {
        name: name.to_owned(),
        code: text(row.code),
        code_without_lines: row.code_without_lines.map(text),
        code_without_names: row.code_without_names.map(text),
        size: row.size,
        instructions: row.instructions,
        loops: row.loops,
        symbol: row.symbol.to_owned(),
        clone_of: row.clone_of,
        file: row.file.map(str::to_owned),
        aliases: row.aliases,
        calls: called(row.calls, names),
        refers_to: called(row.refers_to, names),
        constants: row.constants.to_vec(),
    }
}

fn object(row: DataRow<'_>, name: &str, names: &Names) -> DataObject {
    DataObject {
        name: name.to_owned(),
        content: text(row.content),
        content_without_names: row.content_without_names.map(text),
        size: row.size,
        section: row.section.to_owned(),
        refers_to: called(row.refers_to, names),
    }
}

fn called(references: &[Reference], names: &Names) -> Vec<String> {
    let called = references.iter().map(|one| names.of(*one).to_owned());
    called.collect()
}

fn text(digits: Digits) -> String {
    digits.map(char::from).iter().collect()
}
