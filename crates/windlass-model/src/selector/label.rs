//! Label selectors: `app=web,tier in (a, b),!legacy`.

use std::fmt;

use serde_json::{Value, json};

use crate::selector::parse;

/// A condition on labels: all requirements must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelSelector {
    /// Matches no labels: what an absent selector object means.
    Nothing,
    /// Matches the labels for which every requirement holds; with none it matches all.
    All(Vec<Requirement>),
}

/// A condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// What must hold.
    pub operator: Operator,
    /// What the label is compared with: none, one or several, as the operator has it.
    pub(crate) values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`: also where there is no such label.
    NotIn,
    /// `key=a`
    Equals,
    /// `key==a`
    DoubleEquals,
    /// `key!=a`: also where there is no such label.
    NotEquals,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>5`
    GreaterThan,
    /// `key<5`
    LessThan,
}

impl LabelSelector {
    /// Matches all labels.
    pub fn everything() -> Self {
        LabelSelector::All(Vec::new())
    }

    /// Reads the written form. The error is worded as Kubernetes words it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut requirements = parse::requirements(text)?;
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(LabelSelector::All(requirements))
    }

    /// Whether these labels (a JSON object, or null for none) are selected.
    pub fn matches(&self, labels: &Value) -> bool {
        match self {
            LabelSelector::Nothing => false,
            LabelSelector::All(requirements) => requirements.iter().all(|each| each.matches(labels)),
        }
    }

    /// Whether this selects all labels.
    pub fn is_everything(&self) -> bool {
        matches!(self, LabelSelector::All(requirements) if requirements.is_empty())
    }

    /// Whether all labels that this selects are certain to be selected by another one too. Where that takes more than
    /// one requirement to see, as with two bounds that leave one number, the answer is no.
    pub fn is_within(&self, wider: &LabelSelector) -> bool {
        match (self, wider) {
            (LabelSelector::Nothing, _) => true,
            (_, LabelSelector::Nothing) => false,
            (LabelSelector::All(narrow), LabelSelector::All(wide)) => {
                wide.iter().all(|wide| narrow.iter().any(|narrow| narrow.implies(wide)))
            }
        }
    }

    /// The labels that must have one of some values, with these.
    pub fn demanded(&self) -> impl Iterator<Item = (&str, &[String])> {
        let requirements: &[Requirement] = match self {
            LabelSelector::Nothing => &[],
            LabelSelector::All(requirements) => requirements,
        };
        let demanding = requirements.iter().filter(|requirement| requirement.demands_a_value());
        demanding.map(|requirement| (requirement.key.as_str(), requirement.values.as_slice()))
    }
}

impl Requirement {
    /// Whether these labels meet the requirement.
    fn matches(&self, labels: &Value) -> bool {
        let value = labels.get(&self.key).map(|value| value.as_str().unwrap_or_default());
        let listed = |value: &str| self.values.iter().any(|wanted| wanted == value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => value.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.numbers(value).is_some_and(|(value, bound)| value > bound),
            Operator::LessThan => self.numbers(value).is_some_and(|(value, bound)| value < bound),
        }
    }

    fn demands_a_value(&self) -> bool {
        matches!(self.operator, Operator::In | Operator::Equals | Operator::DoubleEquals)
    }

