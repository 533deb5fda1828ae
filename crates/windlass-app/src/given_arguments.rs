//! Flags that were given, as they are written on a command line.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// Takes the flags of `A`, checks them, and keeps them as text: for another process that takes the same flags.
#[derive(Debug)]
pub(crate) struct GivenArguments<A> {
    arguments: Vec<String>,
    flags: A,
}

impl<A> GivenArguments<A> {
    /// The flags that were given, with their values.
    pub(crate) fn to_arguments(&self) -> Vec<String> {
        self.arguments.clone()
    }

    /// The flags themselves.
    pub(crate) fn flags(&self) -> &A {
        &self.flags
    }
}

impl<A: Args> FromArgMatches for GivenArguments<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // What the other process would refuse is refused here.
        let flags = A::from_arg_matches(matches)?;
        let known = A::augment_args(Command::new("flags"));
        let arguments = known.get_arguments().flat_map(|argument| written(argument, matches)).collect();
        Ok(GivenArguments { arguments, flags })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = GivenArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<A: Args> Args for GivenArguments<A> {
    fn augment_args(command: Command) -> Command {
        A::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        A::augment_args_for_update(command)
    }
}

/// One flag with all its values; nothing if it was not given.
fn written(argument: &Arg, matches: &ArgMatches) -> Vec<String> {
    let id = argument.get_id().as_str();
    if !matches!(matches.value_source(id), Some(ValueSource::CommandLine | ValueSource::EnvVariable)) {
        return Vec::new();
    }
    let flag = match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => String::new(),
    };
    match argument.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => vec![flag],
        ArgAction::Count => vec![flag; usize::from(matches.get_count(id))],
        _ => {
            let occurrences = matches.get_raw_occurrences(id).into_iter().flatten();
            occurrences.flat_map(|values| occurrence(argument, &flag, values)).collect()
        }
    }
}

/// One flag with the values that were given to it together.
fn occurrence<'a>(
    argument: &Arg,
    flag: &str,
    values: impl Iterator<Item = &'a std::ffi::OsStr>,
) -> Vec<String> {
    let values: Vec<String> = values.map(|value| value.to_string_lossy().into_owned()).collect();
    let values = match argument.get_value_delimiter() {
        Some(delimiter) if !values.is_empty() => vec![values.join(&delimiter.to_string())],
        _ => values,
    };
    match values.as_slice() {
        _ if flag.is_empty() => values,
        // Otherwise the value would be taken for a flag.
        [value] if argument.is_require_equals_set() || value.starts_with('-') => {
            vec![format!("{flag}={value}")]
        }
        _ => std::iter::once(flag.to_owned()).chain(values).collect(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// Every kind of flag.
    #[derive(Args, Debug, PartialEq)]
    struct Flags {
        #[arg(long)]
        text: Option<String>,
        #[arg(long)]
        switch: bool,
        #[arg(short)]
        verbose: Option<u8>,
        #[arg(long, action = ArgAction::Count)]
        count: u8,
        #[arg(long)]
        repeated: Vec<String>,
        #[arg(long, value_delimiter = ',')]
        list: Vec<u32>,
        #[arg(long, num_args = 2)]
        pair: Vec<String>,
        #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "always")]
        color: Option<String>,
        #[arg(long, default_value_t = 7)]
        number: i32,
        #[command(flatten)]
        more: MoreFlags,
        positional: Option<String>,
    }

    #[derive(Args, Debug, PartialEq)]
    struct MoreFlags {
        #[arg(long)]
        nested: Option<std::path::PathBuf>,
    }

    #[derive(Debug, Parser)]
    struct Line<A: Args> {
        #[command(flatten)]
        flags: A,
    }

    fn parse<A: Args>(arguments: &[String]) -> A {
        let program = std::iter::once("program".to_owned());
        Line::try_parse_from(program.chain(arguments.iter().cloned())).unwrap().flags
    }

    #[test]
    fn every_flag_survives_being_written() {
        for line in [
            "",
            "--text a --switch -v 3 --count --count --number 8 --nested a/b file",
            "--repeated a --repeated b --list 1,2 --list 3 --pair a b --pair c d",
            "--text=-a --color --number=-1",
            "--text= --color=never",
        ] {
            let given: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let written = parse::<GivenArguments<Flags>>(&given).to_arguments();
            assert_eq!(parse::<Flags>(&written), parse::<Flags>(&given), "{line}: {written:?}");
        }
    }

    #[test]
    fn only_what_was_given_is_written() {
        let written = |line: &str| {
            let given: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            parse::<GivenArguments<Flags>>(&given).to_arguments().join(" ")
        };
        assert_eq!(written(""), "");
        assert_eq!(written("--number 7 --list=1,2 --switch"), "--switch --list 1,2 --number 7");
    }
}
