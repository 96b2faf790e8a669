//! A function's form while it is read.

mod nameless;

use nameless::Entries;

use super::lines::Lines;
use super::loops::{Flow, Jump};
use crate::digest::mix;
use crate::image::Holding;
use crate::image::layout::{Layout, Target};

/// What a function calls or takes the address of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reference {
    /// The function of that index.
    Function(usize),
    /// The data of that index.
    Object(usize),
    /// A symbol of another file.
    Import(String),
}

/// What was read of a function.
pub(crate) struct Read {
    pub(crate) code: (u64, u64),
    pub(crate) without_lines: Option<(u64, u64)>,
    pub(crate) without_names: Option<(u64, u64)>,
    pub(crate) instructions: u32,
    pub(crate) loops: u32,
    pub(crate) calls: Vec<Reference>,
    pub(crate) refers_to: Vec<Reference>,
    pub(crate) constants: Vec<i64>,
}

/// A form that is written, one function after the other.
#[derive(Default)]
pub(crate) struct Form {
    /// Which function it is.
    index: usize,
    start: u64,
    bytes: Vec<u8>,
    /// The number of the instruction at each byte of the code; `UNKNOWN` in the middle of one.
    numbers: Vec<u32>,
    instructions: u32,
    kept: u32,
    /// Where the form waits for the number of an instruction: position, byte of the code, number of the jump.
    waiting: Vec<(usize, u32, Option<u32>)>,
    /// Tables of jumps that no jump has used, by their addresses.
    tables: Vec<(u64, Entries)>,
    /// How many entries the last comparison allows.
    bound: Option<u64>,
    compared: Option<u64>,
    /// Bytes of the code that the last table names.
    table: Vec<u32>,
    /// Jumps through tables: number of the jump, byte of the code.
    ahead: Vec<(u32, u32)>,
    /// Whether an address may mean where a section begins or ends.
    boundaries: bool,
    flow: Flow,
    lines: Lines,
    /// Where the form names functions and data of this program: position and bytes.
    names: Vec<(usize, usize)>,
    without_names: Vec<u8>,
    calls: Vec<Reference>,
    refers_to: Vec<Reference>,
    constants: Vec<i64>,
}

const UNKNOWN: u32 = u32::MAX;

impl Form {
    /// Begins a function of `length` bytes.
    pub(super) fn begin(&mut self, index: usize, start: u64, length: usize, boundaries: bool) {
        (self.index, self.start) = (index, start);
        self.bytes.clear();
        self.numbers.clear();
        self.numbers.resize(length, UNKNOWN);
        (self.instructions, self.kept) = (0, 0);
        self.waiting.clear();
        self.table.clear();
        self.tables.clear();
        (self.bound, self.compared) = (None, None);
        self.ahead.clear();
        self.names.clear();
        self.flow.clear();
        self.lines.clear();
        self.boundaries = boundaries;
    }

    /// An instruction at that byte of the code; one that does nothing is counted and else left out.
    pub(super) fn instruction(&mut self, offset: usize, kept: bool) {
        self.instructions += 1;
        if let Some(number) = self.numbers.get_mut(offset) {
            *number = self.kept;
        }
        self.kept += u32::from(kept);
    }

    /// Bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// How long the form is.
    pub(super) fn position(&self) -> usize {
        self.bytes.len()
    }

    /// Replaces bytes of the form by zeros.
    pub(super) fn blank(&mut self, position: usize, length: usize) {
        if let Some(bytes) = self.bytes.get_mut(position..position + length) {
            bytes.fill(0);
        }
    }

    /// The target of a jump: inside, or the function that it goes on in. True where it is inside.
    pub(super) fn jump(&mut self, layout: &Layout<'_>, target: u64, conditional: bool) -> bool {
        let from = self.kept - 1;
        if !conditional {
            self.flow.ends.push(from);
        }
        if let Some(offset) = self.inside(target) {
            self.wait(offset, Some(from));
            if !conditional {
                self.lines.forget();
            }
            return true;
        }
        self.call(layout, target);
        false
    }

    /// The target of a call.
    pub(super) fn call(&mut self, layout: &Layout<'_>, target: u64) {
        let target = match self.inside(target) {
            Some(0) | None => layout.resolve(target),
            // A call to the next instruction reads the program counter.
            Some(offset) => return self.wait(offset, None),
        };
        self.called(layout, target);
    }

    /// A call of what the word at `slot` will hold.
    pub(super) fn called(&mut self, layout: &Layout<'_>, target: Target<'_>) {
        if matches!(target, Target::Function(_, 0) | Target::Import(_)) {
            note(&mut self.calls, target);
        }
        self.target(layout, target, 0, 8);
        self.lines.call();
    }

    /// A call whose target is not in the code.
    pub(super) fn call_unknown(&mut self) {
        self.lines.call();
    }

    /// A comparison with a constant, or anything that makes the last one of no account.
    pub(super) fn compared(&mut self, value: Option<u64>) {
        self.compared = value;
    }

    /// A jump that separates values up to the compared one, or below it, from larger ones.
    pub(super) fn bounded(&mut self, inclusive: bool) {
        if let Some(value) = self.compared.take() {
            self.bound = Some(value.saturating_add(u64::from(inclusive)));
        }
    }