    /// Whether all labels that meet this requirement are certain to meet another one.
    fn implies(&self, other: &Requirement) -> bool {
        if self.key != other.key {
            return false;
        }
        let without = |operator| matches!(operator, Operator::NotIn | Operator::NotEquals);
        match self.operator {
            _ if self == other => true,
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                self.values.iter().all(|value| other.matches(&json!({ self.key.as_str(): value })))
            }
            Operator::DoesNotExist => other.matches(&Value::Null),
            operator if without(operator) && without(other.operator) => {
                other.values.iter().all(|value| self.values.contains(value))
            }
            Operator::GreaterThan | Operator::LessThan => other.operator == Operator::Exists,
            _ => false,
        }
    }

    fn numbers(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

/// The written form, in the order of the keys.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LabelSelector::All(requirements) = self else { return Ok(()) };
        for (index, requirement) in requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let mut values = self.values.clone();
        values.sort();
        let values = values.join(",");
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn selects() {
        let labels = json!({"app": "web", "n": "5", "empty": ""});
        for (text, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app=db", false),
            ("app!=web", false),
            ("other!=web", true),
            ("app", true),
            ("!app", false),
            ("!other", true),
            ("other", false),
            ("app in (db, web)", true),
            ("app in (db)", false),
            ("app notin (db)", true),
            ("other notin (db)", true),
            ("other in (db)", false),
            ("empty=", true),
            ("empty in ()", true),
            ("app=", false),
            ("n>4", true),
            ("n>5", false),
            ("n<6", true),
            ("app>4", false),
            ("other<4", false),
            ("app=web,n=5", true),
            ("app=web,n=6", false),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&labels), expected, "{text}");
        }
        assert!(!LabelSelector::Nothing.matches(&labels));
        assert!(LabelSelector::parse("!a").unwrap().matches(&Value::Null));
    }

    #[test]
    fn knows_what_lies_within() {
        for (narrow, wide, expected) in [
            ("a=1", "", true),
            ("", "a", false),
            ("a=1", "a", true),
            ("a=1,b", "a", true),
            ("a", "a=1", false),
            ("a=1", "a==1", true),
            ("a in (1,2)", "a in (3,2,1)", true),
            ("a in (1,4)", "a in (3,2,1)", false),
            ("a=1", "a!=2", true),
            ("a=1", "a!=1", false),
            ("!a", "a!=1", true),
            ("!a", "a", false),
            ("a notin (1,2)", "a!=1", true),
            ("a!=1", "a notin (1,2)", false),
            ("a=5", "a>4", true),
            ("a=5", "a>5", false),
            ("a>4", "a", true),
            ("b=1", "a=1", false),
        ] {
            let read = |text| LabelSelector::parse(text).unwrap();
            assert_eq!(read(narrow).is_within(&read(wide)), expected, "{narrow:?} within {wide:?}");
        }
        let nothing = LabelSelector::Nothing;
        assert!(nothing.is_within(&nothing) && nothing.is_within(&LabelSelector::everything()));
        assert!(!LabelSelector::everything().is_within(&nothing));
    }

    #[test]
    fn prints_in_the_order_of_keys() {
        for (text, printed) in [
            (" b = 1 , a in (z,y , z) ", "a in (y,z),b=1"),
            ("x notin (,a)", "x notin (,a)"),
            ("!c,b", "b,!c"),
            ("b==1,a!=2", "a!=2,b==1"),
            ("", ""),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().to_string(), printed);
        }
    }

    fn requirement() -> impl Strategy<Value = Requirement> {
        let key = "([a-z]{1,5}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,4}[A-Za-z0-9])?";
        let value = "([A-Za-z0-9]([-A-Za-z0-9_.]{0,4}[A-Za-z0-9])?)?";
        let set = proptest::collection::btree_set(value, 1..4);
        (key, 0..9_usize, set, -100_i64..100).prop_map(|(key, choice, set, number)| {
            let first = set.first().cloned().unwrap_or_default();
            let (operator, values) = match choice {
                0 => (Operator::In, set.into_iter().collect()),
                1 => (Operator::NotIn, set.into_iter().collect()),
                2 => (Operator::Equals, vec![first]),
                3 => (Operator::DoubleEquals, vec![first]),
                4 => (Operator::NotEquals, vec![first]),
                5 => (Operator::Exists, vec![]),
                6 => (Operator::DoesNotExist, vec![]),
                7 => (Operator::GreaterThan, vec![number.unsigned_abs().to_string()]),
                _ => (Operator::LessThan, vec![number.unsigned_abs().to_string()]),
            };
            Requirement { key, operator, values }
        })
    }

    /// Selectors that have much to do with each other.
    fn few_labels() -> impl Strategy<Value = LabelSelector> {
        let term = "(!?[ab]|[ab](=|!=|>|<)[0-2]|[ab] (in|notin) \\((|x|0,1|1,2|0,1,2)\\))";
        let terms = proptest::collection::vec(term, 0..3);
        terms.prop_map(|terms| LabelSelector::parse(&terms.join(",")).unwrap())
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(requirements in proptest::collection::vec(requirement(), 0..5)) {
            let mut requirements = requirements;
            requirements.sort_by(|one, other| one.key.cmp(&other.key));
            let selector = LabelSelector::All(requirements);
            prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
        }

        #[test]
        fn what_lies_within_is_selected_too(
            narrow in few_labels(), wide in few_labels(), labels in proptest::collection::btree_map("[ab]", "[0-2x]?", 0..3)
        ) {
            if narrow.is_within(&wide) && narrow.matches(&json!(labels)) {
                prop_assert!(wide.matches(&json!(labels)), "{narrow} is not within {wide}: {labels:?}");
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*|[a-z=!<>(), \\x00]{0,20}") {
            if let Ok(selector) = LabelSelector::parse(&text) {
                prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
            }
        }
    }
}
