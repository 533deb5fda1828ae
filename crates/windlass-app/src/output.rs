//! How a command prints: for people, or for a program.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};

/// Whether what is written there may have colours: on a terminal, unless `NO_COLOR` is set.
pub fn is_coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
}

/// How to print.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct OutputArguments {
    /// Output format.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
    /// Short for --output json.
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

impl OutputArguments {
    /// For a program.
    #[cfg(test)]
    pub(crate) const JSON: OutputArguments = OutputArguments { output: Format::Json, json: false };

    /// Whether a program reads it.
    pub fn is_json(self) -> bool {
        self.json || self.output == Format::Json
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        output: OutputArguments,
    }

    #[test]
    fn both_ways_to_ask_for_json() {
        for (arguments, expected) in [
            (vec![], Some(false)),
            (vec!["--output", "text"], Some(false)),
            (vec!["--output", "json"], Some(true)),
            (vec!["--json"], Some(true)),
            (vec!["--json", "--output", "text"], None),
            (vec!["--output", "yaml"], None),
        ] {
            let parsed = Command::try_parse_from(["windlass"].into_iter().chain(arguments.iter().copied()));
            assert_eq!(parsed.ok().map(|command| command.output.is_json()), expected, "{arguments:?}");
        }
    }
}
