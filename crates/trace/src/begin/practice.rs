//! Operations whose effect on tables is known, carried out once before counting begins, so that the functions of
//! the interpreter that serve tables are known when the program uses them.

use std::ffi::c_long;
use std::sync::atomic::Ordering;

use crate::allocator::settle_now;
use crate::ledger;
use crate::pending::{CONFIRMED, EMPTY_KEYS, MAKES_LISTS, learn_here};
use crate::python::Api;
use crate::python::build::is_free_threaded;
use crate::python::objects::Kind;
use crate::readable::read_word;

/// Enough for four callers to be told apart, each by four answers.
const MOST_ROUNDS: usize = 24;

/// Items of a container, of either kind, at most: no table takes more than 512 bytes then, so that the heap is not asked.
///
/// Larger blocks would leave other gaps in the heap than there are without us. Those decide how long the allocator looks for
/// the program's blocks, and whether its lists grow in place.
const MOST_INTEGERS: c_long = 10;
const MOST_TEXTS: c_long = 18;

/// Let a list, a dictionary and a set grow, and ask for blocks that serve none of them. Needs the global lock.
///
/// Returns false where the tables of one of them were not recognised.
pub fn practise(api: &Api) -> bool {
    learn_here(true);
    unsafe {
        let empty = (api.new_dict)();
        let keys = read_word(empty + Kind::Dict.table_offset());
        EMPTY_KEYS.store(keys.unwrap_or(0), Ordering::Relaxed);
        (api.decref)(empty);
        for _ in 0..MOST_ROUNDS {
            let asked = count_asked();
            ask_for_blocks(api);
            if is_free_threaded() {
                make_and_grow_lists(api);
                grow_lists(api);
            }
            grow(api, MOST_INTEGERS, |number| (api.integer)(number));
            grow(api, MOST_TEXTS, |number| {
                let text = [b'a' + number as u8, 0];
                (api.text)(text.as_ptr().cast())
            });
            if count_asked() == asked {
                break;
            }
        }
    }
    settle_now();
    learn_here(false);
    CONFIRMED
        .iter()
        .all(|confirmed| confirmed.load(Ordering::Relaxed))
}

fn count_asked() -> u64 {
    ledger::header().map_or(0, |header| header.asked.load(Ordering::Relaxed))
}

/// Blocks of the sizes of tables, in no table: through the functions that all callers share.
unsafe fn ask_for_blocks(api: &Api) {
    unsafe {
        for size in [120, 256, 264] {
            (api.object_free)((api.object_malloc)(size));
            (api.mem_free)((api.mem_malloc)(size));
        }
        let block = (api.mem_realloc)(std::ptr::null_mut(), 40);
        (api.mem_free)((api.mem_realloc)(block, 80));
    }
    settle_now();
}

unsafe fn grow(api: &Api, most: c_long, make: impl Fn(c_long) -> u64) {
    unsafe {
        let list = (api.new_list)(0);
        let dict = (api.new_dict)();
        let set = (api.new_set)(0);
        for number in 0..most {
            let item = make(number);
            (api.append)(list, item);
            settle_now();
            (api.set_item)(dict, item, item);
            settle_now();
            (api.add)(set, item);
            settle_now();
            (api.decref)(item);
        }
        for object in [list, dict, set] {
            (api.decref)(object);
        }
    }
}

/// Where a list that grows from nothing looks like one that is made, each function that lets lists grow must have been
/// seen to let them grow from something.
unsafe fn grow_lists(api: &Api) {
    unsafe {
        let [single, inserted, sliced] = [(); 3].map(|()| (api.new_list)(0));
        let item = (api.integer)(1);
        (api.append)(single, item);
        for _ in 0..24 {
            (api.insert)(inserted, 0, item);
            settle_now();
            (api.set_slice)(sliced, 0, 0, single);
            settle_now();
        }
        for object in [single, inserted, sliced, item] {
            (api.decref)(object);
        }
    }
}

/// Each function that makes lists with room for their items must have been seen to do so, where it asks for them as one
/// that lets lists grow.
///
/// By turns with lists that grow, so that no function that serves both is trusted before that shows.
unsafe fn make_and_grow_lists(api: &Api) {
    unsafe {
        let item = (api.integer)(1);
        for turn in 0..24 {
            let list = (api.new_list)(0);
            for _ in 0..4 {
                (api.append)(list, item);
                settle_now();
            }
            MAKES_LISTS.store(true, Ordering::Relaxed);
            let made = match turn % 4 {
                0 => (api.new_list)(8),
                1 => (api.repeat)(list, 2),
                2 => (api.list_of)(list),
                _ => (api.get_slice)(list, 0, 4),
            };
            settle_now();
            MAKES_LISTS.store(false, Ordering::Relaxed);
            (api.append)(list, item);
            settle_now();
            for object in [made, list] {
                (api.decref)(object);
            }
        }
        (api.decref)(item);
    }
}
