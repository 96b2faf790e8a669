//! Constants and addresses in an instruction, by what they mean.

use super::step::{Displacement, Immediate, Meaning, Numbers, Then, Verb};
use crate::image::Holding;
use crate::image::layout::{Layout, Target};
use crate::normal::form::Form;
use crate::normal::texts::text_in;

/// Replaces addresses in the last instruction of the form, at `position`, by what they mean, and notes its constants.
pub(super) fn take_numbers(
    layout: &Layout<'_>,
    numbers: &Numbers,
    ip: u64,
    position: usize,
    form: &mut Form,
) {
    form.forget_compared(numbers.compares);
    if let Some(displacement) = &numbers.displacement
        && let Some(address) = address_of(layout, displacement.meaning)
    {
        take_address(layout, displacement, address, numbers.then, position, form);
    }
    if let Some(immediate) = &numbers.immediate {
        take_immediate(layout, immediate, ip, position, form);
    }
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

pub(super) fn take_immediate(
    layout: &Layout<'_>,
    immediate: &Immediate,
    ip: u64,
    position: usize,
    form: &mut Form,
) {
    let (offset, size) = immediate.place;
    if size >= 4
        && let Some(address) = immediate_address(layout, immediate, ip)
    {
        form.blank(position + usize::from(offset), usize::from(size));
        form.address(layout, address, 0);
        return;
    }
    take_constant(immediate, position, form);
}

/// Notes a constant that is no address, of the instruction that stands at `position` of the form, or will.
#[inline(always)]
pub(super) fn take_constant(immediate: &Immediate, position: usize, form: &mut Form) {
    let (offset, size) = immediate.place;
    if !immediate.moves_stack {
        form.constant(immediate.value as i64);
    }
    form.compared(immediate.value, immediate.verb == Verb::Compare);
    if immediate.is_argument {
        let place = position + usize::from(offset);
        form.argument(immediate.value as i64, place, usize::from(size));
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
