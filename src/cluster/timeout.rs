//! Durations as kubectl's flags take them.

use std::time::Duration;

/// Reads a timeout as kubectl does: whole seconds (`30`), or Go's notation (`1m30s`, `1.5h`, `500ms`). Zero, in
/// either notation, means none at all. Source: client-go `clientcmd.ParseTimeout`, Go `time.ParseDuration`.
///
/// # Errors
/// When it is neither; nothing is said of why, since the caller knows which flag it was.
pub fn parse(text: &str) -> Result<Option<Duration>, NotATimeout> {
    let seconds = text.parse::<u32>().map(|seconds| Duration::from_secs(seconds.into())).ok();
    let duration = seconds.or_else(|| go_duration(text)).ok_or(NotATimeout)?;
    Ok((!duration.is_zero()).then_some(duration))
}

/// The text is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a timeout is a number of seconds, or a number and a unit, as in 30s, 2m or 1h")]
pub struct NotATimeout;

fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        total += amount * seconds_in(&rest[..end])?;
        rest = &rest[end..];
    }
    Duration::try_from_secs_f64(total).ok()
}

fn seconds_in(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_as_kubectl_reads_them() {
        let seconds = |text| parse(text).map(|duration| duration.map(|duration| duration.as_secs_f64()));
        for (text, expected) in [
            ("30", Some(30.0)),
            ("30s", Some(30.0)),
            ("1m30s", Some(90.0)),
            ("1.5h", Some(5400.0)),
            ("500ms", Some(0.5)),
            ("0", None),
            ("0s", None),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "abc", "5 s", "-1", "-1s", "1d", ".", "1e400s", "s", "99999999999999999999h"] {
            assert_eq!(seconds(text), Err(NotATimeout), "{text}");
        }
    }
}
