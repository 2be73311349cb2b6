//! The canvas against a small terminal that obeys just what the canvas may send.

use super::*;
use crate::row::{bold, colored};

/// A screen with a scrollback; a letter or a code it does not know is a failure of the test.
struct Vt {
    columns: usize,
    rows: usize,
    above: Vec<String>,
    screen: Vec<Vec<char>>,
    x: usize,
    y: usize,
    /// The last column was written and the next letter goes to the next row.
    full: bool,
}

impl Vt {
    fn new(columns: usize, rows: usize) -> Self {
        let screen = vec![vec![' '; columns]; rows];
        Self { columns, rows, above: vec![], screen, x: 0, y: 0, full: false }
    }

    fn feed(&mut self, bytes: &str) {
        let mut rest = bytes;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            match letter {
                '\r' => (self.x, self.full) = (0, false),
                '\n' => self.down(),
                '\x1b' => {
                    let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                    let (code, tail) = rest.split_at(end + 1);
                    self.obey(code);
                    rest = tail;
                }
                letter => {
                    if self.full {
                        self.x = 0;
                        self.down();
                    }
                    self.screen[self.y][self.x] = letter;
                    self.full = self.x + 1 == self.columns;
                    self.x = (self.x + 1).min(self.columns - 1);
                }
            }
        }
    }

    fn down(&mut self) {
        self.full = false;
        if self.y + 1 < self.rows {
            self.y += 1;
        } else {
            let gone = self.screen.remove(0);
            self.above.push(text(&gone));
            self.screen.push(vec![' '; self.columns]);
        }
    }

    fn obey(&mut self, code: &str) {
        let body = code.strip_prefix('[').unwrap();
        let (count, kind) = body.split_at(body.len() - 1);
        let number = || count.parse::<usize>().unwrap();
        self.full = self.full && kind == "m";
        match (count, kind) {
            ("?2026" | "?25", "h" | "l") | (_, "m") => {}
            ("", "J") => {
                self.screen[self.y][self.x..].fill(' ');
                self.screen[self.y + 1..].iter_mut().for_each(|row| row.fill(' '));
            }
            ("2", "K") => self.screen[self.y].fill(' '),
            ("", "H") => (self.x, self.y) = (0, 0),
            ("2;1", "H") => (self.x, self.y) = (0, 1.min(self.rows - 1)),
            (_, "A") => self.y = self.y.saturating_sub(number()),
            (_, "B") => self.y = (self.y + number()).min(self.rows - 1),
            (_, "C") => self.x = (self.x + number()).min(self.columns - 1),
            other => panic!("unknown code {other:?}"),
        }
    }

    /// As terminals that do not break lines anew do it: rows are cut, what does not fit goes above.
    fn resize(&mut self, columns: usize, rows: usize) {
        self.screen.iter_mut().for_each(|row| row.resize(columns, ' '));
        while self.screen.len() > rows {
            if self.y + 1 < self.screen.len() {
                self.screen.pop();
            } else {
                let gone = self.screen.remove(0);
                self.above.push(text(&gone));
                self.y -= 1;
            }
        }
        self.screen.resize(rows, vec![' '; columns]);
        (self.columns, self.rows, self.x, self.full) = (columns, rows, self.x.min(columns - 1), false);
    }

    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.screen.iter().map(|row| text(row)).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

fn text(row: &[char]) -> String {
    row.iter().collect::<String>().trim_end().to_string()
}

fn frame(rows: &[&str], cursor: (usize, u16)) -> Frame {
    Frame { rows: rows.iter().map(|row| Line::raw(row.to_string())).collect(), cursor }
}

fn rows(texts: &[&str]) -> Vec<Row> {
    texts.iter().map(|text| Row::words(text.to_string(), 0)).collect()
}

fn start(columns: u16, height: u16) -> (Canvas, Vt) {
    let mut vt = Vt::new(columns.into(), height.into());
    vt.feed("$ i\r\n");
    (Canvas::new(columns, height, Colours::On, Reflow::Unknown), vt)
}

#[test]
fn frames_grow_shrink_and_scroll() {
    let (mut canvas, mut vt) = start(10, 5);
    for (finished, live, cursor, shown) in [
        (vec![], vec!["s", "> "], (1, 2), vec!["$ i", "s", ">"]),
        (vec!["hello"], vec!["s", "> "], (1, 2), vec!["$ i", "hello", "s", ">"]),
        (vec![], vec!["s", "> a", "  b"], (1, 2), vec!["$ i", "hello", "s", "> a", "  b"]),
        (vec![], vec!["x", "s", "> a", "  b"], (3, 2), vec!["hello", "x", "s", "> a", "  b"]),
        (vec![], vec!["s", "> "], (1, 2), vec!["hello", "s", ">"]),
        (vec!["one", "two"], vec!["s", "> "], (1, 2), vec!["hello", "one", "two", "s", ">"]),
        (vec![], vec!["1", "2", "3", "> z"], (3, 3), vec!["two", "1", "2", "3", "> z"]),
        (vec!["long words here"], vec!["s", "> "], (0, 1), vec!["two", "long words", "here", "s", ">"]),
    ] {
        vt.feed(&canvas.paint(rows(&finished), &frame(&live, cursor)));
        assert_eq!(vt.lines(), shown);
        let top = shown.len() - live.len();
        assert_eq!((vt.y, vt.x), (top + cursor.0, usize::from(cursor.1)), "{live:?}");
    }
    assert_eq!(vt.above, ["$ i", "hello", "one"]);
}

