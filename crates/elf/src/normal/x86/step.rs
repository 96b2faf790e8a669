//! What the form asks of an instruction.

/// An instruction as the form takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The first byte of an instruction that binutils prints together with the next one.
    Begun,
    /// It does nothing.
    Idle,
    /// Its bytes say all.
    Plain {
        /// A comparison: the one before it is forgotten.
        compares: bool,
        then: Then,
    },
    /// It names the instruction at `target`.
    Branch {
        mnemonic: u16,
        target: u64,
        way: Way,
    },
    /// Its bytes say all, and it ends with a constant.
    Constant(Immediate),
    /// A number in it may be an address or a constant of the source: the last `Numbers` that were written down.
    Numbers,
}

/// Where an instruction leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Next,
    /// A call whose target is not in the code.
    Call,
    /// A jump whose target is not in the code.
    Jump,
    /// Nowhere.
    End,
}

/// How a branch comes to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Call,
    Jump,
    Condition,
}

/// The numbers in an instruction. They are written to one place, since copying them takes longer than reading them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) compares: bool,
    pub(super) then: Then,
    pub(super) displacement: Option<Displacement>,
    pub(super) immediate: Option<Immediate>,
}

impl Numbers {
    /// None.
    pub(super) const NONE: Self = Self {
        compares: false,
        then: Then::Next,
        displacement: None,
        immediate: None,
    };
}

/// A displacement that may be an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Displacement {
    pub(super) meaning: Meaning,
    /// Where it stands in the instruction, and how many bytes it has.
    pub(super) place: (u8, u8),
    /// Bytes that are read or written there; 0 where that is unknown.
    pub(super) read: u16,
    /// Whether the address depends on an index too.
    pub(super) is_indexed: bool,
}

/// What a displacement counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The next instruction: it names this address.
    Address(u64),
    /// Zero, or what a register holds.
    Distance(u64),
    /// On i386, a register that may hold the address of the table of offsets.
    Offset(u64),
}

/// A constant operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Immediate {
    pub(super) value: u64,
    pub(super) place: (u8, u8),
    pub(super) verb: Verb,
    /// Whether it moves the end of the stack.
    pub(super) moves_stack: bool,
    /// Whether it becomes an argument: by the registers of the System V convention, or on i386 on the stack.
    pub(super) is_argument: bool,
}

/// What is done with a constant, as far as the form asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Move,
    Push,
    Compare,
    Test,
    Add,
    Subtract,
    Other,
}

impl Verb {
    /// Whether the constant that was compared last is forgotten.
    pub(super) fn compares(self) -> bool {
        matches!(self, Self::Compare | Self::Test)
    }
}
