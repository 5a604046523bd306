//! A series of cases: how many, from which seed, for how long, and what came of them.

use std::{
    fmt,
    io::Write as _,
    time::{Duration, Instant},
};

/// The long form instead of the quick one.
const LONG: &str = "PURGE_TRUST_LONG";
/// The seed from which everything random follows.
const SEED: &str = "PURGE_TRUST_SEED";
/// How many cases, whatever the form.
const CASES: &str = "PURGE_TRUST_CASES";
/// Minutes after which no further case of a series begins.
const MINUTES: &str = "PURGE_TRUST_MINUTES";

/// How far one series goes.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: &'static str,
    pub seed: u64,
    pub cases: usize,
    begun: Instant,
    until: Option<Instant>,
}

impl Series {
    /// A series with so many cases in its quick form, and in its long one.
    #[must_use]
    pub fn new(name: &'static str, quick: usize, long: usize) -> Self {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let begun = Instant::now();
        let cases = number(CASES).and_then(|cases| usize::try_from(cases).ok());
        Self {
            name,
            // The gate must not fail by chance; a long run looks where nobody has looked.
            seed: number(SEED).unwrap_or_else(|| if is_long() { fastrand::u64(..) } else { 1 }),
            cases: cases.unwrap_or(if is_long() { long } else { quick }),
            begun,
            until: number(MINUTES).map(|minutes| begun + Duration::from_secs(minutes * 60)),
        }
    }

    /// The numbers of the cases, until the time is over.
    pub fn cases(&self) -> impl Iterator<Item = usize> {
        (0..self.cases).take_while(|_| !self.is_over())
    }

    /// Whether its time is over, for series whose cases do not come one after the other.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// The generator of one case: the same for the same seed, whichever cases ran before it.
    #[must_use]
    pub fn random(&self, case: usize) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed.wrapping_add((case as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// Prints what came of it, past the capture of `cargo test`: the figures are the result.
    pub fn report(&self, figures: impl fmt::Display) {
        let Self { name, seed, begun, .. } = self;
        let line = format!("trust: {name}: {figures} ({SEED}={seed}, {:.0?})\n", begun.elapsed());
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
}

/// Whether the long form was asked for.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os(LONG).is_some_and(|value| !value.is_empty() && value != "0")
}
