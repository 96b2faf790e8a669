//! x86-64 and i386.

mod addresses;
mod frequent;
mod step;
mod whole;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

use super::form::Form;
use crate::image::layout::Layout;
use addresses::{take_constant, take_immediate, take_numbers};
use frequent::{Frequent, Start, read_frequent};
use step::{Numbers, Step, Then, Way};

/// Bytes that the longest instruction may have, and one more.
const WINDOW: usize = 16;

/// Reads the first `length` bytes of `section`, which begins at the address `start`.
pub(super) fn read(
    layout: &Layout<'_>,
    section: &[u8],
    length: usize,
    start: u64,
    bits: u32,
    form: &mut Form,
) {
    let code = &section[..length];
    let mut reader = Reader {
        layout,
        section,
        code,
        start,
        bits,
        decoder: None,
        instruction: Instruction::default(),
        numbers: Numbers::NONE,
    };
    let movable = layout.image.movable;
    // Frequent ones are known of x86-64 only. Each has a window that begins within the function.
    let windows = match bits {
        64 => &section[..section.len().min(length + WINDOW - 1)],
        _ => &[],
    };
    // How far the code was read, and up to where it was written to the form.
    let (mut offset, mut copied) = (0, 0);
    // Whether something was compared of which the form was not told yet: only branches ask for it.
    let mut has_compared = false;
    while let Some(window) = windows.get(offset..offset + WINDOW) {
        let window = window.first_chunk().expect("as long");
        let ip = start.wrapping_add(offset as u64);
        match read_frequent(&Start::read(window), ip, movable) {
            Frequent::Plain { end, compares } if offset + end <= length => {
                form.instruction(offset, true);
                has_compared |= compares;
                offset += end;
            }
            Frequent::Branch {
                end,
                mnemonic,
                target,
                way,
            } if offset + end <= length => {
                form.instruction(offset, true);
                form.forget_compared(std::mem::take(&mut has_compared));
                form.piece(section, copied..offset);
                offset += end;
                copied = offset;
                branch(layout, mnemonic, target, way, form);
            }
            // Where the linker fixed addresses, a constant of four bytes may be one.
            Frequent::Constant { end, constant }
                if offset + end <= length && (movable || constant.place.1 < 4) =>
            {
                form.instruction(offset, true);
                has_compared = false;
                take_constant(&constant, form.position() + offset - copied, form);
                offset += end;
            }
            Frequent::Relative {
                end,
                address,
                read,
                compares,
            } if offset + end <= length => {
                form.instruction(offset, true);
                has_compared |= compares;
                offset += end;
                form.piece(section, copied..offset);
                copied = offset;
                form.blank(form.position() - 4, 4);
                form.address(layout, address, read.into());
            }
            _ => {
                form.forget_compared(std::mem::take(&mut has_compared));
                (offset, copied) = reader.take_rest(window, offset, copied, form);
            }
        }
    }
    form.forget_compared(has_compared);
    while offset < length {
        (offset, copied) = reader.take_any(offset, copied, form);
    }
    form.piece(section, copied..length);
}

/// What reads the instructions of a function that are not frequent. Places are how far the code was read and up to where it
/// was written to the form.
struct Reader<'c, 'l> {
    layout: &'c Layout<'l>,
    section: &'c [u8],
    code: &'c [u8],
    start: u64,
    bits: u32,
    /// For those that are not common: most functions have none.
    decoder: Option<Decoder<'c>>,
    instruction: Instruction,
    numbers: Numbers,
}

impl Reader<'_, '_> {
    /// Takes the instruction at the beginning of a window; returns the places behind it.
    #[inline(never)]
    fn take_rest(
        &mut self,
        window: &[u8; WINDOW],
        offset: usize,
        copied: usize,
        form: &mut Form,
    ) -> (usize, usize) {
        let ip = self.start.wrapping_add(offset as u64);
        let movable = self.layout.image.movable;
        let (bytes, step) = frequent::read_rest(window, ip, movable, &mut self.numbers);
        if bytes == 0 || offset + bytes > self.code.len() {
            return self.take_any(offset, copied, form);
        }
        self.take(step, offset, offset + bytes, copied, form)
    }

    /// Takes any instruction; returns the places behind it.
    #[cold]
    #[inline(never)]
    fn take_any(&mut self, offset: usize, copied: usize, form: &mut Form) -> (usize, usize) {
        let decoder = self.decoder.get_or_insert_with(|| {
            Decoder::with_ip(self.bits, self.code, self.start, DecoderOptions::NONE)
        });
        // It stands where the last uncommon instruction ended.
        if decoder.position() != offset {
            decoder.set_ip(self.start.wrapping_add(offset as u64));
            decoder.set_position(offset).expect("a place in the code");
        }
        let step = whole::read_any(decoder, &mut self.instruction, self.code, &mut self.numbers);
        let end = decoder.position();
        self.take(step, offset, end, copied, form)
    }

    /// Writes an instruction from `offset` to `end`, or leaves it to be copied together with those that follow.
    #[inline(always)]
    fn take(
        &self,
        step: Step,
        offset: usize,
        end: usize,
        copied: usize,
        form: &mut Form,
    ) -> (usize, usize) {
        let (layout, section) = (self.layout, self.section);
        let ip = self.start.wrapping_add(offset as u64);
        // Where it will stand in the form.
        let position = form.position() + offset - copied;
        if !matches!(step, Step::Begun) {
            form.instruction(offset, !matches!(step, Step::Idle));
        }
        match step {
            Step::Begun => return (end, copied),
            Step::Idle => form.piece(section, copied..offset),
            Step::Plain { compares, then } => {
                form.forget_compared(compares);
                if matches!(then, Then::Next) {
                    return (end, copied);
                }
                form.piece(section, copied..end);
                leave(layout, then, form);
            }
            Step::Branch {
                mnemonic,
                target,
                way,
            } => {
                form.piece(section, copied..offset);
                branch(layout, mnemonic, target, way, form);
            }
            Step::Constant(immediate) if layout.image.movable || immediate.place.1 < 4 => {
                take_constant(&immediate, position, form);
                return (end, copied);
            }
            Step::Constant(immediate) => {
                form.forget_compared(immediate.verb.compares());
                form.piece(section, copied..end);
                take_immediate(layout, &immediate, ip, position, form);
            }
            Step::Numbers => {
                form.piece(section, copied..end);
                take_numbers(layout, &self.numbers, ip, position, form);
                leave(layout, self.numbers.then, form);
            }
        }
        (end, end)
    }
}

fn branch(layout: &Layout<'_>, mnemonic: u16, target: u64, way: Way, form: &mut Form) {
    const ABOVE: u16 = Mnemonic::Ja as u16;
    const NOT_ABOVE: u16 = Mnemonic::Jbe as u16;
    const NOT_BELOW: u16 = Mnemonic::Jae as u16;
    const BELOW: u16 = Mnemonic::Jb as u16;
    form.raw(&mnemonic.to_le_bytes());
    match mnemonic {
        ABOVE | NOT_ABOVE => form.bounded(true),
        NOT_BELOW | BELOW => form.bounded(false),
        _ => {}
    }
    match way {
        Way::Call => form.call(layout, target),
        Way::Jump | Way::Condition => {
            form.jump(layout, target, matches!(way, Way::Condition));
        }
    }
}

fn leave(layout: &Layout<'_>, then: Then, form: &mut Form) {
    match then {
        Then::Next => {}
        Then::Call => form.call_unknown(),
        Then::Jump => form.jump_unknown(layout),
        Then::End => form.end(),
    }
}
