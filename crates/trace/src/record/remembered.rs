//! What was found lately, by a word that is quick to get.

use std::cell::UnsafeCell;

/// What was found lately for words such as addresses; none is 0.
pub struct Remembered<T, const ROOM: usize>(UnsafeCell<[(u64, Option<T>); ROOM]>);

// Used under the lock of the slow path only.
unsafe impl<T, const ROOM: usize> Sync for Remembered<T, ROOM> {}

impl<T: Copy, const ROOM: usize> Remembered<T, ROOM> {
    /// Nothing is remembered.
    pub const fn new() -> Self {
        Self(UnsafeCell::new([(0, None); ROOM]))
    }

    /// What was found for a word whose first place this is.
    #[inline(always)]
    pub fn find(&self, word: u64, place: u64) -> Option<T> {
        let all = unsafe { &*self.0.get() };
        let place = place as usize % ROOM;
        let (known, found) = &all[place];
        if *known == word {
            return *found;
        }
        let (known, found) = &all[place ^ 1];
        if *known == word { *found } else { None }
    }

    /// Remember it in its first place; what was there is kept in the second.
    pub fn keep(&self, word: u64, place: u64, found: Option<T>) {
        let all = unsafe { &mut *self.0.get() };
        let place = place as usize % ROOM;
        all[place ^ 1] = all[place];
        all[place] = (word, found);
    }
}
