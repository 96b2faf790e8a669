//! A folder with wrappers and the sources of a small program.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use datamill_compiler::{
    WrapperSettings, install_wrappers, observe_build_factors, read_compiler_log,
};
use datamill_protocol::CompilerFacts;

pub const WRAPPER: &str = env!("CARGO_BIN_EXE_datamill-compiler-wrapper");
pub const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Files of the program, in an order that is neither alphabetical nor its reverse.
pub const PARTS: [&str; 4] = ["kiwi", "apple", "plum", "banana"];

pub struct Workshop {
    pub dir: PathBuf,
    pub wrappers: PathBuf,
    pub sources: PathBuf,
    settings: WrapperSettings,
}

impl Workshop {
    /// Wrappers that ask for these levels, and `main.c` with one C file for each of [`PARTS`].
    pub fn new(name: &str, optimization: Option<&str>, link_order: Option<&str>) -> Self {
        let asked = [("optimization", optimization), ("link_order", link_order)];
        let levels = asked.into_iter();
        let levels = levels.filter_map(|(name, level)| Some((name.to_owned(), level?.to_owned())));
        let settings = WrapperSettings {
            levels: levels.collect(),
            ..WrapperSettings::default()
        };
        Self::with_settings(name, settings)
    }

    /// The same for levels of any factors, in a trial with the seed 1.
    pub fn asking(name: &str, levels: &[(&str, &str)]) -> Self {
        let mut settings = WrapperSettings {
            seed: 1,
            ..WrapperSettings::default()
        };
        for (factor, level) in levels {
            settings.parse_level(factor, level).unwrap().unwrap();
        }
        Self::with_settings(name, settings)
    }

