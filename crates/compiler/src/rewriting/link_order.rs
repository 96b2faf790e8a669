//! The order of objects in a link or an archive.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::draws::Draws;
use crate::arguments::{Argument, Role};
use crate::build_log::LinkFacts;

/// Orders that can be asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LinkOrder {
    /// As the build system passes them.
    #[default]
    Default,
    /// By file name, bytewise.
    Alphabetical,
    /// The same backwards.
    Reverse,
    /// Drawn from this seed and the file names.
    Random(u64),
}

/// Sorts the objects (and the sources that become objects) of each stretch between two barriers.
///
/// The positions that hold objects stay the same; every other argument stays where it is. A library
/// is a barrier because its members are chosen by what the objects before it need.
pub(crate) fn order_objects(arguments: &mut [Argument], order: LinkOrder) -> LinkFacts {
    let mut facts = LinkFacts {
        in_order: true,
        ..LinkFacts::default()
    };
    for stretch in movable_stretches(arguments) {
        facts.orderable = true;
        let files: Vec<&Argument> = stretch.iter().map(|&index| &arguments[index]).collect();
        let sorted: Vec<Argument> = sorted_files(&files, order).into_iter().cloned().collect();
        for (&index, argument) in stretch.iter().zip(sorted) {
            facts.reordered |= arguments[index] != argument;
            arguments[index] = argument;
        }
    }
    facts
}

/// What [`order_objects`] would find, without changing anything.
pub(crate) fn inspect_order(arguments: &[Argument], order: LinkOrder) -> LinkFacts {
    let found = order_objects(&mut arguments.to_vec(), order);
    LinkFacts {
        orderable: found.orderable,
        reordered: false,
        in_order: !found.reordered,
    }
}

/// Indices of the files of each stretch that has at least two.
fn movable_stretches(arguments: &[Argument]) -> Vec<Vec<usize>> {
    let mut stretches = vec![Vec::new()];
    for (index, argument) in arguments.iter().enumerate() {
        if argument.role.is_barrier() {
            stretches.push(Vec::new());
        } else if argument.role.is_movable()
            && let Some(stretch) = stretches.last_mut()
        {
            stretch.push(index);
        }
    }
    stretches.retain(|stretch| stretch.len() >= 2);
    stretches
}

fn sorted_files<'a>(files: &[&'a Argument], order: LinkOrder) -> Vec<&'a Argument> {
    // Beside objects, a source counts under the name of the object that it becomes.
    let by_stem = files.iter().any(|file| file.role == Role::Object)
        && files.iter().any(|file| file.role != Role::Object);
    let mut sorted = files.to_vec();
    match order {
        LinkOrder::Default => {}
        LinkOrder::Alphabetical => sorted.sort_by_key(|file| sort_key(&file.text, by_stem)),
        LinkOrder::Reverse => {
            sorted.sort_by_key(|file| std::cmp::Reverse(sort_key(&file.text, by_stem)));
        }
        LinkOrder::Random(seed) => {
            // From the sorted names, and not from their folders, which may be a trial's own.
            sorted.sort_by_key(|file| sort_key(&file.text, by_stem));
            let mut draws = Draws::new(seed, sorted.iter().map(|file| file_name(&file.text)));
            draws.shuffle(&mut sorted);
        }
    }
    sorted
}

fn file_name(file: &OsStr) -> &[u8] {
    Path::new(file).file_name().unwrap_or(file).as_bytes()
}

/// Base name (its stem first when asked), then the whole path.
fn sort_key(file: &OsStr, by_stem: bool) -> [&[u8]; 3] {
    let name = file_name(file);
    let stem = Path::new(file).file_stem().unwrap_or(file).as_bytes();
    [if by_stem { stem } else { name }, name, file.as_bytes()]
}
