//! Graphs in the languages of other programs.

use std::fmt::Write;

use windlass::StateInfo;

use super::Drawn;

/// A Mermaid flowchart; the initial state is round.
pub(super) fn mermaid(machines: &[Drawn]) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (machine, Drawn { title, states }) in machines.iter().enumerate() {
        let _ = writeln!(text, "    subgraph machine{machine}[\"{title}\"]");
        for (index, state) in states.iter().enumerate() {
            let label = label(state, |name, condition| format!("{name}<br/><i>{condition}</i>"));
            let (open, close) = if state.initial { ("([", "])") } else { ("[", "]") };
            let _ = writeln!(text, "        m{machine}s{index}{open}\"{label}\"{close}");
        }
        for (from, to) in edges(states) {
            let _ = writeln!(text, "        m{machine}s{from} --> m{machine}s{to}");
        }
        text.push_str("    end\n");
    }
    text
}

/// Graphviz; the initial state has a double border.
pub(super) fn dot(name: &str, machines: &[Drawn]) -> String {
    let mut text = format!("digraph \"{name}\" {{\n    node [shape=box];\n");
    for (machine, Drawn { title, states }) in machines.iter().enumerate() {
        let _ = writeln!(text, "    subgraph cluster_{machine} {{\n    label=\"{title}\";");
        for (index, state) in states.iter().enumerate() {
            let label = label(state, |name, condition| format!("{name}\\n{condition}"));
            let border = if state.initial { ", peripheries=2" } else { "" };
            let _ = writeln!(text, "    m{machine}s{index} [label=\"{label}\"{border}];");
        }
        for (from, to) in edges(states) {
            let _ = writeln!(text, "    m{machine}s{from} -> m{machine}s{to};");
        }
        text.push_str("    }\n");
    }
    text.push_str("}\n");
    text
}

/// All edges, in the order of the states that they leave.
pub(super) fn edges(states: &[StateInfo]) -> impl Iterator<Item = (usize, usize)> {
    states.iter().enumerate().flat_map(|(from, state)| state.next.iter().map(move |to| (from, *to)))
}

fn label(state: &StateInfo, both: impl Fn(&str, &str) -> String) -> String {
    match state.condition {
        Some(condition) => both(state.name, condition.kind),
        None => state.name.to_owned(),
    }
}
