//! The rules for label keys and values (`k8s.io/apimachinery/pkg/util/validation`).

/// Whether it can be a label's value, and if not, what the rule is. An empty value is one, but names nothing.
pub fn check_value(value: &str) -> Result<(), &'static str> {
    if value.len() > 63 {
        return Err("it has more than 63 characters");
    }
    check_characters(value)
}

/// Whether it can be a label's key: `NAME`, or `PREFIX/NAME` with a DNS subdomain in front.
pub fn check_key(key: &str) -> Result<(), &'static str> {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    if let Some(prefix) = prefix {
        let part = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
                && !part.starts_with('-')
                && !part.ends_with('-')
        };
        if prefix.len() > 253 || !prefix.split('.').all(part) {
            return Err("what stands before the slash must be a DNS name in lower case");
        }
    }
    if name.len() > 63 {
        return Err("it has more than 63 characters");
    }
    check_characters(name)
}

fn check_characters(text: &str) -> Result<(), &'static str> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() {
        Err("it is empty")
    } else if !text.bytes().all(inner) {
        Err("letters, digits, '-', '_' and '.' are allowed")
    } else if !text.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !text.ends_with(|c: char| c.is_ascii_alphanumeric())
    {
        Err("it must begin and end with a letter or digit")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_the_rule() {
        for good in ["demo", "Demo", "d", "a.b_c-d", &"x".repeat(63)] {
            assert_eq!(check_value(good), Ok(()), "{good}");
        }
        for bad in ["", "demo,tier", "a in (b)", "-a", "a-", "a b", "app=demo", "dé", &"x".repeat(64)] {
            assert!(check_value(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_follow_the_rule() {
        for good in ["app", "app.kubernetes.io/name", "a/B_c.d"] {
            assert_eq!(check_key(good), Ok(()), "{good}");
        }
        for bad in ["", "/app", "a/", "A.b/c", "a/b/c", "a b", "-a/b", "a..b/c", &format!("a/{}", "x".repeat(64))] {
            assert!(check_key(bad).is_err(), "{bad}");
        }
    }
}
