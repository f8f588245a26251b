use egret_report::{
    Axis, ChartError, Colour, ConfidenceInterval, Figure, IntervalChart, IntervalRow, Line,
    LineChart, LinePanels, Page, Part, ScatterChart, ScatterSeries, Section, Series,
};

use crate::comparison::{PairedDifference, counted};
use crate::worlds::study::DEFAULT;
use crate::worlds::{AnyWorld, ChosenPeer, WorldLearner, WorldPeers, WorldRow, WorldStudy};

impl WorldStudy {
    /// A table of all rows.
    pub fn section(&self, rows: &[WorldRow]) -> Section {
        let header = [
            "world",
            "learner",
            "share",
            "interval",
            "default ahead",
            "fall",
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
                        row.ahead.map_or("–".to_owned(), points),
                        format!("{:.1}", row.largest_fall),
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
                "Bootstrap intervals over fewer than ten seeds are too narrow. Default ahead: the share of the default learner minus \
                 this one's, paired by seed. Fall: how far the share of a block of decisions is below that of an earlier one, at most. \
                 Effective: how many of 1,000 actions at random would say as much about the uniform policy as 1,000 of the last \
                 decisions. µs: deciding and learning, per decision."
                    .to_owned(),
            ],
        }
    }

    /// In each world, the default learner against the best of the others; `None` where it plays alone or not at all.
    pub fn standing(&self, rows: &[WorldRow]) -> Option<Section> {
        let mut lines = Vec::new();
        for world in &self.worlds {
            let others = of_world(rows, world).filter(|row| row.ahead.is_some());
            let best = others.reduce(|best, row| if best.share < row.share { row } else { best });
            let default = of_world(rows, world).find(|row| row.learner == DEFAULT);
            if let (Some(best), Some(default)) = (best, default)
                && let Some(ahead) = best.ahead
            {
                lines.push(vec![
                    world.name().to_owned(),
                    best.learner.clone(),
                    format!("{:.1}", default.share),
                    format!("{:.1}", best.share),
                    points(ahead),
                    if ahead.high < -BEHIND {
                        "shown"
                    } else {
                        "not shown"
                    }
                    .to_owned(),
                    format!("{:.1}", default.largest_fall),
                ]);
            }
        }
        let header = [
            "world",
            "best other",
            "default, share",
            "its share",
            "default ahead",
            "more than 3 points behind",
            "default, fall",
        ];
        (!lines.is_empty()).then(|| Section {
            title: "The default learner against the best of the others".to_owned(),
            before: format!(
                "The best of the others is the one with the largest mean share on these seeds. More than 3 points behind is shown if \
                 the whole {:.0}% interval of the paired difference lies below −3.",
                100.0 * Self::CONFIDENCE
            ),
            header: header.map(str::to_owned).to_vec(),
            words: 2,
            rows: lines,
            after: Vec::new(),
        })
    }

    /// The settings of peers that play; `None` without peers.
    fn settings(&self, chosen: &[ChosenPeer]) -> Option<Section> {
        let header = ["world", "learner", "setting", "share on the other seeds"];
        (!chosen.is_empty()).then(|| Section {
            title: "Settings of other libraries".to_owned(),
            before: format!(
                "For each world and learner, the setting with the largest mean share over the last quarter on {} that are not those \
                 of the report.",
                counted(WorldPeers::SEEDS.len() as u64, "seed")
            ),
            header: header.map(str::to_owned).to_vec(),
            words: 3,
            rows: chosen
                .iter()
                .map(|of| {
                    vec![
                        of.world.clone(),
                        of.learner.clone(),
                        of.peer.name.clone(),
                        format!("{:.1}", of.share),
                    ]
                })
                .collect(),
            after: Vec::new(),
        })
    }

    /// A page with the tables, shares and effective events as figures, and the loss over time in each world.
    pub fn report(&self, chosen: &[ChosenPeer], rows: &[WorldRow]) -> Result<Page, ChartError> {
        let mut figures = vec![
            Figure {
                name: "shares".to_owned(),
                caption: "Share of what is possible in each world, with its interval over seeds."
                    .to_owned(),
                alt: "The share of what is possible of each learner in each world".to_owned(),
                picture: self.shares(rows).draw()?,
            },
            Figure {
                name: "losses".to_owned(),
                caption: "Loss over time in each world.".to_owned(),
                alt: "The mean loss of each learner over time, a panel for each world".to_owned(),
                picture: self.losses(rows).draw()?,
            },
        ];
        let effective = self.effective(rows);
        if effective.series.iter().any(|of| !of.points.is_empty()) {
            figures.push(Figure {
                name: "effective".to_owned(),
                caption:
                    "Share and effective events: further up is better play, further right a log that says more."
                        .to_owned(),
                alt: "The share of each learner against its effective events, a point for each world"
                    .to_owned(),
                picture: effective.draw()?,
            });
        }
        let mut tables = Vec::new();
        tables.extend(self.standing(rows));
        tables.push(self.section(rows));
        tables.extend(self.settings(chosen));
        let mut parts = vec![Part {
            heading: "All worlds".to_owned(),
            figures,
            tables,
            ..Part::default()
        }];
        for world in &self.worlds {
            parts.push(self.part(world, rows)?);
        }
        Ok(Page {
            title: "Noisy worlds".to_owned(),
            lead: vec![
                "Worlds whose mean losses are known. On intervals contexts x are uniform on [0, 1]ᵈ, and m = .2 + .6·x₀; worlds with \
                 a slash in their name have the contexts and labels of a data set. Every learner meets the same rounds under the same \
                 seed."
                    .to_owned(),
            ],
            parts,
        })
    }

    /// The learners in the order of rows: their place decides colour and mark.
    fn names(&self) -> Vec<&str> {
        let families = self.peers.iter().flat_map(|peers| &peers.families);
        let mut names: Vec<&str> = self.learners.iter().map(WorldLearner::name).collect();
        for family in families {
            // A learner that plays on intervals and on lists is one.
            if !names.contains(&family.name.as_str()) {
                names.push(&family.name);
            }
        }
        names
    }

    fn shares(&self, rows: &[WorldRow]) -> IntervalChart {
        let value = |world: &AnyWorld, learner: &str| {
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
            series: Series::in_order(self.names()),
            rows: (self.worlds.iter())
                .map(|world| IntervalRow {
                    label: world.name().to_owned(),
                    values: (self.names().into_iter())
                        .map(|learner| value(world, learner))
                        .collect(),
                    note: String::new(),
                })
                .collect(),
            ..IntervalChart::default()
        }
    }

    fn losses(&self, rows: &[WorldRow]) -> LinePanels {
        // A long title is cut at its end: what differs between the worlds of a data set comes first.
        let title = |name: &str| match name.split_once('/') {
            Some((set, outcome)) => format!("{outcome}, {set}"),
            None => name.to_owned(),
        };
        let panel = |world: &AnyWorld| LineChart {
            title: title(world.name()),
            reference: best(rows, world).map(|best| (best, "best".to_owned())),
            ..self.loss(world, rows)
        };
        LinePanels {
            title: "Loss over time".to_owned(),
            subtitle: "true mean loss in each block of decisions, mean over seeds; best: of the best actions, in the last quarter"
                .to_owned(),
            panels: self.worlds.iter().map(panel).collect(),
        }
    }

    fn effective(&self, rows: &[WorldRow]) -> ScatterChart {
        let series = |(place, name): (usize, &str)| ScatterSeries {
            name: name.to_owned(),
            colour: Colour::nth(place),
            points: (rows.iter().filter(|row| row.learner == name))
                .filter_map(|row| Some((row.effective_per_1000?, row.share)))
                .filter(|(effective, _)| 0.0 < *effective)
                .collect(),
        };
        ScatterChart {
            title: "Share and effective events".to_owned(),
            subtitle: "a point for each world; over the last quarter, and in 1,000 of the last 5,000 decisions".to_owned(),
            x: Axis::log("effective events in 1,000"),
            y: Axis::linear("share of what is possible, %"),
            series: self.names().into_iter().enumerate().map(series).collect(),
        }
    }

    fn loss(&self, world: &AnyWorld, rows: &[WorldRow]) -> LineChart {
        let line = |(place, name): (usize, &str)| {
            let row = of_world(rows, world).find(|row| row.learner == name)?;
            Some(Line {
                name: row.learner.clone(),
                colour: Colour::nth(place),
                points: (row.block_losses.iter())
                    .map(|&(until, loss)| (until as f64, loss))
                    .collect(),
                band: Vec::new(),
            })
        };
        LineChart {
            title: world.name().to_owned(),
            subtitle: "true mean loss in each block of decisions, mean over seeds".to_owned(),
            x: Axis::linear("decisions"),
            y: Axis::linear("mean loss"),
            lines: (self.names().into_iter().enumerate())
                .filter_map(line)
                .collect(),
            reference: best(rows, world).map(|best| (best, "best in the last quarter".to_owned())),
        }
    }

    fn part(&self, world: &AnyWorld, rows: &[WorldRow]) -> Result<Part, ChartError> {
        let name = world.name();
        Ok(Part {
            heading: name.to_owned(),
            paragraphs: vec![format!("{}.", world.about())],
            figures: vec![Figure {
                name: format!("{}-loss", name.replace('/', "-")),
                caption: format!("Loss over time in {name}."),
                alt: format!("The mean loss of each learner over time in {name}"),
                picture: self.loss(world, rows).draw()?,
            }],
            ..Part::default()
        })
    }
}

/// How many points behind is too many.
const BEHIND: f64 = 3.0;

/// A difference of shares with its interval.
fn points(difference: PairedDifference) -> String {
    let PairedDifference {
        mean, low, high, ..
    } = difference;
    format!("{mean:+.1} [{low:+.1}, {high:+.1}]")
}

/// The mean loss of the best actions over the last quarter.
fn best(rows: &[WorldRow], world: &AnyWorld) -> Option<f64> {
    of_world(rows, world).next().map(|row| row.best)
}

fn of_world<'a>(rows: &'a [WorldRow], world: &AnyWorld) -> impl Iterator<Item = &'a WorldRow> {
    let name = world.name();
    rows.iter().filter(move |row| row.world == name)
}
