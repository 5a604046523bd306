//! Strings that mean harm, or that are only rare.

use fastrand::Rng;

/// What a terminal obeys, what reorders or hides, what is wider or narrower than it looks.
const PIECES: [&str; 44] = [
    "\u{1b}[31m",
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}[1A\u{1b}[2K",
    "\u{1b}[?1049h",
    "\u{1b}[6n",
    "\u{1b}]8;;https://evil.example\u{7}link\u{1b}]8;;\u{7}",
    "\u{1b}]8;;https://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{1b}]52;c;cm0gLXJmIC8=\u{7}",
    "\u{1b}]0;title\u{7}",
    "\u{1b}P+q544e\u{1b}\\",
    "\u{1b}",
    "\u{9b}31m",
    "\u{9d}52;c;eA==\u{9c}",
    "\u{85}",
    "\u{90}",
    "\r",
    "\r\n",
    "\n",
    "\n\n\nerror: forged\n",
    "\t",
    "\u{7}",
    "\u{8}\u{8}\u{8}",
    "\u{0}",
    "\u{7f}",
    "\u{b}\u{c}",
    "\u{e}",
    "\u{202e}txt.exe",
    "\u{2066}inside\u{2069}",
    "\u{200f}",
    "\u{61c}",
    "\u{200b}\u{200c}\u{200d}",
    "\u{feff}",
    "\u{2028}\u{2029}",
    "\u{e0041}\u{e007f}",
    "\u{fe0f}",
    "e\u{301}\u{302}\u{303}\u{304}",
    "\u{301}",
    "日本語",
    "한국어",
    "👨\u{200d}👩\u{200d}👧",
    "🇩🇪🏳️\u{200d}🌈👍🏽",
    "\u{fffd}",
    "plain-text.example/0",
    "  two  spaces  ",
];

/// One string of a few pieces, seldom a very long one. Never empty, and each one another: a number is in it.
pub fn text(random: &mut Rng) -> String {
    if random.u8(..40) == 0 { long(random) } else { some(random) }
}

/// The same, and never long.
pub fn some(random: &mut Rng) -> String {
    let mut text = format!("x{:x}", random.u32(..));
    for _ in 0..random.usize(1..6) {
        text.push_str(PIECES[random.usize(..PIECES.len())]);
    }
    text
}

/// 256 kB of it.
pub fn long(random: &mut Rng) -> String {
    let mut text = some(random);
    let character = ['a', '日', '\u{301}', '\u{1b}', ' ', '/'][random.usize(..6)];
    text.extend(std::iter::repeat_n(character, 256 * 1024 / character.len_utf8()));
    text
}

/// One that is short enough for what holds no long ones.
pub fn short(random: &mut Rng) -> String {
    some(random).chars().take(60).collect()
}

/// The same as bytes that are no UTF-8.
pub fn bytes(random: &mut Rng) -> Vec<u8> {
    let mut bytes = some(random).into_bytes();
    for part in [&b"\xff\xfe"[..], b"\xc3", b"\xed\xa0\x80", b"\x80\x9b31m"] {
        let at = random.usize(..=bytes.len());
        bytes.splice(at..at, part.iter().copied());
    }
    bytes
}
