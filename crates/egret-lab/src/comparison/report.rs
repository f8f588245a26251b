use std::collections::BTreeSet;

use egret_report::{
    Axis, ChartError, Colour, ConfidenceInterval, Figure, IntervalChart, IntervalRow, Line,
    LineChart, Page, Part, Section, Series,
};

use crate::comparison::{
    LearnerComparison, LearnerResult, PairedStanding, Problem, Units, counted,
};

/// Percentile intervals over fewer seeds are clearly too narrow.
const FEW_SEEDS: usize = 10;
/// More lines would make a figure unreadable: the best learners are drawn.
const MOST_LINES: usize = 8;
/// With more learners than this there is no common figure, only one for each problem.
const MOST_SERIES: usize = 6;

impl LearnerComparison {
    /// A page that begins with the comparison with the baseline, then has a table and figures for each problem.
    pub fn report(&self, title: &str) -> Result<Page, ChartError> {
        let mut parts = vec![self.summary()?];
        let mut taken = BTreeSet::new();
        for problem in &self.problems {
            let file = file_name(&problem.name, &mut taken);
            parts.push(self.part(problem, &file)?);
        }
        let percent = self.percent();
        let mut lead = vec![format!(
            "The result of a run is the mean outcome over all its decisions, each made before its outcome was known: a loss, where data \
                 have no objective. Intervals are {percent}% bootstrap intervals over seeds. A difference is how much better the \
                 learner is than {}, paired by seed: above 0, the learner is better. If the interval contains 0, it is a tie.",
            self.baseline
        )];
        let losses = |problem: &Problem| Units::of(problem).are_losses();
        if !self.problems.iter().all(losses) {
            lead.push(
                "Where data have an objective, results are in its units. Where objectives differ, the differences of all data \
                 together are shares of each range."
                    .to_owned(),
            );
        }
        Ok(Page {
            title: title.to_owned(),
            lead,
            parts,
        })
    }

    /// The confidence in percent, without rounding errors: 0.55 is 55, not 55.00000000000001.
    fn percent(&self) -> f64 {
        (1e11 * self.confidence).round() / 1e9
    }

    /// The colour of a learner. It is the same in all figures if there are colours for all; else it depends on its place in this
    /// figure.
    fn colour(&self, learner: &str, place: usize) -> Colour {
        let of_all = self.learners.iter().position(|other| other == learner);
        let few = self.learners.len() <= MOST_LINES;
        Colour::nth(of_all.filter(|_| few).unwrap_or(place))
    }

    /// The part on wins, ties and losses over all problems.
    fn summary(&self) -> Result<Part, ChartError> {
        let baseline = &self.baseline;
        let mut part = Part {
            heading: format!("Against {baseline}"),
            ..Part::default()
        };
        if self.tallies.is_empty() {
            part.paragraphs
                .push("There is only one learner, so there is nothing to compare.".to_owned());
        } else {
            part.tables.push(self.tally_table());
        }
        part.paragraphs.extend(self.left_out.iter().cloned());
        if (1..=MOST_SERIES).contains(&self.tallies.len()) {
            let units = Units::shared(&self.problems);
            let chart = self.differences(units);
            if chart
                .rows
                .iter()
                .any(|row| row.values.iter().any(Option::is_some))
            {
                part.figures.push(Figure {
                    name: "differences".to_owned(),
                    caption: if units.are_losses() {
                        format!("Loss of {baseline} minus that of each learner.")
                    } else {
                        format!("How much better each learner is than {baseline}.")
                    },
                    alt: format!(
                        "Paired differences of the {}, each learner against {baseline}",
                        units.word()
                    ),
                    picture: chart.draw()?,
                });
            }
        }
        Ok(part)
    }

