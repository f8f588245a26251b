use egret::{Igw, Model};
use egret_report::{
    Axis, Colour, ConfidenceInterval, IntervalChart, IntervalRow, Line, LineChart, Picture, Series,
};

use super::policies::Weights;
use super::shop::{Played, Runs};
use super::{Curves, DemoError, Findings};
use crate::environment::Customer;

/// The pictures of the demo, named as their files.
pub struct Figures {
    pub learning: Picture,
    pub losses: Picture,
    pub densities: Picture,
    pub policies: Picture,
}

pub fn all(
    curves: &Curves,
    findings: &Findings,
    runs: &Runs,
    customers: &[Customer],
) -> Result<Figures, DemoError> {
    let (made, model) = &runs.capped.before_last;
    let one = OneDecision::new(model, &customers[*made], &runs.capped.played[*made])?;
    Ok(Figures {
        learning: learning(curves, findings.best_smooth_tau)?,
        losses: one.losses()?,
        densities: one.densities()?,
        policies: policies(findings)?,
    })
}

/// The mean expected loss after each decision.
fn learning(curves: &Curves, best_smooth_tau: f64) -> Result<Picture, DemoError> {
    let decisions = curves.capped_igw.len();
    // The first few decisions alone say little: each point is a mean over at least a step.
    let step = (decisions / 400).max(1);
    let line = |name: String, curve: &[f64], colour| Line {
        name,
        colour,
        points: (1..=decisions / step)
            .map(|k| ((k * step) as f64, curve[k * step - 1]))
            .collect(),
        band: Vec::new(),
    };
    let best = format!("best {best_smooth_tau}-smooth");
    let chart = LineChart {
        title: "What each learner paid".to_owned(),
        subtitle: "The best smooth policy knows what each customer is worth".to_owned(),
        x: Axis::linear("decisions"),
        y: Axis::linear("mean expected loss so far"),
        lines: vec![
            line(
                "CappedIGW, β by draws".into(),
                &curves.capped_igw,
                Colour::Blue,
            ),
            line(
                "CappedIGW, β computed".into(),
                &curves.capped_igw_exact,
                Colour::Sky,
            ),
            line("SmoothIGW".into(), &curves.smooth_igw, Colour::Vermilion),
            line("uniform prices".into(), &curves.uniform, Colour::Grey),
            line(best, &curves.best_smooth, Colour::Green),
        ],
        reference: None,
    };
    Ok(chart.draw()?)
}

/// Each policy's interval with either kind of weights, beside its true value.
fn policies(findings: &Findings) -> Result<Picture, DemoError> {
    let mut rows: Vec<IntervalRow> = Vec::new();
    for pair in findings.ope.chunks(2) {
        let truth = pair[0].truth;
        let mut values = vec![Some(ConfidenceInterval {
            low: truth,
            point: truth,
            high: truth,
        })];
        values.extend(pair.iter().map(|row| {
            Some(ConfidenceInterval {
                low: row.low,
                point: row.estimate,
                high: row.high,
            })
        }));
        rows.push(IntervalRow {
            label: pair[0].policy.to_owned(),
            values,
            note: String::new(),
        });
    }
    debug_assert!(
        findings
            .ope
            .iter()
            .step_by(2)
            .all(|row| row.weights == Weights::Correct)
    );
    let chart = IntervalChart {
        title: "Policies that nobody played, evaluated from CappedIGW's log".to_owned(),
        subtitle: "95% intervals".to_owned(),
        axis: Axis::linear("mean loss"),
        series: vec![
            Series::new("truth", Colour::Black),
            Series::new("density p, as egret logs it", Colour::Blue),
            Series::new("g, as if κ were 1", Colour::Vermilion),
        ],
        rows,
        ..IntervalChart::default()
    };
    Ok(chart.draw()?)
}

/// One decision in detail: curves over all prices.
struct OneDecision {
    title: String,
    prices: Vec<f64>,
    /// f*, the expected loss, which the learner does not know.
    truth: Vec<f64>,
    /// f̂, the predicted loss.
    predicted: Vec<f64>,
    /// g/ẑ, the density in the log.
    density: Vec<f64>,
    /// g, which the log would state with κ̂ = 1.
    g: Vec<f64>,
    /// The price played, and its density.
    played: (f64, f64),
}

/// Prices that the curves are drawn at.
const POINTS: usize = 400;

impl OneDecision {
    /// `model` made the decision.
    fn new(model: &Model<f64>, customer: &Customer, played: &Played) -> Result<Self, DemoError> {
        let decision = &played.decision;
        let capped = decision.capped_igw.expect("a decision of CappedIGW");
        let igw = Igw::new(decision.tau, decision.gamma)?;
        let prices: Vec<f64> = (0..=POINTS).map(|i| i as f64 / POINTS as f64).collect();
        let predicted = model.predict(&customer.context, &prices)?;
        let beta = capped.certificate.beta;
        let g: Vec<f64> = predicted
            .iter()
            .map(|&fhat| igw.weight(fhat, beta))
            .collect();
        let density = decision
            .propensity
            .density()
            .expect("CappedIGW always has a density");
        Ok(Self {
            title: format!(
                "Customer {} (τ = {:.0}, γ = {:.0})",
                decision.event, decision.tau, decision.gamma
            ),
            truth: prices
                .iter()
                .map(|&price| customer.expected_loss(price))
                .collect(),
            density: g.iter().map(|g| g / capped.z.value).collect(),
            played: (decision.action, density.get()),
            prices,
            predicted,
            g,
        })
    }

    fn line(&self, name: &str, values: &[f64], colour: Colour) -> Line {
        Line {
            name: name.to_owned(),
            colour,
            points: self
                .prices
                .iter()
                .copied()
                .zip(values.iter().copied())
                .collect(),
            band: Vec::new(),
        }
    }

    fn losses(&self) -> Result<Picture, DemoError> {
        let chart = LineChart {
            title: format!("{}: what is believed", self.title),
            x: Axis::linear("price"),
            y: Axis::linear("loss").within(0.0, 1.0),
            lines: vec![
                self.line("f̂, learned so far", &self.predicted, Colour::Blue),
                self.line("f*, the truth", &self.truth, Colour::Black),
            ],
            ..LineChart::default()
        };
        Ok(chart.draw()?)
    }

    fn densities(&self) -> Result<Picture, DemoError> {
        let played = Line {
            name: "the price played".to_owned(),
            colour: Colour::Black,
            points: vec![self.played],
            band: Vec::new(),
        };
        let chart = LineChart {
            title: format!("{}: how the price is drawn", self.title),
            x: Axis::linear("price"),
            y: Axis::log("density against uniform"),
            lines: vec![
                played,
                self.line("p, logged by egret", &self.density, Colour::Blue),
                self.line("g, as if κ were 1", &self.g, Colour::Vermilion),
            ],
            ..LineChart::default()
        };
        Ok(chart.draw()?)
    }
}
