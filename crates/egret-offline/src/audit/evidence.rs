use crate::audit::bins::Bins;
use crate::audit::inspection::{HUGE, Inspection};
use crate::audit::report::TestRow;
use crate::audit::test_martingale::{MeanTerm, MeanTest, ProposalTest};

/// The mean of (1/p)² over earlier events. It scales the bets where nothing else is known before the action.
#[derive(Default)]
pub(crate) struct RunningScale {
    events: f64,
    squares: f64,
}

impl RunningScale {
    /// The scale from earlier events; then this 1/p is added.
    pub(crate) fn next(&mut self, inverse_density: f64) -> f64 {
        let scale = ((1.0 + self.squares) / (1.0 + self.events)).clamp(1.0, HUGE);
        self.events += 1.0;
        self.squares = (self.squares + inverse_density * inverse_density).min(HUGE);
        scale
    }
}

/// An event as the tests see it.
pub(crate) struct Seen<'a> {
    pub(crate) inspection: &'a Inspection,
    pub(crate) scale: f64,
    pub(crate) sides: &'a [bool],
}

/// The tests, and their average.
pub(crate) struct Evidence {
    rows: Vec<Row>,
    largest: f64,
    alarm_at: Option<u64>,
}

/// One test.
struct Row {
    kind: TestKind,
    largest: f64,
    alarm_at: Option<u64>,
}

enum TestKind {
    /// E[1/p] = 1.
    Inverse(MeanTest),
    /// E[1{a in bin}/p] = μ(bin).
    Bins(Vec<MeanTest>),
    /// The same for the events above the median of each feature: bins of the first feature, then of the next.
    Sides {
        features: usize,
        tests: Vec<MeanTest>,
    },
    /// E[f̂/p] = E_μ f̂, and the same of 1 − f̂.
    Fhat([MeanTest; 2]),
    /// E[K·ẑ/τ] = 1.
    Proposals(ProposalTest),
}

impl Evidence {
    /// Which tests there are is settled before the first event.
    pub(crate) fn new(bins: bool, fhat: bool) -> Self {
        let kinds = [
            Some(TestKind::Inverse(MeanTest::default())),
            bins.then(|| TestKind::Bins(Vec::new())),
            fhat.then(|| TestKind::Fhat(Default::default())),
            Some(TestKind::Proposals(ProposalTest::default())),
        ];
        Self {
            rows: kinds.into_iter().flatten().map(Row::new).collect(),
            largest: 1.0,
            alarm_at: None,
        }
    }

    /// One more test, before the first event.
    pub(crate) fn add_sides(&mut self, features: usize) {
        if 0 < features {
            let tests = Vec::new();
            self.rows
                .push(Row::new(TestKind::Sides { features, tests }));
        }
    }

    /// `at` counts the events, this one included.
    pub(crate) fn step(&mut self, seen: &Seen<'_>, bins: Option<&Bins>, at: u64, alpha: f64) {
        let threshold = self.rows.len() as f64 / alpha;
        for row in &mut self.rows {
            row.step(seen, bins);
            row.largest = row.largest.max(row.value());
            if row.alarm_at.is_none() && threshold <= row.largest {
                row.alarm_at = Some(at);
            }
        }
        self.largest = self.largest.max(self.average());
        if self.alarm_at.is_none() && 1.0 / alpha <= self.largest {
            self.alarm_at = Some(at);
        }
    }

    /// The average is an e-value, since each test is one.
    fn average(&self) -> f64 {
        let sum: f64 = self.rows.iter().map(Row::value).sum();
        sum / self.rows.len() as f64
    }

    /// The e-value of each test, then their average.
    pub(crate) fn e_values(&self) -> Vec<f64> {
        let rows = self.rows.iter().map(Row::value);
        rows.chain([self.average()]).collect()
    }

    /// Each test, with the threshold that Bonferroni asks of it.
    pub(crate) fn rows(&self, alpha: f64) -> Vec<TestRow> {
        let threshold = self.rows.len() as f64 / alpha;
        self.rows.iter().map(|row| row.report(threshold)).collect()
    }

    /// The average of all tests, which raises the alarm.
    pub(crate) fn together(&self, events: u64, alpha: f64) -> TestRow {
        TestRow {
            test: "all together",
            hypothesis: "every density is that of its action",
            events,
            e_value: self.average(),
            largest: self.largest,
            threshold: 1.0 / alpha,
            alarm_at: self.alarm_at,
        }
    }
}

impl Row {
    fn new(kind: TestKind) -> Self {
        Self {
            kind,
            largest: 1.0,
            alarm_at: None,
        }
    }

