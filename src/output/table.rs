//! Rows laid out for the width there is: columns, columns with WHY wrapped, or one object below the other.

use comfy_table::{ContentArrangement, Table, presets};
use unicode_width::UnicodeWidthStr as _;

use super::{Look, row::Row, style::Tone, wrap::wrap};

/// Spaces between columns.
const GAP: usize = 2;
const HEADER: [&str; 5] = ["ACTION", "KIND", "NAME", "WHY", "NOW"];
/// Where the terminal is narrow, NOW is wrapped to this.
const NARROW_NOW: usize = 12;

/// The table with its header, each line ended. A name is never cut and never wrapped: people copy it.
pub(super) fn render(rows: &[Row], look: &Look) -> String {
    if rows.is_empty() {
        return String::new();
    }
    match layout(rows, look.width) {
        Some(widths) => columns(rows, &widths, look.color),
        None => stacked(rows, look),
    }
}

/// How the columns fit. A kind wider than its column moves its own row's name to the right; where KIND and NAME
/// together are wider than `named`, WHY and NOW begin on the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Widths {
    kind: usize,
    named: usize,
    why: usize,
    now: usize,
}

/// None where columns would be too narrow to read.
fn layout(rows: &[Row], terminal: Option<usize>) -> Option<Widths> {
    let widest = |column: usize, cell: fn(&Row) -> &String| {
        let header = if rows.iter().all(|row| cell(row).is_empty()) { 0 } else { HEADER[column].len() };
        rows.iter().map(|row| cell(row).width()).max().unwrap_or(0).max(header)
    };
    let (action, kind) = (widest(0, |row| &row.action), widest(1, |row| &row.kind));
    let (why, now) = (widest(3, |row| &row.why), widest(4, |row| &row.now));
    let named = |kind: usize| {
        let widest = rows.iter().map(|row| named_width(row, kind)).max().unwrap_or(0);
        widest.max(kind + GAP + HEADER[2].len())
    };
    let others = |now: usize| action + GAP + GAP + if now > 0 { GAP + now } else { 0 };
    let natural = Widths { kind, named: named(kind), why, now };
    let Some(terminal) = terminal.filter(|width| others(now) + natural.named + why > *width) else {
        return Some(natural);
    };

    // The kinds' own widths, widest first: the fewer names move out of line, the better.
    let mut kinds: Vec<usize> = rows.iter().map(|row| row.kind.width().max(HEADER[1].len())).collect();
    kinds.sort_unstable_by(|one, other| other.cmp(one));
    kinds.dedup();
    let narrow = now.min(NARROW_NOW);
    let moved = |kind: usize| rows.iter().filter(|row| row.kind.width() > kind).count();
    let whole = |least: usize, most_moved: usize| {
        let kinds = kinds.iter().filter(|kind| moved(**kind) <= most_moved);
        kinds
            .flat_map(|kind| [(*kind, now), (*kind, narrow)])
            .map(|(kind, now)| Widths { kind, named: named(kind), why, now })
            .map(|widths| (widths, terminal.saturating_sub(others(widths.now) + widths.named)))
            .find(|(_, room)| *room >= least.min(why))
            .map(|(widths, room)| Widths { why: room.min(why), ..widths })
    };
    // A few long names may stand alone on their line; if many would, columns are no help.
    let broken = |most_why: usize| {
        let kind = kinds.iter().copied().find(|kind| *kind <= 14)?;
        let why = why.min(most_why);
        let named = terminal.checked_sub(others(narrow) + why)?;
        let long = rows.iter().filter(|row| named_width(row, kind) > named).count();
        let reads = long * 3 <= rows.len() && named >= kind + GAP + HEADER[2].len();
        reads.then_some(Widths { kind, named, why, now: narrow })
    };
    whole(24, rows.len() / 4).or_else(|| whole(18, rows.len())).or_else(|| broken(22)).or_else(|| broken(18))
}

/// KIND and NAME together, when KIND has so many columns.
fn named_width(row: &Row, kind: usize) -> usize {
    row.kind.width().max(kind) + GAP + row.name.width()
}

