//! x86-64 and i386.

mod frequent;
mod step;
mod whole;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic};

use super::form::Form;
use super::texts::text_in;
use crate::image::Holding;
use crate::image::layout::{Layout, Target};
use step::{Displacement, Immediate, Meaning, Numbers, Step, Then, Verb, Way};

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
    let mut whole = Whole {
        decoder: Decoder::with_ip(bits, code, start, DecoderOptions::NONE),
        instruction: Instruction::default(),
    };
    let mut numbers = Numbers::NONE;
    let (mut offset, mut copied) = (0, 0);
    while offset < length {
        let window = match bits {
            64 => section[offset..].first_chunk::<WINDOW>(),
            _ => None,
        };
        if let Some(window) = window {
            let plain = frequent::read_plain(window, layout.image.movable);
            let end = offset + plain % frequent::COMPARES;
            if plain != 0 && end <= length {
                form.instruction(offset, true);
                if plain >= frequent::COMPARES {
                    form.compared(None);
                }
                offset = end;
                continue;
            }
        }
        let ip = start.wrapping_add(offset as u64);
        if let Some((bytes, mnemonic, target, way)) =
            window.and_then(|window| frequent::read_branch(window, ip))
            && offset + bytes <= length
        {
            form.instruction(offset, true);
            form.piece(section, copied..offset);
            offset += bytes;
            copied = offset;
            branch(layout, mnemonic, target, way, form);
            continue;
        }
        let (bytes, step) = window
            .and_then(|window| frequent::read_common(window, ip, &mut numbers))
            .filter(|(bytes, _)| offset + bytes <= length)
            .unwrap_or_else(|| whole.read(code, start, offset, &mut numbers));
        let end = offset + bytes;
        if !matches!(step, Step::Begun) {
            form.instruction(offset, !matches!(step, Step::Idle));
        }
        match step {
            Step::Begun
            | Step::Plain {
                compares: false,
                then: Then::Next,
            } => {}
            Step::Idle => {
                form.piece(section, copied..offset);
                copied = end;
            }
            Step::Plain { compares, then } => {
                if compares {
                    form.compared(None);
                }
                if !matches!(then, Then::Next) {
                    form.piece(section, copied..end);
                    copied = end;
                    leave(layout, then, form);
                }
            }
            Step::Branch {
                mnemonic,
                target,
                way,
            } => {
                form.piece(section, copied..offset);
                copied = end;
                branch(layout, mnemonic, target, way, form);
            }
            Step::Numbers => {
                let place = form.position() + offset - copied;
                form.piece(section, copied..end);
                copied = end;
                take_numbers(layout, &numbers, ip, place, form);
            }
        }
        offset = end;
    }
    form.piece(section, copied..length);
}

/// The decoder of all instructions, for those that are not common.
struct Whole<'c> {
    decoder: Decoder<'c>,
    instruction: Instruction,
}

