//! x86-64 and i386.

use iced_x86::{
    Code, ConstantOffsets, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind,
    Register,
};

use super::form::Form;
use super::texts::text_in;
use crate::image::layout::{Layout, Target};
use crate::image::{Holding, Machine};

pub(super) fn read(layout: &Layout<'_>, code: &[u8], start: u64, bits: u32, form: &mut Form) {
    let mut decoder = Decoder::with_ip(bits, code, start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        let offset = decoder.position();
        decoder.decode_out(&mut instruction);
        let bytes = &code[offset..decoder.position()];
        // One instruction with what it waits for, as binutils prints it.
        if instruction.code() == Code::Wait
            && matches!(code.get(decoder.position()), Some(0xd8..=0xdf))
        {
            form.raw(bytes);
            continue;
        }
        if instruction.code() == Code::INVALID {
            form.instruction(offset, true);
            form.raw(bytes);
            continue;
        }
        let idle = does_nothing(&instruction);
        form.instruction(offset, !idle);
        if idle {
            continue;
        }
        let flow = instruction.flow_control();
        if flow != FlowControl::Next && instruction.op0_kind() == near(bits) {
            form.raw(&(instruction.mnemonic() as u16).to_le_bytes());
            let target = instruction.near_branch_target();
            match instruction.mnemonic() {
                Mnemonic::Ja | Mnemonic::Jbe => form.bounded(true),
                Mnemonic::Jae | Mnemonic::Jb => form.bounded(false),
                _ => {}
            }
            match flow {
                FlowControl::Call => form.call(layout, target),
                FlowControl::UnconditionalBranch => {
                    form.jump(layout, target, false);
                }
                _ => {
                    form.jump(layout, target, true);
                }
            }
            continue;
        }
        if matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test) {
            form.compared(None);
        }
        let position = form.position();
        form.raw(bytes);
        let address = displaced(layout, &instruction, bits);
        // Where its constants stand is found by reading the instruction again, and most have none.
        if address.is_some() || has_immediate(&instruction) {
            let places = decoder.get_constant_offsets(&instruction);
            operands(layout, &instruction, &places, address, position, form);
        }
        match flow {
            FlowControl::IndirectCall | FlowControl::Call => form.call_unknown(),
            FlowControl::IndirectBranch => form.jump_unknown(layout),
            FlowControl::Return | FlowControl::Exception | FlowControl::UnconditionalBranch => {
                form.end()
            }
            _ => {}
        }
    }
}

fn near(bits: u32) -> OpKind {
    if bits == 64 {
        OpKind::NearBranch64
    } else {
        OpKind::NearBranch32
    }
}

/// Instructions with which compilers fill up to a boundary.
fn does_nothing(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Nop => true,
        Mnemonic::Xchg => {
            instruction.op0_kind() == OpKind::Register
                && instruction.op1_kind() == OpKind::Register
                && instruction.op0_register() == instruction.op1_register()
                && instruction.op0_register() == Register::AX
        }
        // i386: `lea esi, [esi]` with a displacement of zero.
        Mnemonic::Lea => {
            instruction.memory_base() == instruction.op0_register()
                && instruction.memory_index() == Register::None
                && instruction.memory_displ_size() != 0
                && instruction.memory_displacement64() == 0
        }
        _ => false,
    }
}