fn columns(rows: &[Row], widths: &Widths, color: bool) -> String {
    let gap = " ".repeat(GAP);
    let named = |kind: &str, name: &str| {
        let room = " ".repeat(widths.kind.saturating_sub(kind.width()));
        format!("{kind}{room}{gap}{name}")
    };
    let is_long = |row: &Row| named_width(row, widths.kind) > widths.named;
    let broken = |text: &str, width: usize| wrap(text, width).join("\n");
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(vec![
        HEADER[0].to_owned(),
        named(HEADER[1], HEADER[2]),
        HEADER[3].to_owned(),
        if widths.now > 0 { HEADER[4].to_owned() } else { String::new() },
    ]);
    // Lines of each row, so that a colour can be laid over exactly those.
    let mut heights = Vec::with_capacity(rows.len());
    for row in rows {
        let said = row.short_why.as_ref().filter(|_| row.why.width() > widths.why).unwrap_or(&row.why);
        let (why, now) = (broken(said, widths.why), broken(&row.now, widths.now));
        heights.push((why.matches('\n').count() + 1).max(now.matches('\n').count() + 1));
        let (action, named) = if is_long(row) {
            (String::new(), String::new())
        } else {
            (row.action.clone(), named(&row.kind, &row.name))
        };
        table.add_row(vec![action, named, why, now]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, u16::try_from(GAP).unwrap_or(2)));
    }

    let action = rows.iter().map(|row| row.action.width()).max().unwrap_or(0).max(HEADER[0].len());
    let mut lines = table.lines();
    let mut text = String::new();
    let mut push = |line: &str| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    push(&lines.next().unwrap_or_default());
    for (row, height) in rows.iter().zip(heights) {
        let long = is_long(row);
        if long {
            let room = " ".repeat(action.saturating_sub(row.action.width()));
            push(&painted(row, &format!("{}{room}{gap}{}", row.action, named(&row.kind, &row.name)), true, color));
        }
        for (number, line) in lines.by_ref().take(height).enumerate() {
            push(&painted(row, line.trim_end(), number == 0 && !long, color));
        }
    }
    text
}

/// What only follows from something else is dim as a whole; elsewhere the action's word is coloured.
fn painted(row: &Row, line: &str, first: bool, color: bool) -> String {
    match line.strip_prefix(row.action.as_str()) {
        _ if row.tone == Tone::Dim => row.tone.paint(line, color),
        Some(rest) if first => format!("{}{rest}", row.tone.paint(&row.action, color)),
        _ => line.to_owned(),
    }
}

