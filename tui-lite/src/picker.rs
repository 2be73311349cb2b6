//! A list to pick from, narrowed by typing. Its rows come from the engine's options and sessions.

use protocol::{ConfigOption, SessionId, SessionRow};

use crate::text::one_line;

#[derive(Debug, PartialEq)]
pub(crate) struct Picker {
    pub(crate) title: String,
    pub(crate) filter: String,
    rows: Vec<Row>,
    /// Among the rows that the filter leaves.
    at: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) pick: Pick,
    pub(crate) name: String,
    pub(crate) about: String,
    /// It is what holds now.
    pub(crate) current: bool,
}

/// What taking a row does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pick {
    Option { id: String, value: String },
    Session(SessionId),
}

impl Picker {
    /// The choices of an option; none when there is nothing to choose.
    pub(crate) fn option(option: &ConfigOption) -> Option<Self> {
        let rows: Vec<Row> = option
            .choices
            .iter()
            .map(|choice| {
                let about = choice.group.iter().chain(&choice.about).map(|text| one_line(text));
                Row {
                    pick: Pick::Option { id: option.id.clone(), value: choice.value.clone() },
                    name: one_line(&choice.name),
                    about: about.collect::<Vec<_>>().join(", "),
                    current: choice.value == option.value,
                }
            })
            .collect();
        let at = rows.iter().position(|row| row.current).unwrap_or(0);
        let title = one_line(&option.name);
        (!rows.is_empty()).then_some(Self { title, filter: String::new(), rows, at })
    }

    /// Earlier sessions; none when there are none but this one.
    pub(crate) fn sessions(page: Vec<SessionRow>, now: &SessionId) -> Option<Self> {
        let rows: Vec<Row> = page
            .into_iter()
            .filter(|row| row.unreadable.is_none() && row.id != *now)
            .map(|row| Row {
                name: protocol::time::rfc3339(row.updated_ms).replace('T', " ").replace('Z', ""),
                about: row.title.as_deref().map(one_line).unwrap_or_else(|| "untitled".into()),
                pick: Pick::Session(row.id),
                current: false,
            })
            .collect();
        let title = "Earlier sessions".into();
        (!rows.is_empty()).then_some(Self { title, filter: String::new(), rows, at: 0 })
    }

    /// The rows that the filter leaves, in order; the picked one by its place.
    pub(crate) fn shown(&self) -> (Vec<&Row>, usize) {
        let wanted: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |row: &&Row| {
            let text = format!("{} {}", row.name, row.about).to_lowercase();
            wanted.iter().all(|word| text.contains(word.as_str()))
        };
        let rows: Vec<&Row> = self.rows.iter().filter(fits).collect();
        let at = self.at.min(rows.len().saturating_sub(1));
        (rows, at)
    }

    pub(crate) fn step(&mut self, by: i32) {
        let (rows, at) = self.shown();
        let last = rows.len().saturating_sub(1);
        self.at = at.saturating_add_signed(by as isize).min(last);
    }

    pub(crate) fn narrow(&mut self, letter: char) {
        self.filter.push(letter);
        self.at = 0;
    }

    pub(crate) fn widen(&mut self) {
        self.filter.pop();
        self.at = 0;
    }

    /// What is picked; none when the filter leaves nothing.
    pub(crate) fn picked(&self) -> Option<Pick> {
        let (rows, at) = self.shown();
        rows.get(at).map(|row| row.pick.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn picker() -> Picker {
        Picker::option(&testing::snapshot().info.options[0]).unwrap()
    }

    fn value(picker: &Picker) -> Option<String> {
        picker.picked().map(|pick| match pick {
            Pick::Option { value, .. } => value,
            Pick::Session(id) => id.0,
        })
    }

    #[test]
    fn it_begins_at_what_holds_and_stays_inside() {
        let mut picker = picker();
        assert_eq!(value(&picker).as_deref(), Some("workspace-write"));
        picker.step(9);
        assert_eq!(value(&picker).as_deref(), Some("auto"));
        picker.step(-9);
        assert_eq!(value(&picker).as_deref(), Some("plan"));
    }

    #[test]
    fn typing_narrows() {
        let mut picker = picker();
        "LOOK".chars().for_each(|letter| picker.narrow(letter));
        assert_eq!(value(&picker).as_deref(), Some("plan"));
        picker.narrow('x');
        assert_eq!(value(&picker), None);
        (0..5).for_each(|_| picker.widen());
        assert_eq!(picker.shown().0.len(), 3);
    }

    #[test]
    fn sessions_leave_out_this_one_and_what_cannot_be_read() {
        let row = |id: &str, unreadable: Option<&str>| SessionRow {
            id: SessionId(id.into()),
            cwd: protocol::FilePath("/work".into()),
            title: Some("a\u{1b}[2Jtitle".into()),
            updated_ms: 0,
            unreadable: unreadable.map(str::to_string),
        };
        let page = vec![row("s1", None), row("s2", Some("damaged")), row("s3", None)];
        let picker = Picker::sessions(page, &SessionId("s1".into())).unwrap();
        let (rows, _) = picker.shown();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].name.as_str(), rows[0].about.as_str()), ("1970-01-01 00:00:00", "atitle"));
        assert_eq!(Picker::sessions(vec![row("s1", None)], &SessionId("s1".into())), None);
    }
}
