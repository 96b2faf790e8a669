//! Functions and types of the interpreter, found by name: none is linked, so that one file serves all versions.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// `PyMemAllocatorEx`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub struct AllocatorTable {
    pub ctx: *mut c_void,
    pub malloc: usize,
    pub calloc: usize,
    pub realloc: usize,
    pub free: usize,
}

/// `PyObjectArenaAllocator`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub struct ArenaTable {
    pub ctx: *mut c_void,
    pub alloc: usize,
    pub free: usize,
}

/// `PYMEM_DOMAIN_MEM`.
pub const MEM: c_int = 1;
/// `PYMEM_DOMAIN_OBJ`.
pub const OBJ: c_int = 2;

type AuditFunction = extern "C" fn(*const c_char, *mut c_void, *mut c_void) -> c_int;

macro_rules! functions {
    ($($field:ident = $name:literal : fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of the interpreter, with the addresses of its types.
        pub struct Api {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            pub thread_state: unsafe extern "C" fn() -> u64,
            pub types: Types,
            /// `PyThreadState_GetInterpreter`.
            interpreter_of: Option<unsafe extern "C" fn(u64) -> u64>,
            /// `PyUnstable_InterpreterFrame_GetCode` and `_GetLine`, from 3.12 on.
            pub frame_code: Option<unsafe extern "C" fn(u64) -> u64>,
            pub frame_line: Option<unsafe extern "C" fn(u64) -> c_int>,
            /// `_PyRuntime`, and its size, where the interpreter exports it.
            pub runtime: Option<(u64, usize)>,
            /// `PyObject_CallNoArgs`, which all have that compile.
            call: Option<unsafe extern "C" fn(u64) -> u64>,
            /// `_Py_GetOptimizer`, which those of 3.13 have that compile.
            optimizer: Option<unsafe extern "C" fn() -> u64>,
            /// `_PyMem_GetCurrentAllocatorName`: none for one that is not the interpreter's own.
            allocator_name: Option<unsafe extern "C" fn() -> *const c_char>,
        }

        fn find_functions() -> Option<Api> {
            Some(Api {
                $($field: unsafe { std::mem::transmute::<usize, unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                    find($name)?) },)*
                thread_state: unsafe { std::mem::transmute::<usize, unsafe extern "C" fn() -> u64>(
                    find(c"PyThreadState_GetUnchecked").or_else(|| find(c"_PyThreadState_UncheckedGet"))?) },
                types: Types {
                    object: find(c"PyBaseObject_Type")? as u64,
                    code: find(c"PyCode_Type")? as u64,
                    list: find(c"PyList_Type")? as u64,
                    dict: find(c"PyDict_Type")? as u64,
                    set: find(c"PySet_Type")? as u64,
                    frozenset: find(c"PyFrozenSet_Type")? as u64,
                    tuple: find(c"PyTuple_Type")? as u64,
                    text: find(c"PyUnicode_Type")? as u64,
                    bytes: find(c"PyBytes_Type")? as u64,
                },
                call: find(c"PyObject_CallNoArgs").map(|found| unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn(u64) -> u64>(found)
                }),
                optimizer: find(c"_Py_GetOptimizer").map(|found| unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn() -> u64>(found)
                }),
                interpreter_of: find(c"PyThreadState_GetInterpreter").map(|found| unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn(u64) -> u64>(found)
                }),
                frame_code: find(c"PyUnstable_InterpreterFrame_GetCode").map(|found| unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn(u64) -> u64>(found)
                }),
                frame_line: find(c"PyUnstable_InterpreterFrame_GetLine").map(|found| unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn(u64) -> c_int>(found)
                }),
                runtime: find_sized(c"_PyRuntime"),
                allocator_name: find(c"_PyMem_GetCurrentAllocatorName").map(|found| unsafe {
                    std::mem::transmute::<usize, unsafe extern "C" fn() -> *const c_char>(found)
                }),
            })
        }
    };
}

