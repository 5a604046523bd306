//! Kubernetes quantities (`250m`, `1.5Gi`, `1e3`), exact down to a billionth.
//!
//! Source of the format: `k8s.io/apimachinery/pkg/api/resource`.

use std::{fmt, ops};

/// An exact amount, counted in billionths. Compares by value: `1000m` equals `1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    nanos: i128,
}

const UNIT: i128 = 1_000_000_000;

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0 };

    /// A whole number.
    #[must_use]
    pub const fn whole(number: i64) -> Self {
        Self { nanos: number as i128 * UNIT }
    }

    /// Reads a quantity; none when it is not one, or too large to hold. Digits below a billionth are rounded up,
    /// as Kubernetes does.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        let (number, suffix) = digits.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        let (base, exponent) = scale_of(suffix)?;
        // mantissa · 10^-places · base^exponent, in billionths.
        let mut nanos = mantissa;
        if base == 2 {
            nanos = nanos.checked_mul(1i128.checked_shl(u32::try_from(exponent).ok()?)?)?.checked_mul(UNIT)?;
            nanos = shift_decimal(nanos, -places)?;
        } else {
            nanos = shift_decimal(nanos, exponent + 9 - places)?;
        }
        Some(Self { nanos: if negative { -nanos } else { nanos } })
    }

    /// Whether it is nothing, or less.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.nanos <= 0
    }

    /// `self - other`, but never below nothing.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        let nanos = self.nanos.saturating_sub(other.nanos);
        Self { nanos: if nanos < 0 { 0 } else { nanos } }
    }

    /// Whole percent of another amount; none where that is nothing.
    #[must_use]
    pub fn percent_of(self, whole: Self) -> Option<i128> {
        if whole.is_zero() { None } else { self.nanos.checked_mul(100).map(|nanos| nanos / whole.nanos) }
    }

    /// Written in the manner of `like`: binary suffixes where that one has a binary suffix, decimal elsewhere.
    #[must_use]
    pub fn display_like(self, like: &str) -> String {
        if like.ends_with('i') { self.binary() } else { self.to_string() }
    }

    /// With the largest binary suffix that divides it; decimal where it is no whole number.
    fn binary(self) -> String {
        if self.nanos != 0 && self.nanos % UNIT == 0 {
            let mut number = self.nanos / UNIT;
            let mut suffix = "";
            for next in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
                if number % 1024 != 0 {
                    break;
                }
                number /= 1024;
                suffix = next;
            }
            return format!("{number}{suffix}");
        }
        self.to_string()
    }
}

/// `10^by` times the amount, rounded away from zero where digits fall off.
fn shift_decimal(amount: i128, by: i32) -> Option<i128> {
    if by >= 0 {
        amount.checked_mul(10i128.checked_pow(u32::try_from(by).ok()?)?)
    } else {
        let Some(divisor) = 10i128.checked_pow(by.unsigned_abs()) else {
            return Some(i128::from(amount != 0));
        };
        Some(amount / divisor + i128::from(amount % divisor != 0))
    }
}

/// Base and exponent that a suffix stands for.
fn scale_of(suffix: &str) -> Option<(u8, i32)> {
    Some(match suffix {
        "" => (10, 0),
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (2, 10),
        "Mi" => (2, 20),
        "Gi" => (2, 30),
        "Ti" => (2, 40),
        "Pi" => (2, 50),
        "Ei" => (2, 60),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            ((-30..=30).contains(&exponent)).then_some((10, exponent))?
        }
    })
}

impl fmt::Display for Quantity {
    /// Decimal: whole, or in thousandths, millionths or billionths where it must be.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, suffix) = [(UNIT, ""), (1_000_000, "m"), (1_000, "u"), (1, "n")]
            .into_iter()
            .find(|(divisor, _)| self.nanos % divisor == 0)
            .unwrap_or((1, "n"));
        write!(f, "{}{suffix}", self.nanos / divisor)
    }
}

impl ops::Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos) }
    }
}

impl ops::AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        Quantity::parse(text).map_or_else(|| "none".into(), |quantity| quantity.to_string())
    }

    #[test]
    fn quantities_are_read_exactly() {
        for (text, value) in [
            ("3", "3"),
            ("250m", "250m"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1e3", "1000"),
            ("1E3", "1000"),
            ("5E", "5000000000000000000"),
            ("1k", "1000"),
            ("-2", "-2"),
            ("100n", "100n"),
            ("0.1n", "1n"),
            ("1.", "1"),
            ("3Gi", "3221225472"),
            ("1.5Gi", "1610612736"),
            ("0.1Ki", "102400m"),
        ] {
            assert_eq!(parsed(text), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for text in ["", "-", "+", ".", "1.2.3", "Gi", "3gi", "1e", "1e999", "ten", "1 ", "1Kib", "é", "1é"] {
            assert_eq!(parsed(text), "none", "{text}");
        }
        assert_eq!(Quantity::parse(&"9".repeat(200)), None);
    }

    #[test]
    fn the_largest_and_the_smallest_amounts_are_counted_with_like_any_others() {
        // As many digits as an i128 has, most of them below a billionth.
        assert_eq!(parsed(&format!(".{}", i128::MAX)), "170141184n");
        let largest = Quantity { nanos: i128::MAX };
        let smallest = Quantity { nanos: -i128::MAX };
        assert_eq!(largest.saturating_sub(smallest), largest);
        assert_eq!(smallest.saturating_sub(largest), Quantity::ZERO);
        assert_eq!(largest + largest, largest);
    }

    #[test]
    fn amounts_compare_by_value_and_print_in_the_manner_of_the_quota() {
        assert_eq!(Quantity::parse("1000m"), Quantity::parse("1"));
        let memory = Quantity::parse("1Gi").unwrap() + Quantity::parse("2Gi").unwrap();
        assert_eq!(memory.display_like("3Gi"), "3Gi");
        assert_eq!(memory.display_like("3000000000"), "3221225472");
        assert_eq!(Quantity::parse("1536Mi").unwrap().display_like("3Gi"), "1536Mi");
        assert_eq!(Quantity::ZERO.display_like("3Gi"), "0");
    }
}