/// One object below the other, for terminals too narrow for columns. A line that is too long even so is left to the
/// terminal, which wraps it without breaking a copied name.
fn stacked(rows: &[Row], look: &Look) -> String {
    let width = look.width.unwrap_or(usize::MAX);
    let action = rows.iter().map(|row| row.action.width()).max().unwrap_or(0);
    // In a really narrow terminal there is no room for a column of actions.
    let (action, indent) = if width >= 60 { (action, action + GAP) } else { (0, GAP) };
    let separator = if look.unicode { " · " } else { ", " };
    let mut text = String::new();
    let mut push = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for row in rows {
        let kind = if row.folded { String::new() } else { format!("{}/", row.kind) };
        let room = " ".repeat((action + GAP).saturating_sub(row.action.width()).max(1));
        push(painted(row, &format!("{}{room}{kind}{}", row.action, row.name), true, look.color));
        let rest: Vec<&str> =
            [row.why.as_str(), row.now.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
        if !rest.is_empty() {
            for line in wrap(&rest.join(separator), width.saturating_sub(indent)) {
                push(painted(row, &format!("{}{line}", " ".repeat(indent)), false, look.color));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::output::{row::rows, sample};

    fn rendered(width: Option<usize>) -> String {
        render(&rows(&sample::plan(), false, "…"), &Look { width, unicode: true, ..Look::default() })
    }

    const FULL: &str = "\
ACTION      KIND                   NAME                        WHY                                             NOW
scale to 0  Deployment             deployment-demo             label app=demo                                  3 pods
delete      PodTemplate            podtemplate-demo            label app=demo
delete      Deployment             deployment-demo             label app=demo
delete      ReplicaSet             deployment-demo-3344900030  orphan, label app=demo                          2 pods
delete      Service                service-demo                selects only this application's pods
cascade     ReplicaSet             deployment-demo-54c9846b78  owned by Deployment/deployment-demo
cascade     Pod                    3 pods                      owned by ReplicaSet/deployment-demo-54c9846b78
keep        PersistentVolumeClaim  data-demo-0                 holds data (--delete-data)                      10Gi
";

    #[test]
    fn a_pipe_gets_every_column_in_full() {
        assert_eq!(rendered(None), FULL);
    }

    #[test]
    fn a_wide_terminal_gets_the_same() {
        assert_eq!(rendered(Some(200)), FULL);
    }

    #[test]
    fn at_80_columns_why_wraps_and_names_stay_whole() {
        assert_eq!(
            rendered(Some(80)),
            "\
ACTION      KIND         NAME                        WHY                 NOW
scale to 0  Deployment   deployment-demo             label app=demo      3 pods
delete      PodTemplate  podtemplate-demo            label app=demo
delete      Deployment   deployment-demo             label app=demo
delete      ReplicaSet   deployment-demo-3344900030  orphan, label       2 pods
                                                     app=demo
delete      Service      service-demo                selects only this
                                                     application's pods
cascade     ReplicaSet   deployment-demo-54c9846b78  owned by
                                                     Deployment/
                                                     deployment-demo
cascade     Pod          3 pods                      owned by
                                                     ReplicaSet/…
keep        PersistentVolumeClaim  data-demo-0       holds data          10Gi
                                                     (--delete-data)
"
        );
    }

    #[test]
    fn at_40_columns_objects_stand_below_each_other() {
        let text = rendered(Some(40));
        assert!(text.starts_with(
            "\
scale to 0 Deployment/deployment-demo
  label app=demo · 3 pods
delete PodTemplate/podtemplate-demo
  label app=demo
"
        ));
        assert!(text.contains("cascade 3 pods\n  owned by\n  ReplicaSet/deployment-demo-54c9846b78\n"), "{text}");
    }

    #[test]
    fn a_few_long_names_stand_alone_and_many_are_stacked() {
        let mut plan = sample::plan();
        plan.objects.truncate(5);
        plan.objects[0].name = "a-name-that-is-too-long-for-its-column-by-far".into();
        let at_80 =
            |plan: &crate::plan::Plan| render(&rows(plan, false, "…"), &Look { width: Some(80), ..Look::default() });
        assert!(
            at_80(&plan).contains(
                "
delete      PodTemplate  a-name-that-is-too-long-for-its-column-by-far
                                                     label app=demo
delete      Deployment   "
            ),
            "{}",
            at_80(&plan)
        );
        for object in &mut plan.objects {
            object.name.push_str("-and-a-name-that-is-too-long-for-its-column-by-far");
        }
        assert!(
            at_80(&plan).starts_with(
                "\
scale to 0  Deployment/deployment-demo-and-a-name-that-is-too-long-for-its-column-by-far
            label app=demo, 3 pods
"
            ),
            "{}",
            at_80(&plan)
        );
    }

    #[test]
    fn lines_fit_and_names_stay_whole_at_every_width() {
        let rows = rows(&sample::plan(), false, "…");
        for width in 20..220 {
            let text = render(&rows, &Look { width: Some(width), ..Look::default() });
            let names = text.lines().filter(|line| line.contains("deployment-demo-3344900030"));
            assert_eq!(names.count(), 1, "{width}:\n{text}");
            if width >= 45 {
                assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            }
        }
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        for width in [None, Some(80), Some(40)] {
            let rows = rows(&sample::plan(), false, "…");
            let plain = render(&rows, &Look { width, ..Look::default() });
            let colored = render(&rows, &Look { width, color: true, ..Look::default() });
            assert!(colored.contains("\u{1b}[31mdelete\u{1b}[0m "), "{colored}");
            assert!(colored.contains("\u{1b}[2mcascade"), "{colored}");
            let stripped = ["[31m", "[32m", "[33m", "[2m", "[0m"]
                .iter()
                .fold(colored, |text, code| text.replace(&format!("\u{1b}{code}"), ""));
            assert_eq!(stripped, plain);
        }
    }

    #[test]
    fn wide_characters_keep_the_columns_in_line() {
        let mut plan = sample::plan();
        plan.objects.truncate(2);
        plan.objects[0].name = "日本語".into();
        let text = render(&rows(&plan, false, "…"), &Look::default());
        let columns: Vec<usize> =
            text.lines().skip(1).map(|line| line.find("label").map_or(0, |at| line[..at].width())).collect();
        assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }

    #[test]
    fn two_thousand_rows_take_well_under_a_second() {
        let mut plan = sample::plan();
        plan.objects =
            (0..2000).map(|number| sample::pod(&format!("web-{number}"), &format!("set-{number}"))).collect();
        for width in [None, Some(80), Some(40)] {
            let begun = Instant::now();
            let text = render(&rows(&plan, true, "…"), &Look { width, ..Look::default() });
            assert!(text.lines().count() >= 2001);
            assert!(begun.elapsed() < Duration::from_millis(900), "{width:?}: {:?}", begun.elapsed());
        }
    }
}