/// Addresses of type objects.
pub struct Types {
    pub object: u64,
    pub code: u64,
    pub list: u64,
    pub dict: u64,
    pub set: u64,
    pub frozenset: u64,
    pub tuple: u64,
    pub text: u64,
    pub bytes: u64,
}

impl Types {
    /// From the first of these to the last: all of this can be read as long as the program runs.
    pub fn range(&self) -> (u64, u64) {
        let all = self.all();
        let (first, last) = (all.iter().min(), all.iter().max());
        (first.copied().unwrap_or(0), last.copied().unwrap_or(0))
    }

    #[inline(always)]
    fn all(&self) -> [u64; 9] {
        let Self {
            object,
            code,
            list,
            dict,
            set,
            frozenset,
            tuple,
            text,
            bytes,
        } = *self;
        [text, tuple, code, dict, list, bytes, set, frozenset, object]
    }

    /// Whether a type is one of these.
    #[inline]
    pub fn has(&self, class: u64) -> bool {
        self.all().contains(&class)
    }
}

functions! {
    version = c"Py_GetVersion": fn() -> *const c_char;
    add_audit_hook = c"PySys_AddAuditHook": fn(AuditFunction, *mut c_void) -> c_int;
    get_allocator = c"PyMem_GetAllocator": fn(c_int, *mut AllocatorTable);
    set_allocator = c"PyMem_SetAllocator": fn(c_int, *mut AllocatorTable);
    get_arena_allocator = c"PyObject_GetArenaAllocator": fn(*mut ArenaTable);
    set_arena_allocator = c"PyObject_SetArenaAllocator": fn(*mut ArenaTable);
    object_malloc = c"PyObject_Malloc": fn(usize) -> *mut c_void;
    object_free = c"PyObject_Free": fn(*mut c_void);
    mem_malloc = c"PyMem_Malloc": fn(usize) -> *mut c_void;
    mem_realloc = c"PyMem_Realloc": fn(*mut c_void, usize) -> *mut c_void;
    mem_free = c"PyMem_Free": fn(*mut c_void);
    holds_lock = c"PyGILState_Check": fn() -> c_int;
    incref = c"Py_IncRef": fn(u64);
    decref = c"Py_DecRef": fn(u64);
    new_code = c"PyCode_NewEmpty": fn(*const c_char, *const c_char, c_int) -> u64;
    code_line = c"PyCode_Addr2Line": fn(u64, c_int) -> c_int;
    get_system = c"PySys_GetObject": fn(*const c_char) -> u64;
    is_true = c"PyObject_IsTrue": fn(u64) -> c_int;
    get_attribute = c"PyObject_GetAttrString": fn(u64, *const c_char) -> u64;
    bytes_text = c"PyBytes_AsString": fn(u64) -> *const u8;
    bytes_size = c"PyBytes_Size": fn(u64) -> isize;
    text_bytes = c"PyUnicode_AsUTF8AndSize": fn(u64, *mut isize) -> *const u8;
    leave_interpreter = c"PyEval_SaveThread": fn() -> u64;
    enter_interpreter = c"PyEval_RestoreThread": fn(u64);
    fetch_error = c"PyErr_Fetch": fn(*mut u64, *mut u64, *mut u64);
    restore_error = c"PyErr_Restore": fn(u64, u64, u64);
    new_list = c"PyList_New": fn(isize) -> u64;
    append = c"PyList_Append": fn(u64, u64) -> c_int;
    insert = c"PyList_Insert": fn(u64, isize, u64) -> c_int;
    set_slice = c"PyList_SetSlice": fn(u64, isize, isize, u64) -> c_int;
    get_slice = c"PyList_GetSlice": fn(u64, isize, isize) -> u64;
    repeat = c"PySequence_Repeat": fn(u64, isize) -> u64;
    list_of = c"PySequence_List": fn(u64) -> u64;
    new_dict = c"PyDict_New": fn() -> u64;
    set_item = c"PyDict_SetItem": fn(u64, u64, u64) -> c_int;
    new_set = c"PySet_New": fn(u64) -> u64;
    add = c"PySet_Add": fn(u64, u64) -> c_int;
    integer = c"PyLong_FromLong": fn(std::ffi::c_long) -> u64;
    text = c"PyUnicode_FromString": fn(*const c_char) -> u64;
}

