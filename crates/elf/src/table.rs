//! The table of a program: what two builds are compared by.

use serde::Serialize;

/// A program's functions, data and build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionTable {
    /// The version of the normal form: digests of different versions cannot be compared.
    pub form: u32,
    /// Architecture: `x86-64`, `i386`, `aarch64`, `arm` or `riscv64`.
    pub machine: String,
    /// Where the functions are from: `symbols`, `debug file`, `dynamic symbols` or `frames`.
    pub source: String,
    /// Digest of all code and data, without addresses and notes: equal for programs that do the same.
    pub content: String,
    /// Functions in the order of their addresses.
    pub functions: Vec<Function>,
    /// Named data in the order of their addresses.
    pub data: Vec<DataObject>,
    /// How it was built and what it is linked with.
    pub build: Build,
    /// What this file does not say, in sentences.
    pub lost: Vec<String>,
}

/// One function. Names that are called or referred to are those in the field `name` of their rows, or of imports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Its name, once in a table: demangled, a duplicate with its file or a number.
    pub name: String,
    /// Digest of its code in the normal form.
    pub code: String,
    /// The same with line numbers that the compiler put in left out; null where it holds none.
    pub code_without_lines: Option<String>,
    /// The same with names of this program's functions and data left out, which a renaming changes; null where it names
    /// none.
    pub code_without_names: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Static instructions, those that do nothing included.
    pub instructions: u32,
    /// Loops: targets of jumps that go back in a depth-first walk of its blocks.
    pub loops: u32,
    /// The symbol in the file; empty where the file has no symbol.
    pub symbol: String,
    /// The function of which the compiler made this one: a part, a cold part, a clone for constants.
    pub clone_of: Option<String>,
    /// The source file, where the symbol table names it.
    pub file: Option<String>,
    /// Other names of the same code.
    pub aliases: Vec<String>,
    /// Whom it calls, directly or by a jump at its end, each once, in the order in which the code first does.
    pub calls: Vec<String>,
    /// Named data and functions whose address it takes, each once, in the same order.
    pub refers_to: Vec<String>,
    /// Immediate operands that are not addresses, each once, ascending.
    pub constants: Vec<i64>,
}

/// Data with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DataObject {
    /// Its name, once in a table.
    pub name: String,
    /// Digest of what it holds, pointers by what they point to; of data that begin as zeros, of their size.
    pub content: String,
    /// The same with names of what pointers lead to left out, which a renaming changes; null where they lead to none.
    pub content_without_names: Option<String>,
    /// Bytes.
    pub size: u64,
    /// The section that holds it.
    pub section: String,
    /// Named data and functions that its pointers lead to, each once, in their order.
    pub refers_to: Vec<String>,
}

/// How the program was built.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Build {
    /// Compilers and the options that they recorded, each once.
    pub producers: Vec<String>,
    /// Shared libraries that it needs.
    pub libraries: Vec<Library>,
    /// The linker's build id in hexadecimal digits.
    pub build_id: Option<String>,
    /// The file that holds its symbols and debug information, as it names it.
    pub debug_link: Option<String>,
}

/// A shared library by its name.
pub type Library = String;

/// The version of the normal form that this crate reads.
pub const FORM: u32 = 4;
