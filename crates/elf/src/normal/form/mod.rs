//! A function's form while it is read.

mod known;
mod nameless;
mod order;

use std::ops::Range;

use known::Known;
use nameless::Entries;
use order::Order;

use super::lines::Lines;
use super::loops::{Flow, Jump};
use super::uses_boundaries;
use crate::digest::mix;
use crate::image::Holding;
use crate::image::layout::{Layout, Target};
use crate::image::symbols::Place;
use crate::names::is_of_rust;

/// What a function calls or takes the address of, by its index among those of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reference {
    /// A function of this program.
    Function(usize),
    /// Named data of this program.
    Object(usize),
    /// A symbol of another file.
    Import(usize),
}

/// What was read of a function. Lists are pieces of those that its `Form` keeps, one function's behind the other's.
pub(crate) struct Read {
    pub(crate) code: (u64, u64),
    pub(crate) without_lines: Option<(u64, u64)>,
    pub(crate) without_names: Option<(u64, u64)>,
    pub(crate) instructions: u32,
    pub(crate) loops: u32,
    pub(crate) calls: usize,
    pub(crate) refers_to: usize,
    pub(crate) constants: usize,
    pub(crate) open: usize,
    pub(crate) of_rust: bool,
}

/// What functions in a row call, refer to and use as constants.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) calls: Vec<Reference>,
    pub(crate) refers_to: Vec<Reference>,
    pub(crate) constants: Vec<i64>,
    /// Where nameless constants begin.
    pub(crate) places: Vec<u64>,
    /// Those of them of which the code does not say how far they go.
    pub(crate) open: Vec<u64>,
}

/// A form that is written, one function after the other.
pub(crate) struct Form {
    /// Which function it is.
    index: usize,
    start: u64,
    length: usize,
    bytes: Vec<u8>,
    order: Order,
    /// How many instructions the form leaves out.
    idle: u32,
    waiting: Vec<Waiting>,
    /// Tables of jumps that no jump has used, by their addresses.
    tables: Vec<(u64, Entries)>,
    /// How many entries the last comparison allows.
    bound: Option<u64>,
    compared: u64,
    is_compared: bool,
    /// Bytes of the code that the last table names.
    table: Vec<u32>,
    /// Jumps through tables: number of the jump, byte of the code.
    ahead: Vec<(u32, u32)>,
    /// Whether an address may mean where a section begins or ends.
    boundaries: bool,
    /// Whether it is of Rust, whose texts have no zeros behind them.
    of_rust: bool,
    flow: Flow,
    lines: Lines,
    /// Whether the form names functions or data of this program.
    is_naming: bool,
    /// Where it does, unless the name is empty: position and bytes.
    names: Vec<(usize, usize)>,
    without_names: Vec<u8>,
    called: Known,
    referred: Known,
    /// Constants that were seen lately, with the number of their function from 1 on: they need not be noted again.
    lately: [(usize, i64); 64],
    used: Used,
    /// Where those of this function begin.
    constants: usize,
    open: usize,
}

/// Where the form waits for the number of an instruction.
struct Waiting {
    /// In the form.
    position: usize,
    /// In the code.
    offset: u32,
    /// The number of the jump that leads there; `UNKNOWN` where none does.
    from: u32,
}

const UNKNOWN: u32 = u32::MAX;

impl Form {
    /// A form for functions of a program.
    pub(crate) fn new(layout: &Layout<'_>) -> Self {
        let places = layout.functions.len() + layout.objects.len() + layout.slots.imports().len();
        Self {
            index: 0,
            start: 0,
            length: 0,
            bytes: Vec::new(),
            order: Order::new(),
            idle: 0,
            waiting: Vec::new(),
            tables: Vec::new(),
            bound: None,
            compared: 0,
            is_compared: false,
            table: Vec::new(),
            ahead: Vec::new(),
            boundaries: false,
            of_rust: false,
            flow: Flow::default(),
            lines: Lines::default(),
            is_naming: false,
            names: Vec::new(),
            without_names: Vec::new(),
            called: Known::new(places),
            referred: Known::new(places),
            lately: [(0, 0); 64],
            used: Used::default(),
            constants: 0,
            open: 0,
        }
    }

    /// Takes what the functions that were read use.
    pub(crate) fn take_used(&mut self) -> Used {
        std::mem::take(&mut self.used)
    }

    /// Begins a function of `length` bytes.
    pub(super) fn begin(&mut self, index: usize, place: &Place<'_>, length: usize) {
        (self.index, self.start, self.length) = (index, place.start, length);
        self.bytes.clear();
        self.order.begin(length);
        self.idle = 0;
        self.waiting.clear();
        self.table.clear();
        self.tables.clear();
        (self.bound, self.is_compared) = (None, false);
        self.ahead.clear();
        self.is_naming = false;
        self.names.clear();
        self.flow.clear();
        self.lines.clear();
        self.boundaries = uses_boundaries(place.symbol);
        self.of_rust = is_of_rust(place.symbol);
        (self.called.count, self.referred.count) = (0, 0);
        self.constants = self.used.constants.len();
        self.open = self.used.open.len();
    }