static API: OnceLock<Api> = OnceLock::new();

/// Look for an interpreter in this program; nothing when it has no interpreter.
pub fn find_api() -> Option<&'static Api> {
    let found = find_functions()?;
    Some(API.get_or_init(|| found))
}

/// The interpreter that [`find_api`] found.
pub fn api() -> Option<&'static Api> {
    API.get()
}

impl Api {
    /// The interpreter that this thread is in; 0 where that cannot be told.
    pub fn interpreter(&self) -> u64 {
        let thread = unsafe { (self.thread_state)() };
        match self.interpreter_of {
            Some(interpreter_of) if thread != 0 => unsafe { interpreter_of(thread) },
            _ => 0,
        }
    }

    /// Whether this thread may call functions of the interpreter: it executes Python, or was called by it.
    pub fn is_inside(&self) -> bool {
        unsafe { (self.thread_state)() != 0 && (self.holds_lock)() != 0 }
    }

    /// Whether the allocator in use came with the interpreter, as far as it tells.
    pub fn has_own_allocator(&self) -> bool {
        self.allocator_name
            .is_none_or(|name| !unsafe { name() }.is_null())
    }

    /// Whether the allocator in use says that it is mimalloc.
    pub fn has_mimalloc(&self) -> bool {
        let name = self.allocator_name.map(|name| unsafe { name() });
        name.is_some_and(|name| {
            !name.is_null()
                && unsafe { CStr::from_ptr(name) }
                    .to_bytes()
                    .starts_with(b"mimalloc")
        })
    }

    /// Whether the interpreter compiles what it executes often. Needs the global lock.
    pub fn compiles(&self) -> bool {
        match self.optimizer {
            Some(optimizer) => unsafe {
                let found = optimizer();
                (self.decref)(found);
                found != 0
            },
            None => self.says_that_it_compiles(),
        }
    }

    /// What `sys._jit` says, from 3.14 on.
    fn says_that_it_compiles(&self) -> bool {
        let Some(call) = self.call else { return false };
        unsafe {
            let mut error = [0_u64; 3];
            let [kind, value, trace] = &mut error;
            (self.fetch_error)(kind, value, trace);
            let about = (self.get_system)(c"_jit".as_ptr());
            let asked = match about {
                0 => 0,
                _ => (self.get_attribute)(about, c"is_enabled".as_ptr()),
            };
            let answer = if asked == 0 { 0 } else { call(asked) };
            let compiles = answer != 0 && (self.is_true)(answer) == 1;
            for object in [asked, answer] {
                // Does nothing to what is not there.
                (self.decref)(object);
            }
            (self.restore_error)(error[0], error[1], error[2]);
            compiles
        }
    }

    /// The version as the interpreter words it.
    pub fn version_text(&self) -> &'static [u8] {
        unsafe { CStr::from_ptr((self.version)()) }.to_bytes()
    }
}

fn find(name: &CStr) -> Option<usize> {
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found as usize)
}

fn find_sized(name: &CStr) -> Option<(u64, usize)> {
    /// `Elf64_Sym`.
    #[repr(C)]
    struct Symbol {
        name: u32,
        about: [u8; 2],
        section: u16,
        value: u64,
        size: u64,
    }
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            extra: *mut *mut c_void,
            flags: c_int,
        ) -> c_int;
    }
    const RTLD_DL_SYMENT: c_int = 1;
    let address = find(name)?;
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let mut symbol: *mut c_void = std::ptr::null_mut();
    let found = unsafe {
        dladdr1(
            address as *const c_void,
            &raw mut info,
            &raw mut symbol,
            RTLD_DL_SYMENT,
        )
    };
    if found == 0 || symbol.is_null() {
        return None;
    }
    Some((
        address as u64,
        unsafe { &*symbol.cast::<Symbol>() }.size as usize,
    ))
}