    /// A jump through a register or a word: to the targets of the table seen before it.
    pub(super) fn jump_unknown(&mut self, layout: &Layout<'_>) {
        let from = self.kept - 1;
        self.flow.ends.push(from);
        self.read_table(layout);
        // Targets that lie ahead have no number yet.
        self.ahead
            .extend(self.table.iter().map(|offset| (from, *offset)));
        self.lines.call();
    }

    /// The next instruction is not reached from here.
    pub(super) fn end(&mut self) {
        self.flow.ends.push(self.kept - 1);
        self.lines.forget();
    }

    /// An address that the code uses; `read` is how many bytes of it are read, 0 where that is unknown.
    pub(super) fn address(&mut self, layout: &Layout<'_>, address: u64, read: usize) {
        if let Some(offset) = self.inside(address) {
            return self.wait(offset, None);
        }
        let target = layout.resolve(address);
        if (self.boundaries || matches!(target, Target::Place(_) | Target::Nowhere))
            && let Some(name) = layout.boundary_at(address)
        {
            return self.named(b'B', name, 0);
        }
        note(&mut self.refers_to, target);
        self.target(layout, target, address, read);
    }

    /// An immediate operand that is not an address.
    pub(super) fn constant(&mut self, value: i64) {
        self.constants.push(value);
    }

    /// A constant, last in the form, that is moved into an argument.
    pub(super) fn argument(&mut self, value: i64, position: usize, length: usize) {
        self.lines.constant(value, position, length);
    }

    /// The function's digest and counts.
    pub(super) fn finish(&mut self) -> Read {
        for &(position, offset, jump) in &self.waiting {
            let number = self
                .numbers
                .get(offset as usize)
                .copied()
                .unwrap_or(UNKNOWN);
            // The middle of an instruction has no number.
            let told = if number == UNKNOWN {
                offset | 1 << 31
            } else {
                number
            };
            self.bytes[position..position + 4].copy_from_slice(&told.to_le_bytes());
            if let Some(from) = jump
                && number != UNKNOWN
            {
                self.flow.jumps.push(Jump { from, to: number });
            }
        }
        for &(from, offset) in &self.ahead {
            let to = self
                .numbers
                .get(offset as usize)
                .copied()
                .unwrap_or(UNKNOWN);
            self.flow.jumps.push(Jump { from, to });
        }
        if !self.ahead.is_empty() {
            self.flow.jumps.sort_by_key(|jump| jump.from);
        }
        let code = mix(&self.bytes);
        let without_names = (!self.names.is_empty()).then(|| {
            self.without_names.clear();
            let mut next = 0;
            for &(position, length) in &self.names {
                self.without_names
                    .extend_from_slice(&self.bytes[next..position]);
                next = position + length;
            }
            self.without_names.extend_from_slice(&self.bytes[next..]);
            mix(&self.without_names)
        });
        let without_lines = (!self.lines.found().is_empty()).then(|| {
            for &(position, length) in self.lines.found() {
                self.bytes[position..position + length].fill(0);
            }
            mix(&self.bytes)
        });
        self.constants.sort_unstable();
        self.constants.dedup();
        Read {
            code,
            without_lines,
            without_names,
            instructions: self.instructions,
            loops: self.flow.count_loops(self.kept),
            calls: self.calls.drain(..).collect(),
            refers_to: self.refers_to.drain(..).collect(),
            constants: self.constants.drain(..).collect(),
        }
    }

    fn inside(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.start)?;
        (offset < self.numbers.len() as u64).then_some(offset as u32)
    }

    /// Leaves room for the number of the instruction at `offset`.
    fn wait(&mut self, offset: u32, jump: Option<u32>) {
        self.bytes.push(b'I');
        self.waiting.push((self.bytes.len(), offset, jump));
        self.bytes.extend_from_slice(&[0; 4]);
    }

    fn target(&mut self, layout: &Layout<'_>, target: Target<'_>, address: u64, read: usize) {
        match target {
            Target::Function(index, offset) => {
                self.named(b'F', &layout.function_stems[index], offset)
            }
            Target::Object(index, offset) => self.named(b'O', &layout.object_stems[index], offset),
            Target::Import(name) => self.named(b'N', name, 0),
            Target::Nowhere => self.bytes.push(b'?'),
            Target::Place(section) if section.holding == Holding::Constant && address != 0 => {
                self.nameless(layout, address, read);
            }
            Target::Place(section) => self.named(b'S', section.name, 0),
        }
    }

    fn named(&mut self, kind: u8, name: &str, offset: u64) {
        self.bytes.push(kind);
        if matches!(kind, b'F' | b'O') {
            self.names.push((self.bytes.len(), name.len()));
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.bytes.extend_from_slice(&(offset as u32).to_le_bytes());
    }
}

/// Adds what has a name, once.
fn note(known: &mut Vec<Reference>, target: Target<'_>) {
    let is_known = known.iter().any(|one| match (one, target) {
        (Reference::Function(one), Target::Function(other, _))
        | (Reference::Object(one), Target::Object(other, _)) => *one == other,
        (Reference::Import(one), Target::Import(other)) => one == other,
        _ => false,
    });
    if is_known {
        return;
    }
    match target {
        Target::Function(index, _) => known.push(Reference::Function(index)),
        Target::Object(index, _) => known.push(Reference::Object(index)),
        Target::Import(name) => known.push(Reference::Import(name.to_owned())),
        Target::Place(_) | Target::Nowhere => {}
    }
}
