//! Whether the text of an object is whole, told while it streams.

/// Counts brackets outside of strings; each byte is looked at once.
#[derive(Default)]
pub(crate) struct Balance {
    depth: u32,
    opened: bool,
    in_string: bool,
    escaped: bool,
}

impl Balance {
    pub(crate) fn feed(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.depth = self.depth.saturating_add(1);
                    self.opened = true;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Every bracket that was opened is closed again.
    pub(crate) fn is_whole(&self) -> bool {
        self.opened && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count() {
        let table = [
            ("", false),
            ("{", false),
            ("{}", true),
            (r#"{"a":[1,{"b":2}]} "#, true),
            (r#"{"a":"}"#, false),
            (r#"{"a":"\"}"}"#, true),
            (r#"{"a":"\\"}"#, true),
        ];
        for (text, whole) in table {
            let mut balance = Balance::default();
            text.chars().for_each(|letter| balance.feed(&letter.to_string()));
            assert_eq!(balance.is_whole(), whole, "{text}");
        }
    }
}
