//! How long a server asks us to wait: `Retry-After` as seconds or a date, or words in its message.

use super::Again;

/// Longer waits are not waited for: nobody sits before a screen that says nothing for so long.
const LIMIT_MS: u64 = 300_000;

/// What a wait that was asked for comes to.
pub(crate) fn after(ms: u64) -> Again {
    if ms > LIMIT_MS { Again::TooLate { ms } } else { Again::After { ms } }
}

/// `Retry-After` in seconds or as a date.
pub(crate) fn delay_ms(value: &str) -> Option<u64> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return limited(seconds * 1000.0);
    }
    let at = http_date_secs(value)?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    Some(at.saturating_sub(now).saturating_mul(1000))
}

/// "try again in 0.3s", "in 20ms", "in 1m2s".
pub(crate) fn wait_in_text(text: &str) -> Option<u64> {
    let mut rest = text.split("try again in ").nth(1)?;
    let mut total_ms = None;
    loop {
        let digits =
            rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let Ok(value) = number.parse::<f64>() else { break };
        let tail = tail.trim_start();
        let (unit_ms, after) = [("ms", 1.0), ("h", 3_600_000.0), ("m", 60_000.0), ("s", 1000.0)]
            .into_iter()
            .find_map(|(unit, ms)| tail.strip_prefix(unit).map(|after| (ms, after)))?;
        total_ms = Some(total_ms.unwrap_or(0.0) + value * unit_ms);
        rest = after;
    }
    limited(total_ms?)
}

fn limited(ms: f64) -> Option<u64> {
    (ms >= 0.0).then_some(ms as u64)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as seconds since 1970.
fn http_date_secs(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words.as_slice() else { return None };
    let within = |text: &str, from: u64, to: u64| {
        text.parse::<u64>().ok().filter(|number| (from..=to).contains(number))
    };
    let day = within(day, 1, 31)?;
    let month = MONTHS.iter().position(|name| name == month)? as u64 + 1;
    let year = within(year, 1970, 9999)?;
    let clock: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = clock.as_slice() else { return None };
    let (hour, minute, second) = (within(hour, 0, 23)?, within(minute, 0, 59)?, within(second, 0, 60)?);
    // Days since 1970 by the civil calendar, whose year begins in March.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era_year = shifted % 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = era_year * 365 + era_year / 4 - era_year / 100 + day_of_year;
    let days = (shifted / 400 * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_in_every_form() {
        let table = [
            ("3", Some(3000)),
            (" 0.5 ", Some(500)),
            ("0", Some(0)),
            ("100000", Some(100_000_000)),
            ("inf", Some(u64::MAX)),
            ("-1", None),
            ("NaN", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 00 Mar 2020 00:00:00 GMT", None),
            ("Sun, 06 Nov 99999999999999999 08:49:37 GMT", None),
        ];
        for (value, ms) in table {
            assert_eq!(delay_ms(value), ms, "{value}");
        }
        assert!(delay_ms("Fri, 31 Dec 9999 23:59:59 GMT") > Some(1_000_000_000));
        assert_eq!(http_date_secs("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_date_secs("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
    }

    #[test]
    fn words_that_name_a_wait() {
        let table = [
            ("Please try again in 0.3s.", Some(300)),
            ("try again in 20ms", Some(20)),
            ("try again in 2 s", Some(2000)),
            ("Please try again in 7m12s. Visit", Some(432_000)),
            ("try again in a while", None),
            ("later", None),
        ];
        for (text, ms) in table {
            assert_eq!(wait_in_text(text), ms, "{text}");
        }
    }
}