impl Whole<'_> {
    #[cold]
    #[inline(never)]
    fn read(
        &mut self,
        code: &[u8],
        start: u64,
        offset: usize,
        numbers: &mut Numbers,
    ) -> (usize, Step) {
        // It stands where the last uncommon instruction ended.
        if self.decoder.position() != offset {
            self.decoder.set_ip(start.wrapping_add(offset as u64));
            self.decoder
                .set_position(offset)
                .expect("a place in the code");
        }
        let step = whole::read_any(&mut self.decoder, &mut self.instruction, code, numbers);
        (self.decoder.position() - offset, step)
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
        Way::Jump => {
            form.jump(layout, target, false);
        }
        Way::Condition => {
            form.jump(layout, target, true);
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

/// Replaces addresses in the last instruction of the form, at `position`, by what they mean, and notes its constants.
fn take_numbers(layout: &Layout<'_>, numbers: &Numbers, ip: u64, position: usize, form: &mut Form) {
    if numbers.compares {
        form.compared(None);
    }
    if let Some(displacement) = &numbers.displacement
        && let Some(address) = address_of(layout, displacement.meaning)
    {
        take_address(layout, displacement, address, numbers.then, position, form);
    }
    if let Some(immediate) = &numbers.immediate {
        take_immediate(layout, immediate, ip, position, form);
    }
    leave(layout, numbers.then, form);
}

fn take_address(
    layout: &Layout<'_>,
    displacement: &Displacement,
    address: u64,
    then: Then,
    position: usize,
    form: &mut Form,
) {
    let (offset, size) = displacement.place;
    form.blank(position + usize::from(offset), usize::from(size));
    match then {
        Then::Call => form.called(layout, layout.resolve(address)),
        Then::Jump if !displacement.is_indexed => form.called(layout, layout.resolve(address)),
        // Only where the table begins is known, however much is read of it at a time.
        _ if displacement.is_indexed => form.indexed(layout, address, displacement.read.into()),
        _ => form.address(layout, address, displacement.read.into()),
    }
}

fn take_immediate(
    layout: &Layout<'_>,
    immediate: &Immediate,
    ip: u64,
    position: usize,
    form: &mut Form,
) {
    let (offset, size) = immediate.place;
    let (place, size) = (position + usize::from(offset), usize::from(size));
    if size >= 4
        && let Some(address) = immediate_address(layout, immediate, ip)
    {
        form.blank(place, size);
        form.address(layout, address, 0);
        return;
    }
    if !immediate.moves_stack {
        form.constant(immediate.value as i64);
    }
    form.compared((immediate.verb == Verb::Compare).then_some(immediate.value));
    if immediate.is_argument {
        form.argument(immediate.value as i64, place, size);
    }
}

/// The address that a displacement names by itself.
fn address_of(layout: &Layout<'_>, meaning: Meaning) -> Option<u64> {
    let is_here = |address: &u64| layout.image.section_at(*address).is_some();
    match meaning {
        Meaning::Address(address) => Some(address),
        Meaning::Distance(distance) | Meaning::Offset(distance) if !layout.image.movable => {
            Some(distance).filter(is_here)
        }
        Meaning::Distance(_) => None,
        Meaning::Offset(distance) => layout
            .image
            .offset_table
            .map(|base| base.wrapping_add(distance) & 0xffff_ffff)
            .filter(is_here),
    }
}

/// The address that an immediate operand is: of a function's beginning or of data, where the linker fixed addresses; on
/// i386 also the distance to the table of offsets.
fn immediate_address(layout: &Layout<'_>, immediate: &Immediate, ip: u64) -> Option<u64> {
    let value = immediate.value;
    if layout.image.movable {
        let base = layout
            .image
            .offset_table
            .filter(|_| immediate.verb == Verb::Add)?;
        let from_here = ip.wrapping_add(value) & 0xffff_ffff;
        return (layout.image.machine.pointer() == 4 && from_here == base).then_some(base);
    }
    if immediate.verb == Verb::Other {
        return None;
    }
    if layout.boundary_at(value).is_some() {
        return Some(value);
    }
    let section = layout.image.section_at(value)?;
    let meant = match section.holding {
        Holding::Code => layout.begins(value),
        Holding::Constant => section.name.starts_with(".rodata") && is_pointed_to(layout, value),
        Holding::Data | Holding::Zero => true,
    };
    meant.then_some(value)
}

/// Whether something begins at an address of constants, rather than that a number happens to lie among addresses.
fn is_pointed_to(layout: &Layout<'_>, address: u64) -> bool {
    match layout.resolve(address) {
        Target::Object(..) => true,
        _ => {
            let before = address
                .checked_sub(1)
                .and_then(|before| layout.image.bytes_from(before));
            let begins =
                before.is_none_or(|bytes| bytes.first() == Some(&0)) || address.is_multiple_of(16);
            let text = layout
                .image
                .bytes_from(address)
                .and_then(text_in)
                .is_some_and(|text| text.len() > 2);
            begins || text
        }
    }
}
