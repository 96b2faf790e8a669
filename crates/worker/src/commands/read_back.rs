//! Reading the factors of a command back, without a witness for every execution.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use datamill_protocol::{CommandRequest, FactorFacts};

use super::request::UnderstoodCommand;
use crate::factors::{Observer, ProcessLevels, fact, read_back_handed, read_back_levels};
use crate::interrupt::Interrupt;
use crate::world::{own_binary, unchanged_host};

/// Readings that are remembered; a session has few commands at few levels.
const MOST_REMEMBERED: usize = 64;

/// What a reading holds for.
#[derive(PartialEq, Eq)]
struct Circumstances {
    program: PathBuf,
    directory: PathBuf,
    variables: BTreeMap<String, String>,
    levels: ProcessLevels,
}

/// What witnesses saw before the first execution in the same circumstances.
#[derive(Default)]
pub struct ReadBack {
    known: Vec<(Circumstances, Vec<FactorFacts>)>,
}

impl ReadBack {
    /// The levels that a command is about to be executed at.
    pub fn of(
        &mut self,
        request: &CommandRequest,
        command: &UnderstoodCommand,
        interrupt: &Interrupt,
    ) -> Vec<FactorFacts> {
        let (mut facts, witnessed) = read_back_handed(&command.levels, &command.conditions);
        if !witnessed.is_empty() {
            let circumstances = Circumstances {
                program: command.program.clone(),
                directory: command.directory.clone(),
                variables: request.variables.clone(),
                levels: witnessed,
            };
            facts.extend(self.witnessed(circumstances, command, interrupt));
        }
        facts.sort_by(|left, right| left.name.cmp(&right.name));
        facts
    }

    fn witnessed(
        &mut self,
        circumstances: Circumstances,
        command: &UnderstoodCommand,
        interrupt: &Interrupt,
    ) -> Vec<FactorFacts> {
        let known = self.known.iter().find(|(known, _)| *known == circumstances);
        if let Some((_, facts)) = known {
            return facts.clone();
        }
        let facts = launch_witnesses(&circumstances, command, interrupt);
        if facts.iter().all(|fact| fact.observed.is_some()) {
            if self.known.len() == MOST_REMEMBERED {
                self.known.remove(0);
            }
            self.known.push((circumstances, facts.clone()));
        }
        facts
    }
}

fn launch_witnesses(
    circumstances: &Circumstances,
    command: &UnderstoodCommand,
    interrupt: &Interrupt,
) -> Vec<FactorFacts> {
    let world = own_binary().and_then(|binary| {
        let tools = binary.parent().unwrap_or(Path::new("/"));
        unchanged_host(&command.directory, tools)
    });
    let world = match world {
        Ok(world) => world,
        Err(error) => {
            let evidence = format!("No witness process could be launched: {error}.");
            let asked = circumstances.levels.texts();
            let unseen = asked.map(|(name, level)| fact(name, level, None, evidence.clone()));
            return unseen.collect();
        }
    };
    let observer = Observer {
        world: &world,
        program: &command.program,
        conditions: &command.conditions,
        interrupt,
    };
    let mut facts = read_back_levels(&circumstances.levels, &observer);
    for fact in &mut facts {
        fact.evidence = of_command(&fact.evidence);
    }
    facts
}

/// Evidence about `run.sh` as evidence about a command that is executed again and again.
fn of_command(evidence: &str) -> String {
    let evidence = evidence.replace("run.sh", "the command");
    let sentence = evidence.trim_end_matches('.');
    format!("{sentence}, before the first execution in these circumstances.")
}