#[test]
fn what_did_not_change_is_not_sent() {
    let (mut canvas, mut vt) = start(10, 5);
    vt.feed(&canvas.paint(vec![], &frame(&["status", "> a"], (1, 3))));
    assert_eq!(canvas.paint(vec![], &frame(&["status", "> a"], (1, 3))), "");
    let sent = canvas.paint(vec![], &frame(&["status", "> ab"], (1, 4)));
    assert!(!sent.contains("status") && sent.contains("> ab"), "{sent:?}");
    vt.feed(&sent);
    assert_eq!(vt.lines(), ["$ i", "status", "> ab"]);
}

#[test]
fn a_row_as_wide_as_the_screen_is_one_row() {
    let (mut canvas, mut vt) = start(6, 5);
    vt.feed(&canvas.paint(rows(&["123456"]), &frame(&["abcdef", "> "], (1, 2))));
    vt.feed(&canvas.paint(vec![], &frame(&["ABCDEF", "> "], (1, 2))));
    assert_eq!(vt.lines(), ["$ i", "123456", "ABCDEF", ">"]);
    vt.feed(&canvas.paint(vec![Row::whole("long code line")], &frame(&["s", "> "], (1, 2))));
    assert_eq!(vt.lines(), ["long c", "ode li", "ne", "s", ">"]);
}

#[test]
fn a_resize_loses_nothing_and_leaves_one_frame() {
    for (columns, height) in [(20, 6), (8, 6), (12, 4), (12, 9), (6, 4), (30, 12)] {
        let (mut canvas, mut vt) = start(12, 6);
        let texts: Vec<String> = (1..=9).map(|n| format!("line {n} of all")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        vt.feed(&canvas.paint(rows(&texts), &frame(&["s", "> "], (1, 2))));
        vt.resize(columns.into(), height.into());
        vt.feed(&canvas.resized(columns, height));
        vt.feed(&canvas.paint(vec![], &frame(&["s", "> "], (1, 2))));
        let shown = vt.lines();
        let wanted = usize::from(height).min(texts.len() + 2);
        assert_eq!(shown.len(), wanted, "{columns}x{height}: {shown:?}");
        assert_eq!(shown[shown.len() - 2..], ["s", ">"], "{columns}x{height}");
        assert_eq!(shown.iter().filter(|line| *line == "s").count(), 1);
        let all = [vt.above.clone(), shown].concat().join(" ");
        for text in texts.iter().flat_map(|text| text.split(' ')) {
            assert!(all.contains(text), "{columns}x{height}: no {text:?} in {all}");
        }
    }
}

#[test]
fn a_resize_of_a_screen_that_is_not_full_keeps_what_was_there_before_us() {
    for (columns, height) in [(20, 9), (9, 9), (12, 7)] {
        let (mut canvas, mut vt) = start(12, 9);
        vt.feed(&canvas.paint(rows(&["hello you"]), &frame(&["s", "> "], (1, 2))));
        vt.resize(columns.into(), height.into());
        vt.feed(&canvas.resized(columns, height));
        vt.feed(&canvas.paint(vec![], &frame(&["s", "> "], (1, 2))));
        assert_eq!(vt.lines(), ["$ i", "hello you", "s", ">"], "{columns}x{height}");
    }
}

#[test]
fn at_the_end_only_the_transcript_is_left() {
    let (mut canvas, mut vt) = start(10, 5);
    vt.feed(&canvas.paint(rows(&["hello"]), &frame(&["x", "s", "> a"], (2, 3))));
    vt.feed(&canvas.end());
    assert_eq!(vt.lines(), ["$ i", "hello"]);
    assert_eq!((vt.y, vt.x), (2, 0));
}

#[test]
fn colours_can_be_left_out() {
    let styled = Frame {
        rows: vec![Line::styled("red", colored(Color::Red)), Line::styled("bold", bold())],
        cursor: (0, 0),
    };
    let mut canvas = Canvas::new(20, 5, Colours::On, Reflow::Unknown);
    assert!(canvas.paint(vec![], &styled).contains("\x1b[31mred\x1b[0m"));
    let mut canvas = Canvas::new(20, 5, Colours::Off, Reflow::Unknown);
    let sent = canvas.paint(vec![], &styled);
    assert!(!sent.contains("\x1b[31m") && sent.contains("red") && sent.contains("\x1b[1mbold"), "{sent:?}");
}

#[test]
fn nothing_but_our_own_codes_is_sent() {
    let mut canvas = Canvas::new(20, 5, Colours::Off, Reflow::Unknown);
    let sent = canvas.paint(rows(&["a\u{1b}[2Jb\u{9b}3J"]), &frame(&["s\u{7}\n", "> "], (1, 2)));
    assert!(sent.contains("a[2Jb3J") && sent.contains("s\r\n> "), "{sent:?}");
}
