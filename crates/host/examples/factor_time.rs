//! Measures what setting, reading back and restoring all factors of this host costs a trial, the
//! journal included. As root: `cargo run --release -p datamill-host --example factor_time`.

use std::time::Instant;

use datamill_host::{
    Host, HostLevels, Journal, NoUserVerbs, host_factors, make_changes, restore_host,
};

const TURNS: usize = 30;

fn main() {
    let place = std::env::current_dir().unwrap_or_default();
    let state = place.join(format!(".factor-time-{}", std::process::id()));
    let host = Host::at("/".as_ref(), &state);
    let mut all = HostLevels::default();
    for factor in host_factors(&host) {
        let name = factor.name();
        let Some(level) = changing_level(factor.as_ref()) else {
            println!("{name:24} nothing to change here");
            continue;
        };
        let mut one = HostLevels::default();
        one.parse_level(name, &level);
        all.parse_level(name, &level);
        println!("{name:24} {level:10} {}", describe(&host, &one));
    }
    println!("{:24} {:10} {}", "all of them", "", describe(&host, &all));
    std::fs::remove_dir_all(&state).ok();
}

/// The last level of a factor that is available here and changes something.
fn changing_level(factor: &dyn datamill_host::HostFactor) -> Option<String> {
    let offer = factor.offer();
    let held = |level: &String| matches!(factor.hold(level), Ok(Some(_)));
    let changes = |level: &String| factor.plan(level).is_ok_and(|changes| !changes.is_empty());
    offer
        .levels
        .into_iter()
        .rev()
        .find(|level| changes(level) || held(level))
}

fn describe(host: &Host, levels: &HostLevels) -> String {
    let mut parts: [Vec<f64>; 3] = Default::default();
    for _ in 0..TURNS {
        match take_turn(host, levels) {
            Ok(times) => {
                for (part, time) in parts.iter_mut().zip(times) {
                    part.push(time);
                }
            }
            Err(cause) => return cause,
        }
    }
    let [set, read, restore] = parts.map(median);
    format!(
        "set {set:7.2} ms, read back {read:6.2} ms, restore {restore:7.2} ms: {:7.2} ms",
        set + read + restore
    )
}

/// Milliseconds of setting, of reading back before and after the trial, of restoring.
fn take_turn(host: &Host, levels: &HostLevels) -> Result<[f64; 3], String> {
    let began = Instant::now();
    let mut journal = Journal::open(host).map_err(|error| error.to_string())?;
    let planned = levels.plan(host).map_err(|error| error.cause)?;
    make_changes(&mut journal, &planned, &NoUserVerbs).map_err(|error| error.cause)?;
    let held = levels.hold(host).map_err(|error| error.cause)?;
    let set = began.elapsed();
    let facts = [levels.read_back(host), levels.read_back(host)].concat();
    let read = began.elapsed();
    drop(held);
    let restored = restore_host(&mut journal, &NoUserVerbs);
    let all = began.elapsed();
    if let Some(wrong) = facts
        .iter()
        .find(|fact| fact.observed.as_ref() != Some(&fact.asked))
    {
        return Err(format!("not read back: {wrong:?}"));
    }
    if !restored.is_complete() {
        return Err(restored.troubles().join(" "));
    }
    let milliseconds = |span: std::time::Duration| span.as_secs_f64() * 1e3;
    Ok([
        milliseconds(set),
        milliseconds(read - set),
        milliseconds(all - read),
    ])
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
