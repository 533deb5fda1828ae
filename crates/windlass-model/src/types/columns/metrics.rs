//! What an autoscaler looks at, and what it should be.

use serde_json::Value;

const SHOWN_MAX: usize = 2;
const UNKNOWN: &str = "<unknown>";

/// The current and the wanted value of the first metrics, and how many more there are.
pub(super) fn targets(autoscaler: &Value) -> Value {
    let empty = Vec::new();
    let specs = autoscaler["spec"]["metrics"].as_array().unwrap_or(&empty);
    if specs.is_empty() {
        return "<none>".into();
    }
    let shown = specs.iter().enumerate().take(SHOWN_MAX);
    let shown: Vec<String> =
        shown.map(|(index, spec)| metric(spec, &autoscaler["status"]["currentMetrics"][index])).collect();
    let more = specs.len() - shown.len();
    let shown = shown.join(", ");
    if more == 0 { shown.into() } else { format!("{shown} + {more} more...").into() }
}

fn metric(spec: &Value, status: &Value) -> String {
    let kind = spec["type"].as_str().unwrap_or_default();
    let field = match kind {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let (target, current) = (&spec[field]["target"], &status[field]["current"]);
    let average = target["averageValue"].is_string();
    match kind {
        "Pods" => pair(current, target, "averageValue"),
        "External" | "Object" if average => format!("{} (avg)", pair(current, target, "averageValue")),
        "External" | "Object" => pair(current, target, "value"),
        _ => {
            let name = spec[field]["name"].as_str().unwrap_or_default();
            let values =
                if average { pair(current, target, "averageValue") } else { utilization(current, target) };
            format!("{name}: {values}")
        }
    }
}

fn pair(current: &Value, target: &Value, field: &str) -> String {
    let text = |value: &Value| value[field].as_str().unwrap_or(UNKNOWN).to_owned();
    format!("{}/{}", text(current), text(target))
}

fn utilization(current: &Value, target: &Value) -> String {
    let percent = |value: &Value, missing: &str| match value["averageUtilization"].as_i64() {
        Some(percent) => format!("{percent}%"),
        None => missing.to_owned(),
    };
    format!("{}/{}", percent(current, UNKNOWN), percent(target, "<auto>"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metrics_are_shown_in_pairs() {
        let resource = json!({ "type": "Resource", "resource": { "name": "cpu", "target": { "averageUtilization": 80 } } });
        let pods = json!({ "type": "Pods", "pods": { "target": { "averageValue": "10" } } });
        for (metrics, current, expected) in [
            (json!([]), json!([]), "<none>"),
            (json!([resource]), json!([]), "cpu: <unknown>/80%"),
            (
                json!([resource, pods, pods]),
                json!([{ "resource": { "current": { "averageUtilization": 20 } } }, { "pods": { "current": { "averageValue": "3" } } }]),
                "cpu: 20%/80%, 3/10 + 1 more...",
            ),
        ] {
            let autoscaler =
                json!({ "spec": { "metrics": metrics }, "status": { "currentMetrics": current } });
            assert_eq!(targets(&autoscaler), expected);
        }
    }
}
