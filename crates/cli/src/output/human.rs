//! Formatting of numbers for people.

/// Returns a number as text like `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Returns nanoseconds as text with a unit: `789 ns`, `45.60 µs`, `1.23 s`.
pub(crate) fn time(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let n = ns.unsigned_abs();
    let scaled = |unit: u64, name: &str| {
        // Integers avoid rounding errors. Further digits are cut off.
        let milli = u128::from(n) * 1_000 / u128::from(unit);
        let (whole, rest) = (milli / 1_000, milli % 1_000);
        match whole {
            0..10 => format!("{sign}{whole}.{rest:03} {name}"),
            10..100 => format!("{sign}{whole}.{:02} {name}", rest / 10),
            _ => format!("{sign}{whole}.{} {name}", rest / 100),
        }
    };
    match n {
        0..1_000 => format!("{sign}{n} ns"),
        1_000..1_000_000 => scaled(1_000, "µs"),
        1_000_000..1_000_000_000 => scaled(1_000_000, "ms"),
        _ => scaled(1_000_000_000, "s"),
    }
}

/// Returns a number of bytes as text with a binary unit: `512 B`, `1.5 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if n >= 1 << shift {
            return format!("{:.1} {unit}", n as f64 / f64::from(1_u32 << shift));
        }
    }
    format!("{n} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(n), text);
        }
    }

    #[test]
    fn times() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.000 µs"),
            (45_678, "45.67 µs"),
            (999_999, "999.9 µs"),
            (12_345_678, "12.34 ms"),
            (1_234_567_890, "1.234 s"),
            (-5_000, "-5.000 µs"),
            (i64::MIN, "-9223372036.8 s"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn sizes() {
        for (n, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_536, "1.5 KiB"),
            (3 << 30, "3.0 GiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }
}
