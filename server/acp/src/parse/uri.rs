//! Addresses of mentioned files: decoded once, with the lines that an editor's selection adds.

/// A `file://` address with its path as it is on the disk; others stay as they are.
pub(crate) fn decoded(uri: &str) -> String {
    let Some(path) = path(uri) else { return uri.to_string() };
    format!("file://{}", percent_decoded(path))
}

/// An address apart from the lines that it selects, 1-based and inclusive.
pub(crate) fn mention(uri: &str) -> (String, Option<(u32, u32)>) {
    let Some(whole) = path(uri) else { return (uri.to_string(), None) };
    let (path, lines) = match whole.rsplit_once('#').map(|(path, after)| (path, selected(after))) {
        Some((path, Some(lines))) => (path, Some(lines)),
        Some((_, None)) | None => (whole, None),
    };
    let path = path.split_once("?symbol=").map_or(path, |(path, _)| path);
    (format!("file://{}", percent_decoded(path)), lines)
}

fn path(uri: &str) -> Option<&str> {
    let path = uri.strip_prefix("file://")?;
    Some(path.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(path))
}

/// `L3`, `L3:7`, `L3-7`, `L3-L7`.
fn selected(fragment: &str) -> Option<(u32, u32)> {
    let rest = fragment.strip_prefix('L')?;
    let (from, to) = match rest.split_once([':', '-']) {
        Some((from, to)) => (from, to.strip_prefix('L').unwrap_or(to)),
        None => (rest, rest),
    };
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (1 <= from && from <= to).then_some((from, to))
}

fn percent_decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let pair =
            tail.first_chunk::<2>().filter(|pair| *first == b'%' && pair.iter().all(u8::is_ascii_hexdigit));
        let byte = pair
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_once() {
        for (uri, path) in [
            ("file:///a%20b", "file:///a b"),
            ("file:///a%2520b", "file:///a%20b"),
            ("file:///a b", "file:///a b"),
            ("file:///%E6%BC%A2", "file:///漢"),
            ("file:///100%", "file:///100%"),
            ("file:///a%+1b", "file:///a%+1b"),
            ("file:///c%23d%3F.txt", "file:///c#d?.txt"),
            ("file:///c++/[id].tsx", "file:///c++/[id].tsx"),
            ("file://localhost/a", "file:///a"),
            ("https://x/a%20b", "https://x/a%20b"),
        ] {
            assert_eq!(decoded(uri), path);
            assert_eq!(mention(uri), (path.to_string(), None));
        }
    }

    #[test]
    fn selections_are_told_apart_from_names() {
        for (uri, path, lines) in [
            ("file:///a.rs#L3", "file:///a.rs", Some((3, 3))),
            ("file:///a.rs#L3:7", "file:///a.rs", Some((3, 7))),
            ("file:///a%20b.rs#L3-L7", "file:///a b.rs", Some((3, 7))),
            ("file:///a.rs?symbol=main#L1:2", "file:///a.rs", Some((1, 2))),
            ("file:///a#b", "file:///a#b", None),
            ("file:///a%23L3", "file:///a#L3", None),
            ("file:///a.rs#L0", "file:///a.rs#L0", None),
            ("https://x/a#L3", "https://x/a#L3", None),
        ] {
            assert_eq!(mention(uri), (path.to_string(), lines), "{uri}");
        }
    }
}
