//! `pie`: whether executables are position-independent.

use std::path::Path;
use std::process::{Command, Stdio};

use datamill_protocol::{CompilerFacts, FactorOffer};

use crate::factors::factor::{BuildFactor, offer_unless};
use crate::factors::observation::{MIXED, Observation, count_of};
use crate::factors::toolbox::{Toolbox, lose_levels};
use crate::rewriting::CallWishes;

const LEVELS: [&str; 2] = ["off", "on"];

/// The factor.
pub struct Pie;

impl BuildFactor for Pie {
    fn name(&self) -> &'static str {
        "pie"
    }

    fn offer(&self, tools: &Toolbox) -> FactorOffer {
        let lack = tools.lacks_compiler().or(tools.lacks_linker());
        let mut offer = offer_unless(lack, self.name(), &LEVELS);
        if let Some(driver) = tools.find_driver(|_| true) {
            lose_levels(&mut offer, |level| match level {
                "on" => lacks_startup_file(&driver, "Scrt1.o"),
                _ => lacks_startup_file(&driver, "crt1.o"),
            });
        }
        offer
    }

    fn parse(&self, level: &str) -> Result<(), String> {
        let is_known = LEVELS.contains(&level);
        is_known.then_some(()).ok_or_else(|| LEVELS.join(", "))
    }

    fn ask(&self, level: &str, _seed: u64, wishes: &mut CallWishes) {
        wishes.pie = Some(level == "on");
    }

    fn observe(&self, _asked: &str, facts: &CompilerFacts) -> Observation {
        let (pie, fixed) = (facts.pie_executables, facts.fixed_executables);
        let mut evidence = match (pie + fixed, facts.unread_executables) {
            (0, 0) => {
                "no link of an executable passed through the wrapper: setup.sh links none, or calls the \
                 linker by absolute path"
                    .to_owned()
            }
            (0, unread) => format!(
                "of {} that links named, none was there when setup.sh had ended: let it copy what it moves",
                count_of(unread, "executable")
            ),
            (read, unread) => {
                let mut text = format!(
                    "{pie} of {} read after setup.sh from where links put them are position-independent",
                    count_of(read, "executable")
                );
                if unread > 0 {
                    text += &format!("; {unread} more were gone or moved");
                }
                text
            }
        };
        if facts.executables_left > 0 {
            evidence += &format!(
                "; the wrapper left {} as the build has them (static where that cannot be \
                 position-independent, with their own start-up code, or by a direct call of the linker)",
                count_of(facts.executables_left, "link"),
            );
        }
        let observed = match (pie, fixed) {
            (0, 0) => None,
            (_, 0) => Some("on"),
            (0, _) => Some("off"),
            _ => Some(MIXED),
        };
        (observed.map(str::to_owned), evidence)
    }
}

/// Why the compiler cannot link executables that start with this file; `None` when it can.
fn lacks_startup_file(driver: &Path, file: &str) -> Option<String> {
    let answer = Command::new(driver)
        .arg(format!("-print-file-name={file}"))
        .stdin(Stdio::null())
        .output();
    let name = driver.display();
    match answer {
        // A file that there is not is answered by its bare name.
        Ok(answer) if answer.stdout.starts_with(b"/") => None,
        Ok(_) => Some(format!(
            "{name} finds no {file} to link such executables with"
        )),
        Err(error) => Some(format!("{name} cannot be asked for {file}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_finds_no_startup_file_lacks_the_level() {
        let reason = lacks_startup_file(Path::new("/usr/bin/cc"), "no-such-crt1.o").unwrap();
        assert!(reason.contains("no-such-crt1.o"), "{reason}");
        assert!(lacks_startup_file(Path::new("/nonexistent/cc"), "crt1.o").is_some());
    }
}
