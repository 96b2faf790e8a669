//! Line numbers that the compiler put in.

/// What the arguments of the next call are so far.
#[derive(Default)]
pub(super) struct Lines {
    /// Where constants that may be lines stand in the form: position and bytes.
    candidates: Vec<(usize, usize)>,
    names_file: bool,
    /// Those that are lines.
    found: Vec<(usize, usize)>,
}

impl Lines {
    pub(super) fn clear(&mut self) {
        self.forget();
        self.found.clear();
    }

    /// A constant at `position` of the form, moved into an argument.
    pub(super) fn constant(&mut self, value: i64, position: usize, length: usize) {
        if (1..=1_000_000).contains(&value) {
            self.candidates.push((position, length));
        }
    }

    /// The name of a source file became an argument.
    pub(super) fn file(&mut self) {
        self.names_file = true;
    }

    /// The call that takes the arguments.
    pub(super) fn call(&mut self) {
        if self.names_file {
            self.found.append(&mut self.candidates);
        }
        self.forget();
    }

    /// A jump: what was moved before is not an argument of a call that comes after.
    pub(super) fn forget(&mut self) {
        self.candidates.clear();
        self.names_file = false;
    }

    pub(super) fn found(&self) -> &[(usize, usize)] {
        &self.found
    }
}
