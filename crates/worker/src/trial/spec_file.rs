//! Reading a trial specification; whatever is wrong with it is said with file and field.

use std::fs;
use std::path::Path;

use datamill_protocol::digest::is_digest;
use datamill_protocol::{SCHEMA_VERSION, TrialSpec};

use crate::factors::Levels;

/// Reads and checks a specification; the error is one sentence for the user.
pub fn read_spec(path: &Path) -> Result<(TrialSpec, Levels), String> {
    let at = |cause: String| format!("{}: {cause}", path.display());
    let text = fs::read(path).map_err(|error| at(error.to_string()))?;
    parse_spec(&text).map_err(at)
}

fn parse_spec(text: &[u8]) -> Result<(TrialSpec, Levels), String> {
    let spec: TrialSpec = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let levels = check_spec(&spec)?;
    Ok((spec, levels))
}

/// Checks a specification and understands its levels; the error is one sentence that names the field.
pub fn check_spec(spec: &TrialSpec) -> Result<Levels, String> {
    if spec.schema != SCHEMA_VERSION {
        return Err(format!(
            "schema: version {} is not the {SCHEMA_VERSION} of this worker",
            spec.schema
        ));
    }
    let folders = [
        ("scratch_dir", &spec.scratch_dir),
        ("cache_dir", &spec.cache_dir),
        ("output_dir", &spec.output_dir),
    ];
    let folders = folders.map(|(field, folder)| (field.to_owned(), folder));
    let archives = shipped(spec);
    let paths = archives
        .iter()
        .map(|(field, path, _)| (format!("{field}.path"), *path));
    for (field, folder) in folders.into_iter().chain(paths) {
        let path = Path::new(folder);
        if !path.is_absolute() || path.components().any(|part| part.as_os_str() == "..") {
            return Err(format!(
                "{field}: `{folder}` is not an absolute path without `..`"
            ));
        }
    }
    check_folders_apart(spec)?;
    for (field, _, sha256) in &archives {
        if !sha256.as_deref().is_none_or(is_digest) {
            return Err(format!(
                "{field}.sha256: expected 64 lower-case hexadecimal digits"
            ));
        }
    }
    for (field, seconds) in [
        ("limits.setup_timeout_s", spec.limits.setup_timeout_s),
        ("limits.run_timeout_s", spec.limits.run_timeout_s),
        ("limits.collect_timeout_s", spec.limits.collect_timeout_s),
    ] {
        if !(seconds > 0.0 && seconds <= 1e9) {
            return Err(format!(
                "{field}: {seconds} is not a number of seconds above 0 and up to 1e9"
            ));
        }
    }
    if let Some(rule) = &spec.quiet {
        rule.check().map_err(|cause| format!("quiet.{cause}"))?;
    }
    if spec.attempt == 0 {
        return Err("attempt: attempts count from 1".to_owned());
    }
    if spec.warmup > 0 && spec.measurements == 0 {
        return Err("warmup: it counts measurements, and measurements asks for none".to_owned());
    }
    let levels = Levels::parse(spec)?;
    levels.world.check_against(spec)?;
    Ok(levels)
}

/// What comes with the experiment: field, path and digest of each archive or folder.
fn shipped(spec: &TrialSpec) -> Vec<(String, &String, &Option<String>)> {
    let mut shipped = vec![(
        "package".to_owned(),
        &spec.package.path,
        &spec.package.sha256,
    )];
    if let Some(background) = &spec.background {
        shipped.push((
            "background".to_owned(),
            &background.path,
            &background.sha256,
        ));
    }
    for (index, factor) in spec.user_factors.iter().enumerate() {
        let field = format!("user_factors[{index}]");
        shipped.push((field, &factor.path, &factor.sha256));
    }
    shipped
}

/// The scratch folder is removed after the trial: nothing else may be it or lie in it. A package
/// that is a folder would change if the worker wrote below it.
fn check_folders_apart(spec: &TrialSpec) -> Result<(), String> {
    for (field, other) in [
        ("package.path", &spec.package.path),
        ("cache_dir", &spec.cache_dir),
        ("output_dir", &spec.output_dir),
    ] {
        if Path::new(other).starts_with(&spec.scratch_dir) {
            return Err(format!(
                "scratch_dir: `{}` is removed after the trial, but holds {field}",
                spec.scratch_dir
            ));
        }
    }
    for (field, folder) in [
        ("scratch_dir", &spec.scratch_dir),
        ("cache_dir", &spec.cache_dir),
        ("output_dir", &spec.output_dir),
    ] {
        if Path::new(folder).starts_with(&spec.package.path) {
            return Err(format!(
                "{field}: `{folder}` lies in the package `{}`, which would change with every trial",
                spec.package.path
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn spec() -> Value {
        serde_json::from_str(include_str!(
            "../../../../protocol/trials/examples/trial-spec.json"
        ))
        .unwrap()
    }

    fn refusal(change: impl FnOnce(&mut Value)) -> String {
        let mut spec = spec();
        change(&mut spec);
        parse_spec(spec.to_string().as_bytes()).unwrap_err()
    }

    #[test]
    fn the_example_is_accepted() {
        assert!(parse_spec(spec().to_string().as_bytes()).is_ok());
    }

    #[test]
    fn what_is_wrong_is_named_by_its_field() {
        for (field, value) in [
            ("schema", json!(1)),
            ("scratch_dir", json!("relative")),
            ("cache_dir", json!("/a/../b")),
            ("attempt", json!(0)),
            ("measurements", json!(0)),
            (
                "user_factors",
                json!([{"name": "mine", "path": "mine", "sha256": null}]),
            ),
            (
                "user_factors",
                json!([{"name": "mine", "path": "/mine", "sha256": "../../x"}]),
            ),
            ("isolation", json!("total")),
        ] {
            let refused = refusal(|spec| spec[field] = value);
            assert!(
                refused.contains(field) || refused.contains("total"),
                "{refused}"
            );
        }
        assert!(
            refusal(|spec| spec["limits"]["run_timeout_s"] = json!(-1))
                .starts_with("limits.run_timeout_s")
        );
        assert!(
            refusal(|spec| spec["package"]["sha256"] = json!("ABC")).starts_with("package.sha256")
        );
        assert!(
            refusal(|spec| spec["levels"] = json!({"aslr": "maybe"})).starts_with("levels.aslr")
        );
    }

    #[test]
    fn a_scratch_folder_that_holds_the_cache_is_refused() {
        assert!(refusal(|spec| spec["scratch_dir"] = json!("/var")).starts_with("scratch_dir"));
    }
    #[test]
    fn a_folder_of_the_worker_inside_the_package_is_refused() {
        for field in ["scratch_dir", "cache_dir", "output_dir"] {
            for folder in ["/package", "/package/below"] {
                let refused = refusal(|spec| {
                    spec["package"]["path"] = json!("/package");
                    for other in ["scratch_dir", "cache_dir", "output_dir"] {
                        spec[other] = json!(format!("/elsewhere/{other}"));
                    }
                    spec[field] = json!(folder);
                });
                assert!(refused.contains(field), "{refused}");
            }
        }
    }
}
