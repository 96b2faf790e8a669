//! Any instruction, by a decoder of the whole set.

use iced_x86::{
    Code, ConstantOffsets, Decoder, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

use super::step::{Displacement, Immediate, Meaning, Numbers, Step, Then, Verb, Way};

/// Reads the instruction at which `decoder` stands, and moves it behind. `code` are the bytes that it reads;
/// `numbers` get what a step of numbers has.
pub(super) fn read_any(
    decoder: &mut Decoder<'_>,
    instruction: &mut Instruction,
    code: &[u8],
    numbers: &mut Numbers,
) -> Step {
    let bits = decoder.bitness();
    decoder.decode_out(instruction);
    // One instruction with what it waits for, as binutils prints it.
    if instruction.code() == Code::Wait && matches!(code.get(decoder.position()), Some(0xd8..=0xdf))
    {
        return Step::Begun;
    }
    let flow = instruction.flow_control();
    if instruction.code() == Code::INVALID {
        return Step::Plain {
            compares: false,
            then: Then::Next,
        };
    }
    if does_nothing(instruction) {
        return Step::Idle;
    }
    if flow != FlowControl::Next && instruction.op0_kind() == near(bits) {
        return Step::Branch {
            mnemonic: instruction.mnemonic() as u16,
            target: instruction.near_branch_target(),
            way: match flow {
                FlowControl::Call => Way::Call,
                FlowControl::UnconditionalBranch => Way::Jump,
                _ => Way::Condition,
            },
        };
    }
    let compares = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
    let then = match flow {
        FlowControl::IndirectCall | FlowControl::Call => Then::Call,
        FlowControl::IndirectBranch => Then::Jump,
        FlowControl::Return | FlowControl::Exception | FlowControl::UnconditionalBranch => {
            Then::End
        }
        _ => Then::Next,
    };
    let meaning = displaced(instruction, bits);
    if meaning.is_none() && !has_immediate(instruction) {
        return Step::Plain { compares, then };
    }
    // Where its constants stand is found by reading the instruction again.
    let places = decoder.get_constant_offsets(instruction);
    let displacement = meaning.map(|meaning| Displacement {
        meaning,
        place: (
            places.displacement_offset() as u8,
            places.displacement_size() as u8,
        ),
        read: if instruction.mnemonic() == Mnemonic::Lea {
            0
        } else {
            instruction.memory_size().size() as u16
        },
        is_indexed: instruction.memory_index() != Register::None,
    });
    let immediate = immediate(instruction, &places, bits);
    if displacement.is_none() && immediate.is_none() {
        return Step::Plain { compares, then };
    }
    *numbers = Numbers {
        compares,
        then,
        displacement,
        immediate,
    };
    Step::Numbers
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

/// Whether an operand is a constant: the last one, or of an instruction such as `out` the first.
fn has_immediate(instruction: &Instruction) -> bool {
    let is_immediate = |kind| (OpKind::Immediate8..=OpKind::Immediate32to64).contains(&kind);
    let last = instruction.op_count().saturating_sub(1);
    is_immediate(instruction.op_kind(last)) || is_immediate(instruction.op0_kind())
}

/// What the displacement of a memory operand may mean.
fn displaced(instruction: &Instruction, bits: u32) -> Option<Meaning> {
    if instruction.is_ip_rel_memory_operand() {
        return Some(Meaning::Address(instruction.ip_rel_memory_address()));
    }
    if instruction.memory_displ_size() < 4 || instruction.segment_prefix() != Register::None {
        return None;
    }
    let displacement = instruction.memory_displacement64();
    let counts_from_here = matches!(
        instruction.memory_base(),
        Register::None | Register::ESP | Register::EBP
    );
    // i386 counts from the table of offsets, which a register holds.
    Some(if bits == 32 && !counts_from_here {
        Meaning::Offset(displacement)
    } else {
        Meaning::Distance(displacement)
    })
}

fn immediate(instruction: &Instruction, places: &ConstantOffsets, bits: u32) -> Option<Immediate> {
    if !places.has_immediate() {
        return None;
    }
    let last = instruction.op_count() - 1;
    let value = (0..=last)
        .rev()
        .find_map(|index| instruction.try_immediate(index).ok())?;
    let destination = if instruction.op0_kind() == OpKind::Register {
        instruction.op0_register()
    } else {
        Register::None
    };
    Some(Immediate {
        value,
        place: (
            places.immediate_offset() as u8,
            places.immediate_size() as u8,
        ),
        verb: match instruction.mnemonic() {
            Mnemonic::Mov => Verb::Move,
            Mnemonic::Push => Verb::Push,
            Mnemonic::Cmp => Verb::Compare,
            Mnemonic::Test => Verb::Test,
            Mnemonic::Add => Verb::Add,
            Mnemonic::Sub => Verb::Subtract,
            _ => Verb::Other,
        },
        moves_stack: matches!(destination, Register::RSP | Register::ESP),
        is_argument: is_argument(instruction, destination, bits),
    })
}

fn is_argument(instruction: &Instruction, destination: Register, bits: u32) -> bool {
    use Register::{ECX, EDI, EDX, ESI, R8D, R9D, RCX, RDI, RDX, RSI};
    match instruction.mnemonic() {
        Mnemonic::Mov if bits == 64 => matches!(
            destination,
            EDI | ESI | EDX | ECX | R8D | R9D | RDI | RSI | RDX | RCX | Register::R8 | Register::R9
        ),
        Mnemonic::Mov => instruction.memory_base() == Register::ESP,
        Mnemonic::Push => bits == 32,
        _ => false,
    }
}