/// Replaces addresses in the last instruction of the form by what they mean, and notes its constants.
fn operands(
    layout: &Layout<'_>,
    instruction: &Instruction,
    places: &ConstantOffsets,
    address: Option<u64>,
    position: usize,
    form: &mut Form,
) {
    if let Some(address) = address {
        form.blank(
            position + places.displacement_offset(),
            places.displacement_size(),
        );
        match instruction.flow_control() {
            FlowControl::IndirectCall => form.called(layout, layout.resolve(address)),
            FlowControl::IndirectBranch if instruction.memory_index() == Register::None => {
                form.called(layout, layout.resolve(address));
            }
            _ => {
                let read = if instruction.mnemonic() == Mnemonic::Lea {
                    0
                } else {
                    instruction.memory_size().size()
                };
                form.address(layout, address, read);
            }
        }
    }
    if !places.has_immediate() {
        return;
    }
    let last = instruction.op_count() - 1;
    let Some(value) = (0..=last)
        .rev()
        .find_map(|index| instruction.try_immediate(index).ok())
    else {
        return;
    };
    let (place, length) = (
        position + places.immediate_offset(),
        places.immediate_size(),
    );
    if length >= 4
        && let Some(address) = immediate_address(layout, instruction, value)
    {
        form.blank(place, length);
        form.address(layout, address, 0);
        return;
    }
    let destination = if instruction.op0_kind() == OpKind::Register {
        instruction.op0_register()
    } else {
        Register::None
    };
    if !matches!(destination, Register::RSP | Register::ESP) {
        form.constant(value as i64);
    }
    form.compared((instruction.mnemonic() == Mnemonic::Cmp).then_some(value));
    if is_argument(instruction, destination, layout.image.machine) {
        form.argument(value as i64, place, length);
    }
}

/// Whether an operand is a constant: the last one, or of an instruction such as `out` the first.
fn has_immediate(instruction: &Instruction) -> bool {
    let is_immediate = |kind| (OpKind::Immediate8..=OpKind::Immediate32to64).contains(&kind);
    let last = instruction.op_count().saturating_sub(1);
    is_immediate(instruction.op_kind(last)) || is_immediate(instruction.op0_kind())
}

/// The address that a memory operand names by itself.
fn displaced(layout: &Layout<'_>, instruction: &Instruction, bits: u32) -> Option<u64> {
    if instruction.is_ip_rel_memory_operand() {
        return Some(instruction.ip_rel_memory_address());
    }
    if instruction.memory_displ_size() < 4 || instruction.segment_prefix() != Register::None {
        return None;
    }
    let displacement = instruction.memory_displacement64();
    if !layout.image.movable {
        return layout.image.section_at(displacement).map(|_| displacement);
    }
    // i386 counts from the table of offsets, which a register holds.
    if bits != 32
        || matches!(
            instruction.memory_base(),
            Register::None | Register::ESP | Register::EBP
        )
    {
        return None;
    }
    let address = layout.image.offset_table?.wrapping_add(displacement) & 0xffff_ffff;
    layout.image.section_at(address).map(|_| address)
}

/// The address that an immediate operand is: of a function's beginning or of data, where the linker fixed addresses; on
/// i386 also the distance to the table of offsets.
fn immediate_address(layout: &Layout<'_>, instruction: &Instruction, value: u64) -> Option<u64> {
    if layout.image.movable {
        let base = layout
            .image
            .offset_table
            .filter(|_| instruction.mnemonic() == Mnemonic::Add)?;
        let from_here = instruction.ip().wrapping_add(value) & 0xffff_ffff;
        return (layout.image.machine.pointer() == 4 && from_here == base).then_some(base);
    }
    if !matches!(
        instruction.mnemonic(),
        Mnemonic::Mov | Mnemonic::Push | Mnemonic::Cmp | Mnemonic::Add | Mnemonic::Sub
    ) {
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

/// Whether a constant becomes an argument: by the registers of the System V convention, or on i386 on the stack.
fn is_argument(instruction: &Instruction, destination: Register, machine: Machine) -> bool {
    use Register::{ECX, EDI, EDX, ESI, R8D, R9D, RCX, RDI, RDX, RSI};
    match instruction.mnemonic() {
        Mnemonic::Mov if machine == Machine::X86_64 => matches!(
            destination,
            EDI | ESI | EDX | ECX | R8D | R9D | RDI | RSI | RDX | RCX | Register::R8 | Register::R9
        ),
        Mnemonic::Mov => instruction.memory_base() == Register::ESP,
        Mnemonic::Push => machine == Machine::I386,
        _ => false,
    }
}