    pub fn with_settings(name: &str, settings: WrapperSettings) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&dir);
        let (wrappers, sources) = (dir.join("wrappers"), dir.join("sources"));
        fs::create_dir_all(&wrappers).unwrap();
        fs::create_dir_all(&sources).unwrap();
        fs::copy(WRAPPER, wrappers.join("datamill-worker")).unwrap();
        install_wrappers(&wrappers, Path::new("/"), SYSTEM_PATH, &settings).unwrap();
        let workshop = Self {
            dir,
            wrappers,
            sources,
            settings,
        };
        workshop.write_program("c");
        workshop
    }

    /// Writes the program in files with this suffix, `c` or `cpp`.
    pub fn write_program(&self, suffix: &str) {
        let linkage = "#ifdef __cplusplus\nextern \"C\"\n#endif\n";
        let mut main = String::from("#include <stdio.h>\n");
        for part in PARTS {
            let text =
                format!("{linkage}int part_{part}(void);\nint part_{part}(void) {{ return 1; }}\n");
            self.write(&format!("{part}.{suffix}"), &text);
            main += &format!("{linkage}int part_{part}(void);\n");
        }
        main += "int main(void) {\n#if defined(__OPTIMIZE_SIZE__)\nputs(\"size\");\n\
            #elif defined(__OPTIMIZE__)\nputs(\"speed\");\n#else\nputs(\"none\");\n#endif\nreturn 0";
        for part in PARTS {
            main += &format!(" * part_{part}()");
        }
        main += ";\n}\n";
        self.write(&format!("main.{suffix}"), &main);
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.sources.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn path_variable(&self) -> String {
        format!("{}:{SYSTEM_PATH}", self.wrappers.join("bin").display())
    }

    /// Runs a line in a shell among the sources, the wrappers first in PATH.
    pub fn try_shell(&self, line: &str) -> Output {
        Command::new("/bin/sh")
            .args(["-ec", line])
            .current_dir(&self.sources)
            .env("PATH", self.path_variable())
            .env("LC_ALL", "C")
            .env_remove("MAKEFLAGS")
            .env_remove("DATAMILL_WRAPPED")
            .output()
            .unwrap()
    }

    /// The same, which must succeed; returns what it printed.
    ///
    /// On busy machines gcc was twice seen not to find its own `cc1`. What is there then is printed, and the line is
    /// tried once more, as if it had not been: these are tests of the wrapper.
    pub fn shell(&self, line: &str) -> String {
        let log = self.wrappers.join("compiler.log");
        let known_bytes = fs::metadata(&log).map_or(0, |facts| facts.len());
        let mut output = self.try_shell(line);
        if String::from_utf8_lossy(&output.stderr).contains("cannot execute 'cc1") {
            let there = "ls -l $(gcc -print-prog-name=cc1) $(gcc -print-prog-name=cc1plus); cat /proc/self/mountinfo";
            let told = Command::new("/bin/sh").args(["-c", there]).output();
            eprintln!("{line}: {output:?}; afterwards: {told:?}");
            let file = fs::OpenOptions::new().write(true).open(&log).unwrap();
            file.set_len(known_bytes).unwrap();
            output = self.try_shell(line);
        }
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{printed}{errors}");
        printed
    }

    pub fn facts(&self) -> CompilerFacts {
        read_compiler_log(&self.wrappers).unwrap().facts
    }

    /// Observed level of each factor asked for.
    pub fn observed(&self) -> Vec<Option<String>> {
        observe_build_factors(&self.settings, &self.facts())
            .into_iter()
            .map(|factor| factor.observed)
            .collect()
    }

    /// The type of a binary as binutils read it: `EXEC` or `DYN`.
    pub fn elf_type_of(&self, binary: &str) -> String {
        let header = self.shell(&format!("/usr/bin/readelf -h {binary}"));
        let line = header
            .lines()
            .find_map(|line| line.trim().strip_prefix("Type:"));
        let name = line.and_then(|line| line.split_whitespace().next());
        name.unwrap_or_default().to_owned()
    }

    /// The parts in the order in which the linker laid out their functions.
    pub fn layout_of(&self, binary: &str) -> Vec<String> {
        let symbols = self.shell(&format!("/usr/bin/nm -n {binary}"));
        let names = symbols
            .lines()
            .filter_map(|line| line.split_once(" T part_"));
        names.map(|(_, part)| part.to_owned()).collect()
    }

    /// The levels that the compiler itself recorded in a binary built with `-g`.
    pub fn recorded_levels(&self, binary: &str) -> Vec<String> {
        let dump = self.shell(&format!("/usr/bin/readelf --debug-dump=info {binary}"));
        let producers = dump.lines().filter(|line| line.contains("DW_AT_producer"));
        let mut levels: Vec<String> = producers
            .filter_map(|line| line.split_whitespace().rfind(|word| word.starts_with("-O")))
            .map(str::to_owned)
            .collect();
        levels.dedup();
        levels
    }
}

/// The parts in an order that can be asked for.
pub fn parts_in(link_order: &str) -> Vec<String> {
    let mut parts = PARTS.map(str::to_owned).to_vec();
    match link_order {
        "alphabetical" => parts.sort(),
        "reverse" => parts.sort_by(|a, b| b.cmp(a)),
        _ => {}
    }
    parts
}

/// Whether all of these programs exist; prints the reason when the caller has to skip something.
pub fn has_programs(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| {
        !SYSTEM_PATH
            .split(':')
            .any(|folder| Path::new(folder).join(program).exists())
    });
    if let Some(program) = missing {
        println!("skipped: {program} is not installed");
    }
    missing.is_none()
}

/// `kiwi.o apple.o …` for a suffix.
pub fn part_files(suffix: &str) -> String {
    PARTS.map(|part| format!("{part}.{suffix}")).join(" ")
}

pub fn observed_levels(levels: &[&str]) -> Vec<Option<String>> {
    levels
        .iter()
        .map(|level| Some((*level).to_owned()))
        .collect()
}

pub fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn run_program(program: impl AsRef<OsStr>) -> String {
    let output = Command::new(program).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
