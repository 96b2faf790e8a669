//! What the options of compiler drivers (gcc and clang families) mean for the wrapper.

/// Options whose value is the next argument when nothing is joined to them.
pub(crate) const VALUE_OPTIONS: &[&str] = &[
    "-D",
    "-U",
    "-A",
    "-I",
    "-L",
    "-B",
    "-F",
    "-T",
    "-u",
    "-z",
    "-e",
    "-h",
    "-R",
    "-G",
    "-J",
    "-Tbss",
    "-Tdata",
    "-Ttext",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-Xanalyzer",
    "-Xopenmp-target",
    "-Xcuda-ptxas",
    "-Xcuda-fatbinary",
    "-Xarch_host",
    "-Xarch_device",
    "-mllvm",
    "-mmlir",
    "-mthread-model",
    "-include",
    "-include-pch",
    "-imacros",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-iwithsysroot",
    "-isystem",
    "-isystem-after",
    "-iquote",
    "-isysroot",
    "-imultilib",
    "-imultiarch",
    "-iframework",
    "-ivfsoverlay",
    "-cxx-isystem",
    "-stdlib++-isystem",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-specs",
    "-wrapper",
    "-target",
    "-arch",
    "-framework",
    "-gcc-toolchain",
    "-rpath",
    "-working-directory",
    "-serialize-diagnostics",
    "-install_name",
    "-compatibility_version",
    "-current_version",
    "-undefined",
    "-force_load",
    "-exported_symbols_list",
    "--param",
    "--sysroot",
    "--include",
    "--imacros",
    "--include-directory",
    "--include-directory-after",
    "--include-prefix",
    "--include-with-prefix",
    "--include-with-prefix-after",
    "--include-with-prefix-before",
    "--define-macro",
    "--undefine-macro",
    "--assert",
    "--entry",
    "--for-assembler",
    "--force-link",
    "--library-directory",
    "--prefix",
    "--specs",
    "--dumpbase",
    "--dumpdir",
    "--config",
    "--serialize-diagnostics",
    "--no-system-header-prefix",
    "--system-header-prefix",
];

/// Options after which the driver answers a question instead of compiling.
pub(crate) const QUERY_OPTIONS: &[&str] = &[
    "--version",
    "--help",
    "--target-help",
    "-V",
    "-###",
    "-cc1",
    "-cc1as",
    "-dumpversion",
    "-dumpmachine",
    "-dumpfullversion",
    "-dumpspecs",
    "-help",
];

pub(crate) const QUERY_PREFIXES: &[&str] = &["-print-", "--print-", "--help="];

/// Options that end the call before code is generated.
pub(crate) const PREPROCESS_OPTIONS: &[&str] = &[
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--preprocess",
    "--dependencies",
    "--user-dependencies",
    "--analyze",
];

pub(crate) const COMPILE_OPTIONS: &[&str] = &["-c", "-S", "--compile", "--assemble", "-emit-ast"];

pub(crate) const SOURCE_SUFFIXES: &[&str] = &[
    "c", "i", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "ii", "m", "mi", "mm", "M", "mii", "h",
    "H", "hh", "hp", "hxx", "hpp", "HPP", "h++", "tcc", "ixx", "cppm", "gimple", "ll", "bc", "f",
    "for", "ftn", "F", "FOR", "fpp", "FPP", "FTN", "f90", "f95", "f03", "f08", "F90", "F95", "F03",
    "F08", "adb", "ads", "d", "go", "cu", "cl",
];

pub(crate) const ASSEMBLY_SUFFIXES: &[&str] = &["s", "S", "sx"];

/// Whether the option sets the optimisation level; `-ObjC` chooses a language.
pub(crate) fn is_level(option: &str) -> bool {
    (option.starts_with("-O") && !option.starts_with("-ObjC"))
        || option == "--optimize"
        || option.starts_with("--optimize=")
}
