//! Which instruction begins at a byte of the code.

/// Numbers of a function's instructions by the bytes at which they begin.
pub(super) struct Order {
    /// By the byte; below `first` where no instruction of this function begins.
    numbers: Vec<u32>,
    /// The number that stands for this function's instruction 0: it grows from function to function, so that nothing
    /// need be cleared between them.
    first: u32,
    next: u32,
}

impl Order {
    pub(super) fn new() -> Self {
        Self {
            numbers: Vec::new(),
            first: 1,
            next: 1,
        }
    }

    /// Begins a function of `length` bytes.
    pub(super) fn begin(&mut self, length: usize) {
        if self.numbers.len() < length {
            self.numbers.resize(length, 0);
        }
        // One that is left out at the end of the function before has the number `next`.
        self.first = self.next + 1;
        if u64::from(self.first) + length as u64 >= u64::from(u32::MAX) {
            self.numbers.fill(0);
            self.first = 1;
        }
        self.next = self.first;
    }

    /// The next instruction, of those before the function's end; one that is not `kept` has no number of its own.
    #[inline(always)]
    pub(super) fn push(&mut self, offset: usize, kept: bool) {
        if let Some(number) = self.numbers.get_mut(offset) {
            *number = self.next;
        }
        self.next += u32::from(kept);
    }

    /// How many were kept.
    pub(super) fn count(&self) -> u32 {
        self.next - self.first
    }

    /// The number of the instruction that begins at a byte, of one that is left out that of the next; none in the middle
    /// of one.
    pub(super) fn at(&self, offset: u32) -> Option<u32> {
        self.numbers.get(offset as usize)?.checked_sub(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn instructions_that_are_left_out_have_the_number_of_the_next() {
        let mut order = Order::new();
        for _ in 0..2 {
            order.begin(10);
            order.push(0, true);
            order.push(2, false);
            order.push(3, true);
            order.push(7, false);
            assert_eq!(
                [0, 2, 3, 7].map(|byte| order.at(byte)),
                [0, 1, 1, 2].map(Some)
            );
            assert_eq!([1, 9, 10].map(|byte| order.at(byte)), [None; 3]);
            assert_eq!(order.count(), 2);
        }
    }

    #[test]
    fn nothing_is_left_of_the_function_before() {
        let mut order = Order::new();
        order.begin(4);
        order.push(0, true);
        order.push(3, false);
        for next in [order.next, u32::MAX - 4] {
            order.next = next;
            order.begin(4);
            assert_eq!([0, 3].map(|byte| order.at(byte)), [None; 2]);
            order.push(1, true);
            assert_eq!(order.at(1), Some(0));
        }
    }
}
