//! Responses that a package reports: `metrics.json` or `metrics.csv` in its archive.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Values by name; one, or one for each measurement.
pub type Metrics = BTreeMap<String, Vec<f64>>;

/// Reads `metrics.json`: an object of names with a number or a list of numbers each.
///
/// The error names line and cause.
pub fn parse_metrics_json(text: &[u8]) -> Result<Metrics, String> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let metrics = NamedValues::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(metrics.0)
}

/// Reads `metrics.csv`: a header of names and one row for each measurement, or rows under `metric,value`.
///
/// The error names line and cause.
pub fn parse_metrics_csv(text: &[u8]) -> Result<Metrics, String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rows = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split(',').map(cell).collect::<Vec<_>>()))
        .filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
    let (line, header) = rows.next().ok_or("it has no header")?;
    if header
        .iter()
        .map(|name| name.to_ascii_lowercase())
        .eq(["metric", "value"])
    {
        return collect_long_rows(rows);
    }
    let at = |line: usize, cause: String| format!("{cause} at line {line}");
    let mut metrics = Metrics::new();
    for name in &header {
        check_name(name).map_err(|cause| at(line, cause))?;
        if metrics.insert((*name).to_owned(), Vec::new()).is_some() {
            return Err(at(line, format!("the name `{name}` comes twice")));
        }
    }
    for (line, cells) in rows {
        if cells.len() != header.len() {
            return Err(at(
                line,
                format!("{} cells under {} names", cells.len(), header.len()),
            ));
        }
        for (name, cell) in header.iter().zip(cells) {
            let value = number(cell).map_err(|cause| at(line, cause))?;
            metrics.entry((*name).to_owned()).or_default().push(value);
        }
    }
    match metrics.values().all(|values| !values.is_empty()) {
        true => Ok(metrics),
        false => Err("it has a header but no values".to_owned()),
    }
}

fn collect_long_rows<'a>(
    rows: impl Iterator<Item = (usize, Vec<&'a str>)>,
) -> Result<Metrics, String> {
    let mut metrics = Metrics::new();
    for (line, cells) in rows {
        let at = |cause: String| format!("{cause} at line {line}");
        let [name, value] = cells[..] else {
            return Err(at(format!(
                "{} cells instead of a metric and a value",
                cells.len()
            )));
        };
        check_name(name).map_err(at)?;
        metrics
            .entry(name.to_owned())
            .or_default()
            .push(number(value).map_err(at)?);
    }
    Ok(metrics)
}

fn cell(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}

fn number(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("`{text}` is not a finite number")),
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let usable = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if usable {
        Ok(())
    } else {
        Err(format!(
            "`{name}` is not a name (letters, digits and _, no digit first)"
        ))
    }
}

/// Read by hand because a general JSON value keeps only the last of two equal names, silently.
struct NamedValues(Metrics);

impl<'de> Deserialize<'de> for NamedValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = NamedValues;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of names and numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NamedValues, A::Error> {
                let mut metrics = Metrics::new();
                while let Some(name) = map.next_key::<String>()? {
                    check_name(&name).map_err(A::Error::custom)?;
                    let Values(values) = map.next_value()?;
                    if values.is_empty() {
                        return Err(A::Error::custom(format!("`{name}` has no values")));
                    }
                    if metrics.insert(name.clone(), values).is_some() {
                        return Err(A::Error::custom(format!("the name `{name}` comes twice")));
                    }
                }
                Ok(NamedValues(metrics))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

struct Values(Vec<f64>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Values;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number or a list of numbers")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Values, E> {
                if value.is_finite() {
                    Ok(Values(vec![value]))
                } else {
                    Err(E::custom("not a finite number"))
                }
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Values, E> {
                Ok(Values(vec![value as f64]))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Values, E> {
                Ok(Values(vec![value as f64]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Values, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element::<f64>()? {
                    values.push(value);
                }
                Ok(Values(values))
            }
        }
        deserializer.deserialize_any(OneOrMore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(named: &[(&str, &[f64])]) -> Metrics {
        named
            .iter()
            .map(|(name, values)| ((*name).to_owned(), values.to_vec()))
            .collect()
    }

    #[test]
    fn numbers_and_lists_of_numbers_are_read_from_json() {
        let text = br#"{"bytes": 12, "times": [0.5, 1e-3], "delta": -4}"#;
        let expected = metrics(&[
            ("bytes", &[12.0]),
            ("times", &[0.5, 1e-3]),
            ("delta", &[-4.0]),
        ]);
        assert_eq!(parse_metrics_json(text).unwrap(), expected);
    }

    #[test]
    fn bad_json_is_refused_with_its_line_and_cause() {
        for (text, cause, line) in [
            ("{\"a\": 1,\n\"a\": 2}", "comes twice", 2),
            (
                "{\"a\": 1,\n\"b\": \"x\"}",
                "a number or a list of numbers",
                2,
            ),
            ("{\"a\": true}", "a number or a list of numbers", 1),
            ("{\n\n\"a\": NaN}", "expected value", 3),
            ("{\"a b\": 1}", "is not a name", 1),
            ("{\"a\": []}", "has no values", 1),
            ("{\"a\": 1e999}", "out of range", 1),
            ("[1]", "an object of names and numbers", 1),
            ("{\"a\": {\"b\": 1}}", "a number or a list of numbers", 1),
            ("{\"a\": 1} x", "trailing characters", 1),
        ] {
            let refused = parse_metrics_json(text.as_bytes()).unwrap_err();
            assert!(
                refused.contains(cause) && refused.contains(&format!("line {line}")),
                "{text}: {refused}"
            );
        }
    }

    #[test]
    fn a_table_of_measurements_is_read_from_csv() {
        let expected = metrics(&[("a", &[1.0, 3.0]), ("b", &[2.0, 4.5])]);
        assert_eq!(
            parse_metrics_csv(b"a,\"b\"\r\n1,2\r\n\r\n3,4.5\r\n").unwrap(),
            expected
        );
    }

    #[test]
    fn rows_of_metric_and_value_are_read_from_csv() {
        let expected = metrics(&[("a", &[1.0, 3.0]), ("b", &[2.0])]);
        assert_eq!(
            parse_metrics_csv(b"metric,value\na,1\nb,2\na,3\n").unwrap(),
            expected
        );
    }

    #[test]
    fn bad_csv_is_refused_with_its_line_and_cause() {
        for (text, cause) in [
            ("", "no header"),
            ("a,b\n", "no values"),
            ("a,a\n1,2\n", "comes twice at line 1"),
            ("a,b\n1\n", "1 cells under 2 names at line 2"),
            ("a,b\n1,\n", "`` is not a finite number at line 2"),
            ("a\nNaN\n", "`NaN` is not a finite number at line 2"),
            ("a\ninf\n", "`inf` is not a finite number at line 2"),
            (
                "a b\n1\n",
                "`a b` is not a name (letters, digits and _, no digit first) at line 1",
            ),
            (
                "metric,value\nx,1,2\n",
                "3 cells instead of a metric and a value at line 2",
            ),
        ] {
            let refused = parse_metrics_csv(text.as_bytes()).unwrap_err();
            assert!(refused.contains(cause), "{text}: {refused}");
        }
    }
}
