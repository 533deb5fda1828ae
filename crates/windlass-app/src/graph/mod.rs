//! `graph`: the states of a controller as a picture.

mod layout;
mod svg;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use windlass::{Controller, StateInfo};

use crate::app_controller::{AppController, named};

/// Draw the states of a controller, with their conditions, and of its finalizer machine.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  PROGRAM graph CONTROLLER                        Mermaid, for a README
  PROGRAM graph CONTROLLER --format svg > CONTROLLER.svg")]
pub(crate) struct GraphArguments {
    /// Name of the controller.
    name: String,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Mermaid)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Mermaid,
    Dot,
    Svg,
}

/// A machine to draw.
pub(crate) struct Drawn {
    title: &'static str,
    states: &'static [StateInfo],
}

pub(crate) fn run(arguments: &GraphArguments, controllers: &[AppController]) -> anyhow::Result<ExitCode> {
    for known in named(controllers, std::slice::from_ref(&arguments.name))? {
        io::stdout().lock().write_all(draw(known.controller(), arguments.format).as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn draw(controller: &Controller, format: Format) -> String {
    let mut machines = vec![Drawn { title: "reconcile", states: controller.graph() }];
    if let Some(states) = controller.finalizer_graph() {
        machines.push(Drawn { title: "on deletion", states });
    }
    match format {
        Format::Mermaid => text::mermaid(&machines),
        Format::Dot => text::dot(controller.name(), &machines),
        Format::Svg => svg::svg(controller.name(), &machines),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(format: Format) -> String {
        draw(&Controller::new(web_app::WebApps), format)
    }

    #[test]
    fn mermaid_shows_every_state_edge_and_condition() {
        let expected = r#"flowchart TD
    subgraph machine0["reconcile"]
        m0s0(["Config<br/><i>ConfigReady</i>"])
        m0s1["Database<br/><i>DatabaseReady</i>"]
        m0s2["Workload<br/><i>WorkloadReady</i>"]
        m0s3["Exposed<br/><i>ServiceReady</i>"]
        m0s4["Named<br/><i>NameReady</i>"]
        m0s5["Hidden<br/><i>NameWithdrawn</i>"]
        m0s0 --> m0s1
        m0s0 --> m0s2
        m0s1 --> m0s2
        m0s2 --> m0s3
        m0s2 --> m0s5
        m0s3 --> m0s4
    end
    subgraph machine1["on deletion"]
        m1s0(["Withdraw<br/><i>NameGone</i>"])
    end
"#;
        assert_eq!(drawn(Format::Mermaid), expected);
    }

    #[test]
    fn dot_has_the_same_graph() {
        let text = drawn(Format::Dot);
        assert!(text.starts_with("digraph \"web-app\" {\n"), "{text}");
        assert!(text.contains("    m0s2 -> m0s5;\n"), "{text}");
        assert!(text.contains("m0s1 [label=\"Database\\nDatabaseReady\"];"), "{text}");
        assert_eq!(text.matches(" -> ").count(), 6, "{text}");
    }

    #[test]
    fn svg_draws_each_box_and_each_arrow_once() {
        let text = drawn(Format::Svg);
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"), "{text}");
        assert_eq!(text.matches("<rect ").count(), 7, "{text}");
        assert_eq!(text.matches("marker-end=").count(), 6, "{text}");
        assert!(text.contains(">NameGone</text>"), "{text}");
    }
}
