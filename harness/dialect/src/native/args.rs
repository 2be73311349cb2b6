//! Reads the arguments of a call: lenient in spelling, strict in meaning, every problem collected.

use protocol::{Json, Outcome, Problem};
use serde_json::{Map, Value};

/// The arguments of one call, taken out one by one; what is left over is a problem.
pub(super) struct Args {
    map: Map<String, Value>,
    problems: Vec<Problem>,
    failed: Option<Outcome>,
}

impl Args {
    /// Empty and `null` mean no arguments; anything but an object is a problem.
    pub(super) fn parse(input: &Json) -> Result<Self, Problem> {
        let text = input.0.trim();
        if text.is_empty() {
            return Ok(Self { map: Map::new(), problems: Vec::new(), failed: None });
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(Self { map, problems: Vec::new(), failed: None }),
            Ok(Value::Null) => Ok(Self { map: Map::new(), problems: Vec::new(), failed: None }),
            Ok(other) => {
                Err(Problem::Wrong { name: "arguments".into(), want: "an object".into(), got: kind(&other) })
            }
            Err(error) => Err(Problem::NotJson { at: error.column() as u64, why: error.to_string() }),
        }
    }

    /// A value under its name or one of the names other programs give it.
    fn take(&mut self, names: &[&str]) -> Option<Value> {
        let found = names.iter().find_map(|name| self.map.shift_remove(*name));
        found.filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, names: &[&str]) -> Option<String> {
        match self.take(names)? {
            Value::String(text) => Some(text),
            other @ (Value::Number(_) | Value::Bool(_)) => Some(other.to_string()),
            other => self.wrong(names, "a string", &other),
        }
    }

    /// A list of strings, or one string.
    pub(super) fn texts(&mut self, names: &[&str]) -> Vec<String> {
        match self.take(names) {
            None => Vec::new(),
            Some(Value::String(text)) if text.is_empty() => Vec::new(),
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => {
                items.iter().filter_map(|item| item.as_str().map(str::to_string)).collect()
            }
            Some(other) => {
                self.wrong::<()>(names, "a string or a list of strings", &other);
                Vec::new()
            }
        }
    }

    pub(super) fn must_text(&mut self, names: &[&str]) -> Option<String> {
        let before = self.problems.len();
        let text = self.text(names);
        if text.is_none() && self.problems.len() == before {
            self.problems.push(Problem::Missing(first(names)));
        }
        text
    }

    pub(super) fn number(&mut self, names: &[&str]) -> Option<i64> {
        let value = self.take(names)?;
        let number = match &value {
            Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|number| number as i64)),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        if number.is_none() {
            self.wrong::<()>(names, "a whole number", &value);
        }
        number
    }

    /// A number that must not be negative.
    pub(super) fn count(&mut self, names: &[&str]) -> Option<u64> {
        let number = self.number(names)?;
        match u64::try_from(number) {
            Ok(count) => Some(count),
            Err(_) => self.wrong(names, "a number of at least 0", &Value::from(number)),
        }
    }

    pub(super) fn flag(&mut self, names: &[&str]) -> bool {
        match self.take(names) {
            None => false,
            Some(Value::Bool(flag)) => flag,
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => true,
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => false,
            Some(other) => self.wrong(names, "true or false", &other).unwrap_or(false),
        }
    }

    /// One of `choices`; the first when it is not given.
    pub(super) fn choice(&mut self, names: &[&str], choices: &[&'static str]) -> Option<&'static str> {
        let Some(value) = self.take(names) else { return choices.first().copied() };
        let found = choices.iter().find(|choice| value.as_str() == Some(choice));
        match found {
            Some(choice) => Some(choice),
            None => self.wrong(names, &format!("one of {}", choices.join(", ")), &value),
        }
    }

    pub(super) fn list(&mut self, names: &[&str]) -> Option<Vec<Value>> {
        match self.take(names) {
            Some(Value::Array(items)) => Some(items),
            // Some models send a list as its own JSON text.
            Some(Value::String(text)) if text.trim_start().starts_with('[') => {
                serde_json::from_str(&text).ok()
            }
            Some(other) => self.wrong(names, "a list", &other),
            None => {
                self.problems.push(Problem::Missing(first(names)));
                None
            }
        }
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The arguments are well formed, but what they say is an outcome already.
    pub(super) fn fail<T>(&mut self, outcome: Outcome) -> Option<T> {
        self.failed = Some(outcome);
        None
    }

    /// What is wrong with the call: problems found, and arguments that nobody took.
    pub(super) fn wrongs(self) -> Option<Outcome> {
        let mut problems = self.problems;
        problems.extend(self.map.into_iter().map(|(name, _)| Problem::Unexpected(name)));
        if problems.is_empty() { self.failed } else { Some(Outcome::BadInput(problems)) }
    }

    fn wrong<T>(&mut self, names: &[&str], want: &str, got: &Value) -> Option<T> {
        self.problems.push(Problem::Wrong { name: first(names), want: want.into(), got: kind(got) });
        None
    }
}

fn first(names: &[&str]) -> String {
    names.first().map(|name| name.to_string()).unwrap_or_default()
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}
