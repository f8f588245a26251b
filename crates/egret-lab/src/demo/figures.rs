use egret::{Igw, Model};
use egret_report::{
    Axis, Colour, ConfidenceInterval, IntervalChart, IntervalRow, Line, LineChart, Picture, Series,
};

use super::learning::{Played, Run};
use super::policies::Weights;
use super::shop::{Customer, PRICES, mean_of};
use super::{DemoError, Findings, earned};

/// The pictures of the demo, named as their files.
pub struct Figures {
    pub learning: Picture,
    pub policies: Picture,
    pub decision: Picture,
    pub densities: Picture,
}

pub fn all(findings: &Findings, run: &Run, customers: &[Customer]) -> Result<Figures, DemoError> {
    let last = customers.len() - 1;
    let one = OneDecision::new(&run.before_last, &customers[last], &run.played[last])?;
    Ok(Figures {
        learning: learning(findings, run, customers)?,
        policies: policies(findings)?,
        decision: one.revenue()?,
        densities: one.densities()?,
    })
}

/// Points of a curve: each is the mean of as many customers.
const BLOCKS: usize = 80;

/// What each policy earned from the customers of a block.
fn learning(findings: &Findings, run: &Run, customers: &[Customer]) -> Result<Picture, DemoError> {
    let size = customers.len().div_ceil(BLOCKS);
    let played: Vec<f64> = earned(run, customers).collect();
    let line = |name: &str, colour, of_block: &dyn Fn(usize, &[Customer]) -> f64| Line {
        name: name.to_owned(),
        colour,
        points: customers
            .chunks(size)
            .enumerate()
            .map(|(place, block)| {
                let end = (place * size + block.len()) as f64;
                (end, of_block(place, block))
            })
            .collect(),
        band: Vec::new(),
    };
    let egret = |place: usize, block: &[Customer]| {
        let own = &played[place * size..place * size + block.len()];
        own.iter().sum::<f64>() / block.len() as f64
    };
    let fixed = findings.fixed_price;
    let chart = LineChart {
        title: "What each customer brought, on average".to_owned(),
        subtitle: format!("Means over {size} customers each, as they came"),
        x: Axis::linear("customers"),
        y: Axis::linear("revenue per customer"),
        lines: vec![
            line("egret, learning", Colour::Blue, &egret),
            line(
                "best price for each customer",
                Colour::Green,
                &|_, block| mean_of(block, Customer::best),
            ),
            line(
                &format!("{fixed} for everyone, best fixed price"),
                Colour::Vermilion,
                &|_, block| mean_of(block, |customer| customer.expected(fixed)),
            ),
            line("prices at random", Colour::Grey, &|_, block| {
                mean_of(block, |customer| customer.expected_on(PRICES))
            }),
        ],
        reference: None,
    };
    Ok(chart.draw()?)
}

/// Each policy's interval with either kind of weights, beside its true value.
fn policies(findings: &Findings) -> Result<Picture, DemoError> {
    let mut rows: Vec<IntervalRow> = Vec::new();
    for pair in findings.ope.chunks(2) {
        debug_assert!(pair[0].weights == Weights::Correct);
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
            label: pair[0].policy.clone(),
            values,
            note: String::new(),
        });
    }
    let chart = IntervalChart {
        title: "What prices that nobody tried would have earned".to_owned(),
        subtitle: "Estimated from the log, with 95% intervals".to_owned(),
        axis: Axis::linear("revenue per customer"),
        series: vec![
            Series::new("truth", Colour::Black),
            Series::new("propensities as egret logs them", Colour::Blue),
            Series::new("propensities as the paper logs them", Colour::Vermilion),
        ],
        rows,
        ..IntervalChart::default()
    };
    Ok(chart.draw()?)
}

/// One decision in detail: curves over all prices.
struct OneDecision {
    customer: u64,
    prices: Vec<f64>,
    /// Expected revenue, which the learner does not know.
    truth: Vec<f64>,
    /// What the learner believes.
    predicted: Vec<f64>,
    /// (1 − ε)·g/z + ε, the density in the log.
    density: Vec<f64>,
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
        let step = (PRICES.1 - PRICES.0) / POINTS as f64;
        let prices: Vec<f64> = (0..=POINTS).map(|n| PRICES.0 + step * n as f64).collect();
        let x = customer.features.clone().into();
        let fhats = model.learner().predict(&x, &prices)?;
        let density = decision.propensity.density();
        Ok(Self {
            customer: decision.event,
            truth: prices
                .iter()
                .map(|&price| customer.expected(price))
                .collect(),
            predicted: model.predict(&x, &prices)?,
            density: fhats
                .iter()
                .map(|&fhat| {
                    let weight = igw.weight(fhat, capped.certificate.beta) / capped.z.value;
                    (1.0 - capped.uniform) * weight + capped.uniform
                })
                .collect(),
            played: (
                decision.action,
                density.expect("CappedIGW always has a density").get(),
            ),
            prices,
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

    fn revenue(&self) -> Result<Picture, DemoError> {
        let chart = LineChart {
            title: format!("Customer {}: what is believed", self.customer),
            x: Axis::linear("price"),
            y: Axis::linear("revenue"),
            lines: vec![
                self.line("learned so far", &self.predicted, Colour::Blue),
                self.line("the truth", &self.truth, Colour::Black),
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
            title: format!("Customer {}: how the price is drawn", self.customer),
            x: Axis::linear("price"),
            y: Axis::log("density against prices at random"),
            lines: vec![
                played,
                self.line("the density that is logged", &self.density, Colour::Blue),
            ],
            ..LineChart::default()
        };
        Ok(chart.draw()?)
    }
}