    fn step(&mut self, seen: &Seen<'_>, bins: Option<&Bins>) {
        let Seen {
            inspection,
            scale,
            sides,
        } = *seen;
        let term = |y: f64, mean: f64, largest_mean: f64| MeanTerm {
            y,
            mean,
            largest_mean,
            scale,
            largest: inspection.largest,
        };
        match &mut self.kind {
            TestKind::Inverse(test) => test.step(&term(inspection.inverse_density, 1.0, 1.0)),
            TestKind::Bins(tests) => {
                let Some(bins) = bins else { return };
                tests.resize_with(bins.len(), MeanTest::default);
                step_bins(tests, bins, inspection, term);
            }
            TestKind::Sides { features, tests } => {
                let Some(bins) = bins else { return };
                tests.resize_with(*features * bins.len(), MeanTest::default);
                let of_features = tests.chunks_exact_mut(bins.len());
                for (tests, _) in of_features.zip(sides).filter(|(_, above)| **above) {
                    step_bins(tests, bins, inspection, term);
                }
            }
            TestKind::Fhat([high, low]) => {
                let Some((fhat, mean)) = inspection.fhat else {
                    return;
                };
                high.step(&term(fhat * inspection.inverse_density, mean, 1.0));
                low.step(&term(
                    (1.0 - fhat) * inspection.inverse_density,
                    1.0 - mean,
                    1.0,
                ));
            }
            TestKind::Proposals(test) => {
                if let Some(drawn) = inspection.proposals {
                    test.step(drawn.proposals * drawn.z / drawn.tau);
                }
            }
        }
    }

    /// The e-value: the average of its martingales.
    fn value(&self) -> f64 {
        let mean = |tests: &[MeanTest]| {
            let sum: f64 = tests.iter().map(|test| test.martingale().value()).sum();
            sum / tests.len() as f64
        };
        match &self.kind {
            TestKind::Inverse(test) => test.martingale().value(),
            TestKind::Bins(tests) | TestKind::Sides { tests, .. } if tests.is_empty() => 1.0,
            TestKind::Bins(tests) | TestKind::Sides { tests, .. } => mean(tests),
            TestKind::Fhat(tests) => mean(tests),
            TestKind::Proposals(test) => test.martingale().value(),
        }
    }

    fn events(&self) -> u64 {
        let one = match &self.kind {
            TestKind::Inverse(test) => test.martingale(),
            TestKind::Bins(tests) => match tests.first() {
                Some(test) => test.martingale(),
                None => return 0,
            },
            // Each feature has its own: a feature that is always the same has none.
            TestKind::Sides { tests, .. } => {
                let events = tests.iter().map(|test| test.martingale().events());
                return events.max().unwrap_or(0);
            }
            TestKind::Fhat([test, _]) => test.martingale(),
            TestKind::Proposals(test) => test.martingale(),
        };
        one.events()
    }

    fn report(&self, threshold: f64) -> TestRow {
        let (test, hypothesis) = match self.kind {
            TestKind::Inverse(_) => ("1/p", "the mean of 1/p is 1"),
            TestKind::Bins(_) => (
                "bins",
                "the mean of 1{a in bin}/p is the mass of the bin, for each bin",
            ),
            TestKind::Sides { .. } => {
                ("sides", "the same, on one side of a feature of the context")
            }
            TestKind::Fhat(_) => ("predictions", "the mean of f̂/p is the mean of f̂ under μ"),
            TestKind::Proposals(_) => (
                "proposals",
                "the mean of proposals · z/τ is 1, and the relative error of z is at most 1",
            ),
        };
        TestRow {
            test,
            hypothesis,
            events: self.events(),
            e_value: self.value(),
            largest: self.largest,
            threshold,
            alarm_at: self.alarm_at,
        }
    }
}

/// Tests the mass of every bin by one event.
fn step_bins(
    tests: &mut [MeanTest],
    bins: &Bins,
    inspection: &Inspection,
    term: impl Fn(f64, f64, f64) -> MeanTerm,
) {
    for (bin, test) in tests.iter_mut().enumerate() {
        let y = if inspection.bin == bin {
            inspection.inverse_density
        } else {
            0.0
        };
        let (mean, largest) = match (&bins.masses, &inspection.masses) {
            (_, Some(drawn)) => (drawn[bin], 1.0),
            (Some(known), None) if inspection.whole => (known[bin], known[bin]),
            _ => return,
        };
        test.step(&term(y, mean, largest));
    }
}