    /// An instruction at that byte of the code; one that does nothing is counted and else left out.
    #[inline(always)]
    pub(super) fn instruction(&mut self, offset: usize, kept: bool) {
        self.order.push(offset, kept);
        self.idle += u32::from(!kept);
    }

    /// Bytes as they are.
    #[inline]
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A piece of the code as it is.
    #[inline(always)]
    pub(super) fn piece(&mut self, code: &[u8], piece: Range<usize>) {
        let length = piece.len();
        // Most are short: a copy of a fixed length, of which the rest is dropped, takes a fraction of the time.
        match code[piece.start..].first_chunk::<32>() {
            Some(bytes) if length <= 32 => {
                let end = self.bytes.len() + length;
                self.bytes.extend_from_slice(bytes);
                self.bytes.truncate(end);
            }
            _ => self.bytes.extend_from_slice(&code[piece]),
        }
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
    #[inline]
    pub(super) fn jump(&mut self, layout: &Layout<'_>, target: u64, conditional: bool) -> bool {
        let from = self.order.count() - 1;
        if !conditional {
            self.flow.ends.push(from);
        }
        if let Some(offset) = self.inside(target) {
            self.wait(offset, from);
            if !conditional {
                self.lines.forget();
            }
            return true;
        }
        self.call(layout, target);
        false
    }

    /// The target of a call.
    #[inline]
    pub(super) fn call(&mut self, layout: &Layout<'_>, target: u64) {
        let target = match self.inside(target) {
            Some(0) | None => layout.resolve(target),
            // A call to the next instruction reads the program counter.
            Some(offset) => return self.wait(offset, UNKNOWN),
        };
        self.called(layout, target);
    }

    /// A call of what the word at `slot` will hold.
    pub(super) fn called(&mut self, layout: &Layout<'_>, target: Target<'_>) {
        if matches!(target, Target::Function(_, 0) | Target::Import(_)) {
            self.note(layout, target, true);
        }
        self.target(layout, target, 0, 8);
        self.lines.call();
    }

    /// A call whose target is not in the code.
    pub(super) fn call_unknown(&mut self) {
        self.lines.call();
    }

    /// A constant. With `is_compared` it is what was compared last; otherwise the last comparison is forgotten.
    #[inline(always)]
    pub(super) fn compared(&mut self, value: u64, is_compared: bool) {
        (self.compared, self.is_compared) = (value, is_compared);
    }

    /// Forgets the last comparison, if `when`.
    #[inline(always)]
    pub(super) fn forget_compared(&mut self, when: bool) {
        self.is_compared &= !when;
    }

    /// A jump that separates values up to the compared one, or below it, from larger ones.
    pub(super) fn bounded(&mut self, inclusive: bool) {
        if self.is_compared {
            self.bound = Some(self.compared.saturating_add(u64::from(inclusive)));
            self.is_compared = false;
        }
    }

    /// A jump through a register or a word: to the targets of the table seen before it.
    pub(super) fn jump_unknown(&mut self, layout: &Layout<'_>) {
        let from = self.order.count() - 1;
        self.flow.ends.push(from);
        self.read_table(layout);
        // Targets that lie ahead have no number yet.
        self.ahead
            .extend(self.table.iter().map(|offset| (from, *offset)));
        self.lines.call();
    }

    /// The next instruction is not reached from here.
    pub(super) fn end(&mut self) {
        self.flow.ends.push(self.order.count() - 1);
        self.lines.forget();
    }

    /// An address that the code uses; `read` is how many bytes of it are read, 0 where that is unknown.
    pub(super) fn address(&mut self, layout: &Layout<'_>, address: u64, read: usize) {
        if let Some(offset) = self.inside(address) {
            return self.wait(offset, UNKNOWN);
        }
        let target = layout.resolve(address);
        if (self.boundaries || matches!(target, Target::Place(_) | Target::Nowhere))
            && let Some(name) = layout.boundary_at(address)
        {
            return self.named(b'B', name, 0);
        }
        self.note(layout, target, false);
        self.target(layout, target, address, read);
    }

    /// The same of a table of which an entry of `read` bytes is read.
    pub(super) fn indexed(&mut self, layout: &Layout<'_>, address: u64, read: usize) {
        self.address(layout, address, read);
        if self.inside(address).is_none()
            && matches!(layout.resolve(address), Target::Place(section) if section.holding == Holding::Constant)
            && self
                .tables
                .last()
                .is_none_or(|(table, _)| *table != address)
        {
            self.open(layout, address);
        }
    }

    /// An immediate operand that is not an address.
    pub(super) fn constant(&mut self, value: i64) {
        let place = (value ^ (value >> 6)) as usize % self.lately.len();
        let seen = (self.index + 1, value);
        if self.lately[place] != seen {
            self.lately[place] = seen;
            self.used.constants.push(value);
        }
    }

    /// A constant, last in the form, that is moved into an argument.
    pub(super) fn argument(&mut self, value: i64, position: usize, length: usize) {
        self.lines.constant(value, position, length);
    }

    /// The function's digest and counts.
    pub(super) fn finish(&mut self) -> Read {
        for waiting in &self.waiting {
            let number = self.order.at(waiting.offset);
            // The middle of an instruction has no number.
            let told = number.unwrap_or(waiting.offset | 1 << 31);
            self.bytes[waiting.position..waiting.position + 4].copy_from_slice(&told.to_le_bytes());
            if let Some(to) = number
                && waiting.from != UNKNOWN
            {
                let from = waiting.from;
                self.flow.jumps.push(Jump { from, to });
            }
        }
        for &(from, offset) in &self.ahead {
            if let Some(to) = self.order.at(offset) {
                self.flow.jumps.push(Jump { from, to });
            }
        }
        if !self.ahead.is_empty() {
            self.flow.jumps.sort_by_key(|jump| jump.from);
        }
        let code = mix(&self.bytes);
        let without_names = self.is_naming.then(|| {
            // In a program without symbols all names are empty.
            if self.names.is_empty() {
                return code;
            }
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
        Read {
            code,
            without_lines,
            without_names,
            instructions: self.order.count() + self.idle,
            loops: self.flow.count_loops(self.order.count()),
            calls: self.called.count,
            refers_to: self.referred.count,
            constants: self.order_constants(),
            open: self.used.open.len() - self.open,
            of_rust: self.of_rust,
        }
    }

    /// Orders the function's constants, each once, and returns how many they are.
    fn order_constants(&mut self) -> usize {
        let constants = &mut self.used.constants;
        constants[self.constants..].sort_unstable();
        let mut end = self.constants;
        for index in self.constants..constants.len() {
            if index == self.constants || constants[index] != constants[end - 1] {
                constants[end] = constants[index];
                end += 1;
            }
        }
        constants.truncate(end);
        end - self.constants
    }

    fn inside(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.start)?;
        (offset < self.length as u64).then_some(offset as u32)
    }

    /// Leaves room for the number of the instruction at `offset`, to which the jump of the number `from` leads.
    fn wait(&mut self, offset: u32, from: u32) {
        self.waiting.push(Waiting {
            position: self.bytes.len() + 1,
            offset,
            from,
        });
        self.bytes.extend_from_slice(&[b'I', 0, 0, 0, 0]);
    }

    #[inline(always)]
    fn target(&mut self, layout: &Layout<'_>, target: Target<'_>, address: u64, read: usize) {
        match target {
            Target::Function(index, offset) => {
                self.named(b'F', layout.function_stem(index), offset)
            }
            Target::Object(index, offset) => self.named(b'O', &layout.object_stems[index], offset),
            Target::Import(index) => self.named(b'N', layout.slots.imports()[index], 0),
            Target::Nowhere => self.bytes.push(b'?'),
            Target::Place(section) if section.holding == Holding::Constant && address != 0 => {
                self.nameless(layout, address, read);
            }
            Target::Place(section) => {
                self.named(b'S', section.name, 0);
                // What variables of a program without symbols begin with.
                if section.name == ".data" && address != 0 {
                    self.open(layout, address);
                }
            }
        }
    }

    #[inline]
    fn named(&mut self, kind: u8, name: &str, offset: u64) {
        let is_own = matches!(kind, b'F' | b'O');
        self.is_naming |= is_own;
        let [first, second, third, fourth] = (offset as u32).to_le_bytes();
        // Without symbols most have no name.
        if name.is_empty() {
            self.bytes
                .extend_from_slice(&[kind, 0, first, second, third, fourth]);
            return;
        }
        if is_own {
            self.names.push((self.bytes.len() + 1, name.len()));
        }
        self.bytes.push(kind);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes
            .extend_from_slice(&[0, first, second, third, fourth]);
    }

    /// Adds what has a name, once.
    #[inline(always)]
    fn note(&mut self, layout: &Layout<'_>, target: Target<'_>, is_call: bool) {
        let (functions, objects) = (layout.functions.len(), layout.objects.len());
        let (reference, place) = match target {
            Target::Function(index, _) => (Reference::Function(index), index),
            Target::Object(index, _) => (Reference::Object(index), functions + index),
            Target::Import(index) => (Reference::Import(index), functions + objects + index),
            Target::Place(_) | Target::Nowhere => return,
        };
        let (known, used) = if is_call {
            (&mut self.called, &mut self.used.calls)
        } else {
            (&mut self.referred, &mut self.used.refers_to)
        };
        if known.is_new(place, self.index) {
            used.push(reference);
        }
    }
}