    fn tally_table(&self) -> Section {
        Section {
            title: match self.problems.len() {
                1 => "On one data set".to_owned(),
                count => format!("Over {count} data sets"),
            },
            before: "A win is a data set on which the interval of the difference lies above 0; a tie, on which it contains 0; a \
                     loss, on which it lies below 0."
                .to_owned(),
            header: ["learner", "wins", "ties", "losses"]
                .map(str::to_owned)
                .to_vec(),
            words: 1,
            rows: self
                .tallies
                .iter()
                .map(|tally| {
                    let counts = [tally.wins, tally.ties, tally.losses];
                    let mut row = vec![tally.learner.clone()];
                    row.extend(counts.map(|count| count.to_string()));
                    row
                })
                .collect(),
            after: Vec::new(),
        }
    }

    fn differences(&self, units: Units) -> IntervalChart {
        let (baseline, percent) = (&self.baseline, self.percent());
        let others: Vec<&str> = self
            .tallies
            .iter()
            .map(|tally| tally.learner.as_str())
            .collect();
        let value = |problem: &Problem, learner: &str| {
            let difference = problem.against(learner, baseline)?.difference;
            Some(ConfidenceInterval {
                low: units.difference(difference.low.min(difference.mean)),
                point: units.difference(difference.mean),
                high: units.difference(difference.high.max(difference.mean)),
            })
        };
        IntervalChart {
            title: format!("Against {baseline}"),
            subtitle: format!("paired difference over seeds, with {percent}% intervals"),
            axis: Axis::linear(if units.are_losses() {
                format!("loss of {baseline} minus the learner's")
            } else {
                format!("how much better than {baseline}")
            }),
            reference: Some(0.0),
            sides: Some((
                format!("{baseline} is better"),
                "the learner is better".to_owned(),
            )),
            series: others
                .iter()
                .enumerate()
                .map(|(place, learner)| Series::new(*learner, self.colour(learner, place)))
                .collect(),
            rows: self
                .problems
                .iter()
                .map(|problem| IntervalRow {
                    label: problem.name.clone(),
                    values: others
                        .iter()
                        .map(|learner| value(problem, learner))
                        .collect(),
                    note: String::new(),
                })
                .collect(),
        }
    }

    fn part(&self, problem: &Problem, file: &str) -> Result<Part, ChartError> {
        let word = Units::of(problem).word();
        let losses = Figure {
            name: format!("{file}-losses"),
            caption: format!("Mean {word} on {}, with its interval.", problem.name),
            alt: format!("The {word} of each learner on {}", problem.name),
            picture: self.losses(problem).draw()?,
        };
        let mut part = Part {
            heading: problem.name.clone(),
            tables: vec![self.table(problem)],
            ..Part::default()
        };
        match problem.results.iter().map(|result| result.seeds).min() {
            Some(0 | 1) => part.paragraphs.push(
                "With one seed there is no interval: a difference may be due to chance alone."
                    .to_owned(),
            ),
            Some(seeds) if seeds < FEW_SEEDS => part.paragraphs.push(format!(
                "Bootstrap intervals over {seeds} seeds are too narrow: they cover less often than they claim. The paper uses 30 seeds."
            )),
            _ => {}
        }
        let curves = self.curves(problem);
        if !curves.lines.is_empty() {
            let mut caption = format!("Mean {word} so far on {}.", problem.name);
            if MOST_LINES < problem.results.len() {
                caption += &format!(" Only the best {MOST_LINES} learners are drawn.");
            }
            part.figures.push(Figure {
                name: format!("{file}-curves"),
                caption,
                alt: format!("The mean {word} over time on {}", problem.name),
                picture: curves.draw()?,
            });
        }
        part.figures.push(losses);
        Ok(part)
    }

    fn table(&self, problem: &Problem) -> Section {
        let regret = problem.results.iter().any(|result| result.regret.is_some());
        let (percent, units) = (self.percent(), Units::of(problem));
        let mut header = vec![
            "learner".to_owned(),
            "seeds".to_owned(),
            units.word().to_owned(),
            format!("{percent}% interval"),
        ];
        if regret {
            header.push("regret".to_owned());
        }
        header.extend(["µs/decision", "difference", "interval", "standing"].map(str::to_owned));
        let rows = problem
            .results
            .iter()
            .map(|result| self.row(problem, result, regret))
            .collect();
        Section {
            title: problem.name.clone(),
            before: format!(
                "{} in each run.{}",
                counted(problem.decisions, "decision"),
                units.sentence()
            ),
            header,
            words: 1,
            rows,
            after: self.sentences(problem),
        }
    }

