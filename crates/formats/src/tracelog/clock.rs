//! The start time of a trace, and milliseconds since then.

use jtrail_model::Timestamp;

const MS: i64 = 1_000_000;
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// Returns milliseconds since 1970-01-01 UTC, rounded down.
pub(super) fn whole_ms(time: Timestamp) -> i64 {
    time.0.div_euclid(MS)
}

/// Returns the time `ms` milliseconds after `base`, if a timestamp can hold it.
pub(super) fn timestamp(base: i64, ms: u64) -> Option<Timestamp> {
    let ms = base.checked_add(i64::try_from(ms).ok()?)?;
    Some(Timestamp(ms.checked_mul(MS)?))
}

/// Formats a time, in milliseconds since 1970, as local time `minutes_west` minutes west of UTC.
pub(super) fn write(ms: i64, minutes_west: i32) -> String {
    let local = ms.saturating_sub(i64::from(minutes_west) * MINUTE);
    // The time is clamped, because readers need a time that fits into a timestamp.
    let local = local.clamp(i64::MIN / MS, i64::MAX / MS);
    let (days, rest) = (local.div_euclid(DAY), local.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (hour, minute) = (rest / 60 / MINUTE, rest / MINUTE % 60);
    let (second, ms) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{ms:03}")
}

/// Reads a local time. Returns milliseconds since 1970, and how many minutes its zone is west of
/// UTC.
pub(super) fn read(text: &str) -> Option<(i64, i32)> {
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let (date, time) = (words.next()?, words.next()?);
    let zone = words.next();
    if words.next().is_some() {
        return None;
    }
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let mut clock = time.split([':', '.']);
    let (hour, minute) = (clock.next()?, clock.next()?);
    let (second, ms) = (clock.next()?, clock.next()?);
    if parts.next().is_some() || clock.next().is_some() {
        return None;
    }
    let days = days(
        number(year, 4, 9999)?,
        number(month, 2, 12)?,
        number(day, 2, 31)?,
    )?;
    let clock = (number(hour, 2, 23)? * 60 + number(minute, 2, 59)?) * MINUTE
        + number(second, 2, 60)? * 1000
        + number(ms, 3, 999)?;
    let west = match zone {
        None => 0,
        Some(zone) => {
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let minutes = number(hours, 2, 23)? * 60 + number(minutes, 2, 59)?;
            match zone.as_bytes()[0] {
                b'+' => -minutes,
                b'-' => minutes,
                _ => return None,
            }
        }
    };
    let ms = days * DAY + clock + west * MINUTE;
    ms.checked_mul(MS)?;
    Some((ms, west as i32))
}

fn number(word: &str, digits: usize, most: i64) -> Option<i64> {
    let sound = word.len() == digits && word.bytes().all(|b| b.is_ascii_digit());
    let number = sound.then(|| word.parse().ok()).flatten()?;
    (number <= most).then_some(number)
}

/// Returns the days from 1970-01-01 to a date. The calculation uses years that begin in March, so
/// that a leap day is the last day of a year.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if month == 0 || day == 0 {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(
        year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year
            - 719_468,
    )
}

/// Returns the date `days` days after 1970-01-01. Years are clamped to 0–9999.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year.clamp(0, 9999), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_times_are_read() {
        for (ms, west) in [
            (i64::MIN, i32::MAX),
            (i64::MIN / MS, 1),
            (i64::MAX / MS, -1),
            (i64::MAX, i32::MIN),
        ] {
            assert!(read(&write(ms, west)).is_some());
        }
    }

    #[test]
    fn times_come_back() {
        for (text, ms) in [
            ("1970-01-01 00:00:00.000", 0),
            ("1969-12-31 23:59:59.999", -1),
            ("2026-01-02 03:04:05.678", 1_767_323_045_678),
            ("2024-02-29 12:00:00.001", 1_709_208_000_001),
            ("2000-03-01 00:00:00.000", 951_868_800_000),
        ] {
            assert_eq!(write(ms, 0), text);
            assert_eq!(read(text), Some((ms, 0)));
        }
        assert_eq!(write(0, -480), "1970-01-01 08:00:00.000");
        assert_eq!(read("1970-01-01 08:00:00.000 +08:00"), Some((0, -480)));
        assert_eq!(read("1969-12-31  23:30:00.000 -00:30"), Some((0, 30)));
        let mut ms = -9_000_000_000_000;
        while ms < 9_000_000_000_000 {
            assert_eq!(read(&write(ms, 0)), Some((ms, 0)));
            ms += 77_777_777_777;
        }
        for ns in [i64::MIN, i64::MAX] {
            let ms = whole_ms(Timestamp(ns));
            assert!(write(ms, i32::MIN).len() == 23 && write(ms, i32::MAX).len() == 23);
        }
        for wrong in [
            "",
            "2026-01-02",
            "2026-13-02 03:04:05.678",
            "2026-00-02 03:04:05.678",
            "2026-01-02 24:04:05.678",
            "2026-01-02 03:04:05",
            "2026-01-02 03:04:05.678 0800",
            "2026-01-02 03:04:05.678 é0:00",
            "9999-01-02 03:04:05.678",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
