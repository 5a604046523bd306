//! Plans, reports, guards and lists of hostile strings, rendered in this process: the bulk of them.

use super::texts::{bytes, long, some};
use crate::series::Series;

/// Texts in one case: every field that is shown gets another one.
const TEXTS: usize = 50;

#[test]
fn whatever_is_in_a_field_it_is_rendered_harmless_and_in_columns() {
    // 100 cases of 50 strings are the 5,000.
    let series = Series::new("hostile rendering", 100, 20_000);
    let mut count = 0;
    for case in series.cases() {
        let mut random = series.random(case);
        let mut data = vec![random.u8(..)];
        for number in 0..TEXTS {
            if number > 0 {
                data.push(1);
            }
            // Very long ones in one field at a time, and seldom: they take seconds.
            let some = match (case % 25, number) {
                (24, field) if field == case % TEXTS => long(&mut random).into_bytes(),
                _ if random.u8(..10) == 0 => bytes(&mut random),
                _ => some(&mut random).into_bytes(),
            };
            data.extend(some.into_iter().filter(|byte| *byte != 1));
        }
        println!("case {case}");
        kubectl_purge::fuzzing::tables(&data);
        count += TEXTS;
    }
    series.report(format!("{count} strings in every field of plans, reports, guards and lists: no control byte"));
}
