use egret_report::{
    Axis, ChartError, Colour, ConfidenceInterval, Figure, IntervalChart, IntervalRow, Line,
    LineChart, Page, Part, Section, Series,
};

use crate::comparison::counted;
use crate::learner::LearnerFactory;
use crate::worlds::{NoisyWorld, WorldRow, WorldStudy};

impl WorldStudy {
    /// A table of all rows.
    pub fn section(&self, rows: &[WorldRow]) -> Section {
        let header = [
            "world",
            "learner",
            "share",
            "interval",
            "loss",
            "best",
            "uniform",
            "effective",
            "µs",
        ];
        Section {
            title: "Share of what is possible".to_owned(),
            before: format!(
                "Share: 0 is uniform play, 100 the best action in each round; true means over the last quarter of {}, mean of {} \
                 with a {:.0}% bootstrap interval.",
                counted(self.decisions as u64, "decision"),
                counted(self.seeds, "seed"),
                100.0 * Self::CONFIDENCE
            ),
            header: header.map(str::to_owned).to_vec(),
            words: 2,
            rows: rows
                .iter()
                .map(|row| {
                    vec![
                        row.world.clone(),
                        row.learner.clone(),
                        format!("{:.1}", row.share),
                        format!("[{:.1}, {:.1}]", row.low, row.high),
                        format!("{:.4}", row.late),
                        format!("{:.4}", row.best),
                        format!("{:.4}", row.uniform),
                        row.effective_per_1000
                            .map_or("–".to_owned(), |events| format!("{events:.1}")),
                        format!("{:.1}", row.microseconds),
                    ]
                })
                .collect(),
            after: vec![
                "Bootstrap intervals over fewer than ten seeds are too narrow. Effective: how many of 1,000 actions at random would say as much about the uniform policy as 1,000 of the last \
                 decisions. µs: deciding and learning, per decision."
                    .to_owned(),
            ],
        }
    }

    /// A page with the table, the shares as a figure, and the loss over time in each world.
    pub fn report(&self, rows: &[WorldRow]) -> Result<Page, ChartError> {
        let mut parts = vec![Part {
            heading: "All worlds".to_owned(),
            figures: vec![Figure {
                name: "shares".to_owned(),
                caption: "Share of what is possible in each world, with its interval over seeds."
                    .to_owned(),
                alt: "The share of what is possible of each learner in each world".to_owned(),
                picture: self.shares(rows).draw()?,
            }],
            tables: vec![self.section(rows)],
            ..Part::default()
        }];
        for world in &self.worlds {
            parts.push(self.part(world, rows)?);
        }
        Ok(Page {
            title: "Noisy worlds".to_owned(),
            lead: vec![
                "Worlds on an interval whose mean losses are known. Contexts x are uniform on [0, 1]ᵈ, and m = .2 + .6·x₀. Every \
                 learner meets the same rounds under the same seed."
                    .to_owned(),
            ],
            parts,
        })
    }

    fn shares(&self, rows: &[WorldRow]) -> IntervalChart {
        let value = |world: &NoisyWorld, learner: &str| {
            let row = of_world(rows, world).find(|row| row.learner == learner)?;
            Some(ConfidenceInterval {
                low: row.low.min(row.share),
                point: row.share,
                high: row.high.max(row.share),
            })
        };
        IntervalChart {
            title: "Share of what is possible".to_owned(),
            subtitle: "true means over the last quarter of a run".to_owned(),
            axis: Axis::linear("share, %"),
            series: Series::in_order(self.learners.iter().map(LearnerFactory::name)),
            rows: (self.worlds.iter())
                .map(|world| IntervalRow {
                    label: world.name.to_owned(),
                    values: (self.learners.iter())
                        .map(|learner| value(world, learner.name()))
                        .collect(),
                    note: String::new(),
                })
                .collect(),
            ..IntervalChart::default()
        }
    }

    fn part(&self, world: &NoisyWorld, rows: &[WorldRow]) -> Result<Part, ChartError> {
        let name = world.name;
        let line = |(place, row): (usize, &WorldRow)| Line {
            name: row.learner.clone(),
            colour: Colour::nth(place),
            points: (row.block_losses.iter())
                .map(|&(until, loss)| (until as f64, loss))
                .collect(),
            band: Vec::new(),
        };
        let best = of_world(rows, world).next().map(|row| row.best);
        let chart = LineChart {
            title: name.to_owned(),
            subtitle: "true mean loss in each block of decisions, mean over seeds".to_owned(),
            x: Axis::linear("decisions"),
            y: Axis::linear("mean loss"),
            lines: of_world(rows, world).enumerate().map(line).collect(),
            reference: best.map(|best| (best, "best in the last quarter".to_owned())),
        };
        Ok(Part {
            heading: name.to_owned(),
            paragraphs: vec![format!("{}.", world.about)],
            figures: vec![Figure {
                name: format!("{name}-loss"),
                caption: format!("Loss over time in {name}."),
                alt: format!("The mean loss of each learner over time in {name}"),
                picture: chart.draw()?,
            }],
            ..Part::default()
        })
    }
}

fn of_world<'a>(rows: &'a [WorldRow], world: &NoisyWorld) -> impl Iterator<Item = &'a WorldRow> {
    let name = world.name;
    rows.iter().filter(move |row| row.world == name)
}
