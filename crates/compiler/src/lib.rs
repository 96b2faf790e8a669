//! The compiler wrapper: sets build factors whatever the build system passed.