    /// Who is better than the baseline on a problem, and by how much.
    fn sentences(&self, problem: &Problem) -> Vec<String> {
        let units = Units::of(problem);
        let (baseline, digits) = (&self.baseline, units.digits());
        let of = |result: &LearnerResult| {
            let learner = &result.learner;
            let pair = problem.against(learner, baseline)?;
            let difference = pair.difference;
            let [mean, low, high] = [difference.mean, difference.low, difference.high]
                .map(|losses| units.difference(losses));
            // How much worse, where it is worse.
            let by = |mean: f64, low: f64, high: f64| {
                format!("by {mean:.digits$}, in [{low:.digits$}, {high:.digits$}]")
            };
            Some(match pair.standing {
                PairedStanding::Win => {
                    format!(
                        "{learner} is better than {baseline}, {}.",
                        by(mean, low, high)
                    )
                }
                PairedStanding::Loss => {
                    format!(
                        "{learner} is worse than {baseline}, {}.",
                        by(-mean, -high, -low)
                    )
                }
                PairedStanding::Tie => {
                    format!("{learner} and {baseline} are not told apart: either may be better.")
                }
            })
        };
        problem.results.iter().filter_map(of).collect()
    }

    fn row(&self, problem: &Problem, result: &LearnerResult, regret: bool) -> Vec<String> {
        let units = Units::of(problem);
        let digits = units.digits();
        let (low, high) = units.interval(result.low, result.high);
        let mut row = vec![
            result.learner.clone(),
            result.seeds.to_string(),
            format!("{:.digits$}", units.value(result.loss)),
            format!("[{low:.digits$}, {high:.digits$}]"),
        ];
        if regret {
            let regret = result.regret.map(|regret| units.difference(regret));
            let regret = regret.map(|regret| format!("{regret:.digits$}"));
            row.push(regret.unwrap_or_default());
        }
        row.push(format!("{:.1}", result.microseconds));
        match problem.against(&result.learner, &self.baseline) {
            Some(pair) => {
                let difference = &pair.difference;
                let [mean, low, high] = [difference.mean, difference.low, difference.high]
                    .map(|losses| units.difference(losses));
                row.push(format!("{mean:+.digits$}"));
                row.push(format!("[{low:+.digits$}, {high:+.digits$}]"));
                let standing = match pair.standing {
                    PairedStanding::Win => "better",
                    PairedStanding::Tie => "tie",
                    PairedStanding::Loss => "worse",
                };
                row.push(standing.to_owned());
            }
            None => row.extend([String::new(), String::new(), String::new()]),
        }
        row
    }

    fn losses(&self, problem: &Problem) -> IntervalChart {
        let (percent, units) = (self.percent(), Units::of(problem));
        let (word, digits) = (units.word(), units.digits());
        IntervalChart {
            title: problem.name.clone(),
            subtitle: format!(
                "mean {word} over {}, {percent}% intervals over seeds",
                counted(problem.decisions, "decision")
            ),
            axis: Axis::linear(format!("mean {word} ({})", units.better())),
            reference: None,
            sides: None,
            series: Series::in_order([word]),
            rows: by_loss(problem)
                .into_iter()
                .map(|result| {
                    let (point, loss) = (units.value(result.loss), result.loss);
                    let (low, high) = units.interval(result.low.min(loss), result.high.max(loss));
                    IntervalRow {
                        label: result.learner.clone(),
                        values: vec![Some(ConfidenceInterval { low, point, high })],
                        note: format!("{point:.digits$}"),
                    }
                })
                .collect(),
        }
    }

