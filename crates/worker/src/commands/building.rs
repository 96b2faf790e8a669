//! A command that builds a program, behind the compiler wrappers.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use datamill_compiler::{
    WrapperSettings, install_wrappers, observe_build_factors, read_compiler_log,
};
use datamill_protocol::{CommandBuild, CommandRequest, FactorFacts, FailureKind, Phase};

use super::program::WITHOUT_PATH;
use crate::process::set_variable;
use crate::trouble::{Step, failure, io_failure};
use crate::world::own_binary;

/// Where the wrappers are, and what they do.
pub struct Building {
    tools: PathBuf,
    /// Levels of the build.
    pub settings: WrapperSettings,
}

impl Building {
    /// What a request builds behind, before its levels are known; the error is a clause.
    pub fn of(request: &CommandRequest) -> Result<Option<Self>, String> {
        let Some(build) = &request.build else {
            return Ok(None);
        };
        if !Path::new(&build.tools).is_absolute() || build.tools.contains(['\0', ':']) {
            return Err("build.tools is not an absolute path without a colon".to_owned());
        }
        let settings = WrapperSettings {
            seed: build.seed,
            ..WrapperSettings::default()
        };
        Ok(Some(Self {
            tools: PathBuf::from(&build.tools),
            settings,
        }))
    }

    /// Makes the wrappers and puts them first in the PATH of an environment.
    pub fn install(&self, environment: &mut Vec<CString>) -> Step<()> {
        let found = environment
            .iter()
            .rev()
            .find_map(|variable| variable.as_bytes().strip_prefix(b"PATH="));
        let path = String::from_utf8_lossy(found.unwrap_or(WITHOUT_PATH)).into_owned();
        self.place(&path).map_err(io_failure(
            Phase::Isolate,
            "installing the compiler wrappers",
        ))?;
        let wrapped = format!("{}/bin:{path}", self.tools.display());
        set_variable(environment, "PATH", &wrapped);
        Ok(())
    }

    fn place(&self, path: &str) -> io::Result<()> {
        fs::create_dir_all(&self.tools)?;
        let binary = self.tools.join("datamill-worker");
        if !binary.exists() {
            // A wrapper finds its folder by the file that it is: a link would lead elsewhere.
            fs::copy(own_binary()?, &binary)?;
        }
        install_wrappers(&self.tools, Path::new("/"), path, &self.settings).map(drop)
    }

    /// What the wrappers saw, and the levels that the build really had.
    pub fn look(&self) -> Step<(CommandBuild, Vec<FactorFacts>)> {
        let look = read_compiler_log(&self.tools).map_err(|error| {
            failure(
                Phase::Run,
                FailureKind::Internal,
                format!("The compiler wrapper's log cannot be read: {error}."),
                "Leave the folder of the wrappers alone while something is built.",
            )
        })?;
        let factors = observe_build_factors(&self.settings, &look.facts);
        let build = CommandBuild {
            compiler: look.facts,
            executables_sha256: look.executables_sha256,
        };
        Ok((build, factors))
    }
}
