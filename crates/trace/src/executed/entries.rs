//! The functions by which programs execute others, exported in front of the C library's: what is executed is written down.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{Named, Words, note_executed, take_back};
use crate::ledger::Executed;

unsafe extern "C" {
    static environ: Words;
}

fn own_environment() -> Words {
    unsafe { environ }
}

type Execute = unsafe extern "C" fn(*const c_char, Words) -> c_int;
type ExecuteIn = unsafe extern "C" fn(*const c_char, Words, Words) -> c_int;
type ExecuteOpened = unsafe extern "C" fn(c_int, Words, Words) -> c_int;
type ExecuteAt = unsafe extern "C" fn(c_int, *const c_char, Words, Words, c_int) -> c_int;
type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    Words,
    Words,
) -> c_int;

macro_rules! nexts {
    ($($next:ident $name:literal;)*) => {
        $(static $next: AtomicUsize = AtomicUsize::new(0);)*

        /// Find the functions behind ours. A child that is about to execute a program must not have to: its search takes
        /// a lock, which a thread may have held that does not exist in the child.
        pub extern "C" fn resolve() {
            $(
                let next = unsafe { libc::dlsym(libc::RTLD_NEXT, $name.as_ptr()) } as usize;
                $next.store(next, Relaxed);
            )*
        }
    };
}

nexts! {
    EXECVE c"execve";
    EXECV c"execv";
    EXECVP c"execvp";
    EXECVPE c"execvpe";
    FEXECVE c"fexecve";
    EXECVEAT c"execveat";
    SPAWN c"posix_spawn";
    SPAWNP c"posix_spawnp";
    EXECL c"execl";
    EXECLP c"execlp";
    EXECLE c"execle";
    SYSTEM c"system";
    POPEN c"popen";
}

/// The C library's own function; nothing where it has none.
fn find_next(next: &AtomicUsize) -> Option<usize> {
    // Another library may execute something as it is loaded, before we are.
    if EXECVE.load(Relaxed) == 0 {
        resolve();
    }
    Some(next.load(Relaxed)).filter(|next| *next != 0)
}

fn fail() -> c_int {
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

/// Execute a program in this process: comes back where that failed.
fn execute(named: &Named, environment: Words, next: impl FnOnce() -> Option<c_int>) -> c_int {
    let noted = note_executed(named, Some(environment));
    let failed = next();
    take_back(noted, Some(environment));
    failed.unwrap_or_else(fail)
}

/// In place of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, words: Words, environment: Words) -> c_int {
    execute(&Named::At(libc::AT_FDCWD, path), environment, || unsafe {
        let next: ExecuteIn = std::mem::transmute(find_next(&EXECVE)?);
        Some(next(path, words, environment))
    })
}

/// In place of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, words: Words) -> c_int {
    let named = Named::At(libc::AT_FDCWD, path);
    execute(&named, own_environment(), || unsafe {
        let next: Execute = std::mem::transmute(find_next(&EXECV)?);
        Some(next(path, words))
    })
}

/// In place of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, words: Words) -> c_int {
    execute(&Named::Searched(file), own_environment(), || unsafe {
        let next: Execute = std::mem::transmute(find_next(&EXECVP)?);
        Some(next(file, words))
    })
}

/// In place of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, words: Words, environment: Words) -> c_int {
    execute(&Named::Searched(file), environment, || unsafe {
        let next: ExecuteIn = std::mem::transmute(find_next(&EXECVPE)?);
        Some(next(file, words, environment))
    })
}

/// In place of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(file: c_int, words: Words, environment: Words) -> c_int {
    execute(&Named::Descriptor(file), environment, || unsafe {
        let next: ExecuteOpened = std::mem::transmute(find_next(&FEXECVE)?);
        Some(next(file, words, environment))
    })
}

/// In place of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    words: Words,
    environment: Words,
    flags: c_int,
) -> c_int {
    let is_empty = unsafe { path.as_ref() }.is_none_or(|first| *first == 0);
    let named = if is_empty && flags & libc::AT_EMPTY_PATH != 0 {
        Named::Descriptor(folder)
    } else {
        Named::At(folder, path)
    };
    execute(&named, environment, || unsafe {
        let next: ExecuteAt = std::mem::transmute(find_next(&EXECVEAT)?);
        Some(next(folder, path, words, environment, flags))
    })
}

/// Have a child execute a program: 0 where it does.
unsafe fn spawn(
    noted: Option<&'static Executed>,
    environment: Words,
    next: impl FnOnce() -> Option<c_int>,
) -> c_int {
    let failed = next().unwrap_or(libc::ENOSYS);
    if failed != 0 {
        take_back(noted, Some(environment));
    }
    failed
}

/// In place of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    pid: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    words: Words,
    environment: Words,
) -> c_int {
    let noted = note_executed(&Named::At(libc::AT_FDCWD, path), Some(environment));
    unsafe {
        spawn(noted, environment, || {
            let next: Spawn = std::mem::transmute(find_next(&SPAWN)?);
            Some(next(pid, path, actions, attributes, words, environment))
        })
    }
}

/// In place of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    pid: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    words: Words,
    environment: Words,
) -> c_int {
    let noted = note_executed(&Named::Searched(file), Some(environment));
    unsafe {
        spawn(noted, environment, || {
            let next: Spawn = std::mem::transmute(find_next(&SPAWNP)?);
            Some(next(pid, file, actions, attributes, words, environment))
        })
    }
}

extern "C" fn note_path(path: *const c_char) {
    find_next(&EXECVE);
    note_executed(&Named::At(libc::AT_FDCWD, path), Some(own_environment()));
}

/// Its environment is the last of its arguments, however many there are.
extern "C" fn note_path_alone(path: *const c_char) {
    find_next(&EXECVE);
    note_executed(&Named::At(libc::AT_FDCWD, path), None);
}

extern "C" fn note_word(file: *const c_char) {
    find_next(&EXECVE);
    note_executed(&Named::Searched(file), Some(own_environment()));
}

extern "C" fn note_shell(command: *const c_char) {
    const SHELL: &CStr = c"/bin/sh";
    find_next(&EXECVE);
    // Without a command it is only asked whether there is a shell.
    if !command.is_null() {
        note_executed(
            &Named::At(libc::AT_FDCWD, SHELL.as_ptr()),
            Some(own_environment()),
        );
    }
}

/// What fails in these is not taken back: nobody comes back to us.
///
/// Functions whose arguments are as many as there are, or in which a thread may be cancelled, which no frame of ours may be
/// in the way of: what is executed is written down, then the C library's own function goes on with all of its arguments.
macro_rules! passing_on {
    ($($name:ident => $note:path, $next:path;)*) => { $(
        /// In place of the C library's.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "call {note}",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp qword ptr [rip + {next}]",
                note = sym $note,
                next = sym $next,
            )
        }

        /// In place of the C library's.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "mov x29, sp",
                "stp x0, x1, [sp, #16]", "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]", "stp x6, x7, [sp, #64]",
                "bl {note}",
                "ldp x0, x1, [sp, #16]", "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]", "ldp x6, x7, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "adrp x16, {next}",
                "ldr x16, [x16, :lo12:{next}]",
                "br x16",
                note = sym $note,
                next = sym $next,
            )
        }
    )* };
}

passing_on! {
    execl => note_path, EXECL;
    execle => note_path_alone, EXECLE;
    execlp => note_word, EXECLP;
    system => note_shell, SYSTEM;
    popen => note_shell, POPEN;
}