    fn curves(&self, problem: &Problem) -> LineChart {
        let units = Units::of(problem);
        let best: Vec<&str> = by_loss(problem)
            .into_iter()
            .take(MOST_LINES)
            .map(|result| result.learner.as_str())
            .collect();
        let lines = problem
            .results
            .iter()
            .filter(|result| best.contains(&result.learner.as_str()) && !result.curve.is_empty())
            .enumerate()
            .map(|(place, result)| Line {
                name: result.learner.clone(),
                colour: self.colour(&result.learner, place),
                points: result
                    .curve
                    .iter()
                    .map(|&(until, loss)| (until as f64, units.value(loss)))
                    .collect(),
                band: Vec::new(),
            })
            .collect();
        LineChart {
            title: problem.name.clone(),
            subtitle: format!("mean {} of all decisions so far, over seeds", units.word()),
            x: Axis::log("decisions"),
            y: Axis::linear(format!("mean {} so far", units.word())),
            lines,
            reference: None,
        }
    }
}

fn by_loss(problem: &Problem) -> Vec<&LearnerResult> {
    let mut results: Vec<&LearnerResult> = problem.results.iter().collect();
    results.sort_by(|one, other| one.loss.total_cmp(&other.loss));
    results
}

/// A file name for a problem: valid on every file system, and unique even if case is ignored.
fn file_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() || "-_.".contains(letter) {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let mut file = plain.clone();
    let mut number = 1;
    while !taken.insert(file.to_ascii_lowercase()) {
        number += 1;
        file = format!("{plain}-{number}");
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{RunRecord, Stretch};

    fn record(learner: &str, seed: u64, loss: f64) -> RunRecord {
        RunRecord {
            environment: "a <b>/c".to_owned(),
            fingerprint: "a".to_owned(),
            learner: learner.to_owned(),
            settings: String::new(),
            seed,
            decisions: 8,
            objective: egret::Objective::LOSS,
            loss,
            regret: (learner == "good").then_some(0.125),
            curve: vec![Stretch {
                until: 8,
                loss,
                point_masses: 0.0,
            }],
            log: None,
            seconds: 0.01,
        }
    }

    fn figures(page: &Page) -> Vec<&str> {
        let figures = page.parts.iter().flat_map(|part| &part.figures);
        figures.map(|figure| figure.name.as_str()).collect()
    }

    #[test]
    fn the_page_has_every_number_and_escapes_names() {
        let records: Vec<RunRecord> = (0..3)
            .flat_map(|seed| [record("base", seed, 0.5), record("good", seed, 0.25)])
            .collect();
        let comparison = LearnerComparison::new(&records, None, 0.9).expect("compared");
        let page = comparison.report("a title").expect("drawn");
        let names = figures(&page);
        assert_eq!(names, ["differences", "a__b__c-curves", "a__b__c-losses"]);
        let (text, html) = (page.text(), page.html());
        for expected in ["+0.2500", "better", "by 0.2500", "0.1250", "1250.0"] {
            assert!(text.contains(expected), "no {expected} in {text}");
            assert!(html.contains(expected), "no {expected}");
        }
        assert!(!html.contains("<b>/c"));
    }

    #[test]
    fn an_objective_sets_units_and_direction() {
        let objective = egret::Objective::maximize(0.0, 50.0).expect("a range");
        let records: Vec<RunRecord> = (0..3)
            .flat_map(|seed| [record("base", seed, 0.5), record("good", seed, 0.25)])
            .map(|record| RunRecord {
                objective,
                ..record
            })
            .collect();
        let comparison = LearnerComparison::new(&records, None, 0.9).expect("compared");
        let page = comparison.report("a title").expect("drawn");
        let (text, html) = (page.text(), page.html());
        // A loss of 0.25 is 37.5 of 50, and 12.5 more than a loss of 0.5; the regret of 0.125 is 6.25.
        for expected in [
            "37.500",
            "25.000",
            "+12.500",
            "6.250",
            "good is better than base, by 12.500, in [12.500, 12.500].",
            "maximize:0,50",
        ] {
            assert!(text.contains(expected), "no {expected} in {text}");
        }
        assert!(html.contains("higher is better") && !html.contains("lower is better"));
        let good = comparison.problems[0].result("good").expect("it played");
        assert_eq!((good.loss, good.outcome.mean), (0.25, 37.5));
        assert!(good.outcome.low <= 37.5 && 37.5 <= good.outcome.high);
        // Runs of another objective are of another problem.
        let mut mixed = records.clone();
        mixed.push(record("good", 9, 0.25));
        let comparison = LearnerComparison::new(&mixed, None, 0.9).expect("compared");
        assert_eq!(comparison.problems.len(), 2);
        assert!(Units::shared(&comparison.problems).are_losses());
    }

    #[test]
    fn every_problem_has_its_own_figures() {
        let names = ["a b", "a_b", "a_b-2", "A_B", "other"];
        let records: Vec<RunRecord> = names
            .iter()
            .map(|name| RunRecord {
                environment: (*name).to_owned(),
                ..record("one", 1, 0.5)
            })
            .collect();
        let comparison = LearnerComparison::new(&records, None, 0.9).expect("compared");
        let page = comparison.report("a title").expect("drawn");
        let files = [
            "a_b-curves",
            "a_b-losses",
            "a_b-2-curves",
            "a_b-2-losses",
            "a_b-2-2-curves",
            "a_b-2-2-losses",
            "A_B-3-curves",
            "A_B-3-losses",
            "other-curves",
            "other-losses",
        ];
        assert_eq!(figures(&page), files);
    }

    #[test]
    fn a_learner_has_the_same_colour_in_all_figures() {
        let on = |environment: &str, learner: &str| RunRecord {
            environment: environment.to_owned(),
            ..record(learner, 1, 0.5)
        };
        // On the second problem the second learner is missing.
        let records = [
            on("all", "one"),
            on("all", "two"),
            on("all", "three"),
            on("some", "one"),
            on("some", "three"),
        ];
        let comparison = LearnerComparison::new(&records, None, 0.9).expect("compared");
        let expected = |learner: &str| match learner {
            "one" => Colour::nth(0),
            "two" => Colour::nth(1),
            _ => Colour::nth(2),
        };
        let mut seen = 0;
        for problem in &comparison.problems {
            for line in comparison.curves(problem).lines {
                assert_eq!(line.colour, expected(line.name.as_str()), "{}", line.name);
                seen += 1;
            }
        }
        for series in comparison
            .differences(Units::shared(&comparison.problems))
            .series
        {
            assert_eq!(series.colour, expected(series.name.as_str()));
            seen += 1;
        }
        assert_eq!(seen, 3 + 2 + 2);
    }

    #[test]
    fn percentages_have_no_rounding_errors() {
        let records = [
            record("base", 1, 0.5),
            record("good", 1, 0.25),
            record("good", 2, 0.25),
        ];
        for (confidence, percent) in [(0.55, "55%"), (0.9, "90%"), (0.999, "99.9%"), (0.07, "7%")] {
            let comparison = LearnerComparison::new(&records, None, confidence).expect("compared");
            let html = comparison.report("a title").expect("drawn").html();
            for expected in [
                format!("{percent} interval"),
                format!("are {percent} bootstrap"),
            ] {
                assert!(html.contains(&expected), "no {expected}");
            }
            assert!(html.contains("share 1 seed; 1 run without a partner left out"));
        }
    }

    #[test]
    fn one_learner_and_many_are_drawn_too() {
        let many: Vec<RunRecord> = (0..20)
            .map(|place| record(&format!("learner {place}"), 1, 0.01 * place as f64))
            .collect();
        for records in [&many[..], &many[..1]] {
            let comparison = LearnerComparison::new(records, None, 0.9).expect("compared");
            let page = comparison.report("a title").expect("drawn");
            assert_eq!(figures(&page).len(), 2);
            assert!(page.text().contains("With one seed there is no interval"));
        }
    }
}
