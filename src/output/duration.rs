//! Lengths of time, for people.

use std::time::Duration;

/// How long something took: `0.4s`, `12.3s`, `2m5s`, `1h3m`.
pub(super) fn took(duration: Duration) -> String {
    // Rounded before it is compared, or 59.96 s would be "60.0s".
    let tenths = (duration.as_millis() + 50) / 100;
    if tenths < 600 {
        format!("{}.{}s", tenths / 10, tenths % 10)
    } else {
        age(duration.saturating_add(Duration::from_millis(50)))
    }
}

/// How long something has lasted: `20s`, `2m5s`, `1h3m`, `3d4h`.
pub(super) fn age(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |large: u64, unit: &str, small: u64, subunit: &str| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{subunit}") }
    };
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => pair(minutes, "m", seconds % 60, "s"),
        3600..86400 => pair(hours, "h", minutes % 60, "m"),
        _ => pair(days, "d", hours % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        for (millis, shown) in [
            (0, "0.0s"),
            (400, "0.4s"),
            (12_340, "12.3s"),
            (59_940, "59.9s"),
            (59_960, "1m"),
            (60_000, "1m"),
            (125_000, "2m5s"),
        ] {
            assert_eq!(took(Duration::from_millis(millis)), shown);
        }
        for (seconds, shown) in [(20, "20s"), (3600, "1h"), (3780, "1h3m"), (90_000, "1d1h")] {
            assert_eq!(age(Duration::from_secs(seconds)), shown);
        }
    }
}
