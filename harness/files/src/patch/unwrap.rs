//! Taking off what models wrap a patch in: JSON, a Markdown fence, a heredoc.
//!
//! Knows nothing of what is inside. Called before a patch is parsed.

/// Wrappings in wrappings that are taken off.
const DEPTH: usize = 4;

/// The patch text itself, as far as it can be told.
pub(super) fn unwrap(text: &str) -> String {
    let mut text = bare(text).to_string();
    for _ in 0..DEPTH {
        let inner = match json_field(&text) {
            Some(inner) => inner,
            None => match enclosed(&text) {
                Some(inner) => inner,
                None => break,
            },
        };
        text = bare(&inner).to_string();
    }
    text
}

/// Without a mark and without blank lines around; the indentation of the first line stays.
fn bare(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_end();
    let blank = text.len() - text.trim_start().len();
    let start = text.get(..blank).and_then(|blank| blank.rfind('\n')).map_or(0, |end| end + 1);
    text.get(start..).unwrap_or_default()
}

/// The lines between those of a Markdown fence or of a heredoc.
fn enclosed(text: &str) -> Option<String> {
    let (first, rest) = text.split_once('\n')?;
    let first = first.trim();
    let fenced = first.starts_with("```");
    let heredoc = first.contains("<<") && !first.starts_with("***");
    if !fenced && !heredoc {
        return None;
    }
    let (body, last) = rest.trim_end().rsplit_once('\n')?;
    let closes = if fenced { last.trim().starts_with("```") } else { !last.trim().starts_with("***") };
    Some(if closes { body.to_string() } else { rest.to_string() })
}

/// The text inside of `{"patch": "..."}` or `{"input": "..."}`; raw line ends in it are forgiven.
fn json_field(text: &str) -> Option<String> {
    let text = text.trim_start().strip_prefix('{')?;
    let mut names = ["\"patch\"", "\"input\""].iter();
    let start = names.find_map(|name| text.find(name).map(|at| at + name.len()))?;
    let rest = text.get(start..)?.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let mut out = String::new();
    let mut letters = rest.chars();
    loop {
        match letters.next()? {
            '"' => return Some(out),
            '\\' => out.push(escaped(&mut letters)?),
            other => out.push(other),
        }
    }
}

fn escaped(letters: &mut std::str::Chars) -> Option<char> {
    Some(match letters.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let first = unit(letters)?;
            let second = match first {
                0xD800..=0xDBFF if letters.as_str().starts_with("\\u") => {
                    letters.nth(1);
                    Some(unit(letters)?)
                }
                _ => None,
            };
            let units = [Some(first), second].into_iter().flatten();
            char::decode_utf16(units).next()?.ok()?
        }
        other => other,
    })
}

fn unit(letters: &mut std::str::Chars) -> Option<u16> {
    let code: String = letters.by_ref().take(4).collect();
    u16::from_str_radix(&code, 16).ok().filter(|_| code.len() == 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappings_come_off() {
        let patch = "*** Begin Patch\n+\"é😀\n*** End Patch";
        let json = r#"{"input": "*** Begin Patch\n+\"\u00e9\ud83d\ude00\n*** End Patch"}"#;
        let cases = [
            patch.to_string(),
            format!("\u{feff}\n\n{patch}\n \n"),
            format!("```diff\n{patch}\n```\n"),
            format!("```\n{patch}"),
            format!("<<'EOF'\n{patch}\nEOF"),
            format!("apply_patch <<EOF\n{patch}\nEOF\n"),
            json.to_string(),
            json.replace("input", "patch"),
            format!("```json\n{json}\n```"),
            format!("{{\"patch\": \"{}\"}}", patch.replace('"', "\\\"")),
        ];
        for case in cases {
            assert_eq!(unwrap(&case), patch, "{case:?}");
        }
        assert_eq!(unwrap("  *** Begin Patch\n"), "  *** Begin Patch");
    }

    #[test]
    fn endless_wrappings_end() {
        assert!(unwrap(&"```\n".repeat(50_000)).starts_with("```"));
        assert_eq!(unwrap(r#"{"patch": "a\ud800"}"#), r#"{"patch": "a\ud800"}"#);
        assert_eq!(unwrap("{"), "{");
    }
}
