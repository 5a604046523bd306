//! Others' names in commands that people copy.

/// Whether a name may stand in a suggested command as it is: one word of a shell, which carries nothing out, and no
/// flag. What people and controllers write into annotations may be anything.
pub(crate) fn is_word(name: &str) -> bool {
    const LONGEST: usize = 500;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@=,+%".contains(&byte);
    !name.is_empty() && name.len() <= LONGEST && !name.starts_with('-') && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::is_word;

    #[test]
    fn what_a_shell_takes_apart_or_a_program_for_a_flag_is_no_word() {
        for name in ["web", "argocd_shop", "team/shop", "10.0.0.1:80", "a=b", "a-b"] {
            assert!(is_word(name), "{name}");
        }
        for name in [
            "", "a b", "a;b", "$(a)", "`a`", "a|b", "a&b", "a\nb", "a>b", "'a'", "\"a\"", "a\\b", "~", "*", "#a", "-a",
            "--all", "größe",
        ] {
            assert!(!is_word(name), "{name}");
        }
        assert!(!is_word(&"a".repeat(501)));
    }
}
