//! A document as JSON, or as YAML.

use std::fmt::Write as _;

use serde::Serialize;

use super::{PlanDocument, ReportDocument, escape::is_harmful};
use crate::{cli::Output, plan::Plan, report::Report};

/// A document in the format that was asked for.
pub fn document(format: Output, document: &impl Serialize) -> anyhow::Result<String> {
    let json = render(document)?;
    if format != Output::Yaml {
        return Ok(json);
    }
    let yaml = serde_saphyr::to_string(document)?;
    // JSON is YAML too, and escapes what acts on a terminal.
    Ok(if yaml.chars().any(|character| character != '\n' && is_harmful(character)) { json } else { yaml })
}

/// The document of kind `Plan`.
pub fn plan(plan: &Plan) -> serde_json::Result<String> {
    render(&PlanDocument::new(plan))
}

/// The document of kind `Report`.
pub fn report(report: &Report) -> serde_json::Result<String> {
    render(&ReportDocument::new(report))
}

/// Pretty, ended by a newline, and harmless on a terminal too: JSON itself escapes only the C0 controls, here every
/// character that acts or hides is escaped. A parser reads back the very same text.
fn render(document: &impl Serialize) -> serde_json::Result<String> {
    let json = serde_json::to_string_pretty(document)?;
    let mut text = String::with_capacity(json.len() + 1);
    for character in json.chars() {
        // Outside of strings JSON holds no such character but the newlines of its own layout.
        if character != '\n' && is_harmful(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(character);
        }
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        exit::Exit,
        output::sample,
        plan::digest,
        report::{Newcomer, Outcome, PhaseTime, QuotaChange},
    };

    fn parsed(text: serde_json::Result<String>) -> Value {
        text.and_then(|text| serde_json::from_str(&text)).unwrap_or_default()
    }

    #[test]
    fn the_plan_has_the_documented_fields() {
        let mut shown = sample::plan();
        shown.objects = vec![shown.objects.swap_remove(1)];
        shown.frees.truncate(1);
        shown.unseen = sample::unseen();
        shown.unseen.truncate(1);
        assert_eq!(
            parsed(plan(&shown)),
            json!({
                "apiVersion": "kubectl-purge/v1",
                "kind": "Plan",
                "app": "demo",
                "namespace": "xxx",
                "context": "prod-eu",
                "server": "https://10.1.2.3:6443",
                "digest": digest(&shown),
                "objects": [{
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": "deployment-demo",
                    "uid": "uid-deployment-demo",
                    "action": "delete",
                    "scale": { "from": 3, "to": 0 },
                    "phase": "workloads",
                    "reasons": ["label app=demo"],
                    "notes": [],
                }],
                "related": [],
                "suspected": [],
                "clusterScoped": [],
                "unseen": [{ "resource": "secrets", "why": "forbidden", "message": "secrets is forbidden" }],
                "frees": [
                    { "quota": "quota", "resource": "requests.cpu", "amount": "3", "used": "3", "hard": "3" }
                ],
                "warnings": [],
            })
        );
    }

    #[test]
    fn fields_stand_in_the_documented_order_and_the_text_ends_in_a_newline() {
        let text = plan(&sample::plan()).unwrap_or_default();
        assert!(
            text.starts_with("{\n  \"apiVersion\": \"kubectl-purge/v1\",\n  \"kind\": \"Plan\",\n  \"app\": \"demo\"")
        );
        assert!(text.ends_with("\n}\n"));
        let places: Vec<_> =
            ["\"digest\"", "\"objects\"", "\"related\"", "\"suspected\"", "\"unseen\"", "\"frees\"", "\"warnings\""]
                .iter()
                .map(|field| text.find(field))
                .collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some));
        assert_eq!(text.matches("\"scale\"").count(), 1, "left out where nothing is scaled");
    }

    #[test]
    fn the_report_says_what_became_of_each_object() {
        let mut shown = sample::report();
        shown.outcomes[0] =
            Outcome::Left { finalizers: vec!["example.com/hold".into()], blocked_by: vec!["its finalizer".into()] };
        shown.outcomes[1] = Outcome::Recreated { uid: "new".into(), by: Some("argocd".into()) };
        shown.newcomers = vec![Newcomer { by: Some("helm".into()), ..sample::newcomer() }];
        shown.quota = vec![QuotaChange {
            quota: "quota".into(),
            resource: "requests.cpu".into(),
            charged: "3".into(),
            before: "3".into(),
            after: "0".into(),
            released: true,
            seconds: 0.400_000_1,
        }];
        shown.phases = vec![PhaseTime { name: "drain", took: Duration::from_micros(1_234_567) }];
        shown.exit = Exit::Incomplete;
        let document = parsed(report(&shown));
        assert_eq!(document["kind"], "Report");
        assert_eq!(document["objects"][0]["result"], "left");
        assert_eq!(document["objects"][0]["finalizers"], json!(["example.com/hold"]));
        assert_eq!(document["objects"][0]["blockedBy"], json!(["its finalizer"]));
        assert_eq!(document["objects"][1]["result"], "recreated");
        assert_eq!(document["objects"][1]["recreatedUid"], "new");
        assert_eq!(document["objects"][1]["recreatedBy"], "argocd");
        assert_eq!(document["objects"][2]["result"], "gone");
        assert_eq!(document["objects"][8]["result"], "kept");
        assert_eq!(
            document["newcomers"],
            json!([{ "title": "Pod/x", "uid": "uid-x", "why": "label app=demo", "by": "helm" }])
        );
        assert_eq!(
            document["quota"],
            json!([{ "quota": "quota", "resource": "requests.cpu", "charged": "3", "before": "3", "after": "0",
                     "released": true, "seconds": 0.4 }])
        );
        assert_eq!(document["phases"], json!([{ "name": "drain", "seconds": 1.235 }]));
        assert_eq!(document["verified"], true);
        assert_eq!(document["verifyError"], Value::Null);
        assert_eq!(document["seconds"], 2.1);
        assert_eq!(document["exit"], 4);
    }

    #[test]
    fn no_raw_character_acts_on_a_terminal_and_the_text_is_the_same() {
        let evil = "\u{1b}[2J \u{9b} \u{202e} \u{7f} \u{e0041} \r\n é 日";
        let mut shown = sample::plan();
        shown.warnings = vec![evil.into()];
        let text = plan(&shown).unwrap_or_default();
        assert!(!text.contains(|character| character != '\n' && is_harmful(character)), "{text}");
        assert!(text.contains("\\udb40\\udc41") && text.contains("é 日"), "{text}");
        assert_eq!(parsed(plan(&shown))["warnings"][0], evil);
    }
}
