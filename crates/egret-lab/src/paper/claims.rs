use egret_report::{Claim, ClaimVerdict};

use crate::comparison::counted;
use crate::learner::PaperLearner;
use crate::paper::{COLUMNS, DELTA, Findings, PRINTED, greedy_share, offline_tally};
use crate::run::RunRecord;

/// §4.1: Algorithm 3 takes few draws.
pub(crate) fn table_one(findings: &Findings) -> Claim {
    let mut measured = Vec::new();
    let (mut within, mut kappas, mut kept) = (0, 0, true);
    for printed in PRINTED {
        let rows = || findings.table.iter().filter(|row| row.tau == printed.tau);
        for row in rows() {
            kept &= row.violations as f64 <= 1.5 * DELTA * row.trials as f64 + 1.0;
        }
        let Some(row) = rows().find(|row| row.normalizer == "betting") else {
            continue;
        };
        let [low, high] = printed.draws;
        within += usize::from((low..=high).contains(&row.draws[1]));
        let [low, high] = printed.kappa;
        kappas += usize::from((low..=high).contains(&row.kappa[1]));
        measured.push(format!(
            "τ = {}: {} to {} draws, κ {:.1} to {:.1}",
            row.tau, row.draws[0], row.draws[2], row.kappa[0], row.kappa[2]
        ));
    }
    Claim {
        claimed: "Algorithm 3 takes 18 to 24, 123 to 227 and 2,254 to 2,788 draws at τ = 2, 20 and 200; Theorem 2 takes 942, \
                  13,496 and 177,141."
            .to_owned(),
        measured: format!("Algorithm 3 (betting), {}.", measured.join("; ")),
        verdict: match (within, kappas, kept) {
            (3, 3, true) => ClaimVerdict::Agrees,
            (0, ..) | (.., false) => ClaimVerdict::Differs,
            _ => ClaimVerdict::Partly,
        },
        why: "The paper prints κ from 1.3 to 3.0, 10.2 to 11.8 and 1.8 to 23.6; a median within the printed range agrees. κ can be lower \
              here because β is solved for, not searched within a tolerance. Mixtures of bets give the same guarantee with fewer \
              draws. The fixed sample is an order statistic and takes far fewer draws than Theorem 2. If z is computed exactly, \
              nothing is drawn and κ = 1."
            .to_owned(),
    }
}

/// With fewer seeds a bootstrap interval is not reliable.
const FEW_SEEDS: u64 = 10;

/// `15 data sets`.
fn data_sets(findings: &Findings) -> String {
    counted(findings.datasets.len() as u64, "data set")
}

/// One seed has no interval, so nothing follows from it.
fn unless_one_seed(seeds: u64, verdict: ClaimVerdict) -> ClaimVerdict {
    match seeds {
        1 => ClaimVerdict::NotTested,
        _ => verdict,
    }
}

/// The paper's count of twenty data sets, scaled to the number of data sets here.
fn of_twenty(count: f64, sets: usize) -> usize {
    (count / 20.0 * sets as f64).ceil() as usize
}

/// §4.2: CappedIGW is as good online, or a little better.
pub(crate) fn online(findings: &Findings) -> Claim {
    let count = |kappa_inf: f64, normalizer: &str| {
        let tallies = findings.online.tallies.iter();
        let mut ours = tallies.filter(|tally| {
            tally.kappa_inf == Some(kappa_inf) && tally.normalizer == Some(normalizer)
        });
        ours.next()
            .map(|tally| (tally.wins, tally.ties, tally.losses))
    };
    let told = |name: &str, found: Option<(usize, usize, usize)>| {
        found.map(|(wins, ties, losses)| {
            let (wins, ties) = (counted(wins as u64, "win"), counted(ties as u64, "tie"));
            let losses = match losses {
                1 => "1 loss".to_owned(),
                losses => format!("{losses} losses"),
            };
            format!("{name}: {wins}, {ties}, {losses}")
        })
    };
    let (paper, exact) = (count(4.0, "mixture"), count(1.0, "exact"));
    let lines: Vec<String> = [
        told("κ∞ = 4", paper),
        told("κ∞ = 4 by the paper's Algorithm 3", count(4.0, "betting")),
        told("κ∞ = 2", count(2.0, "mixture")),
        told("κ∞ = 24", count(24.0, "mixture")),
        told("exact", exact),
    ]
    .into_iter()
    .flatten()
    .collect();
    let wanted = of_twenty(14.0, findings.datasets.len());
    let verdict = match paper {
        None => ClaimVerdict::NotTested,
        Some((wins, _, losses)) if wanted <= wins && losses <= 1 => ClaimVerdict::Agrees,
        Some((wins, _, losses)) if losses < wins => ClaimVerdict::Partly,
        Some(_) => ClaimVerdict::Differs,
    };
    let mut why = format!(
        "For {}, the paper's share amounts to {wanted} wins and at most 1 loss at κ∞ = 4.",
        data_sets(findings)
    );
    if verdict != ClaimVerdict::Agrees {
        why += " Possible reasons: here all examples have equal weight, as in the paper's text, but the authors' runs weighted them by min(1/p, 5); \
                and here β is certified, while theirs stopped within 0.01 of certainty. CappedIGW starts slower and overtakes later: see the \
                loss over time in online.parquet.";
    }
    Claim {
        claimed: "14 small wins of CappedIGW (κ∞ = 4), 5 ties, 1 small loss, over 20 data sets."
            .to_owned(),
        measured: format!("On {}, {}.", data_sets(findings), lines.join("; ")),
        verdict: unless_one_seed(findings.size.0, verdict),
        why: qualified(findings, findings.size.0, &why),
    }
}

/// §4.3: more can be learned from CappedIGW's log.
pub(crate) fn offline(findings: &Findings) -> Claim {
    let [wins, ties, losses] = offline_tally(&findings.offline, COLUMNS[0].name);
    let wanted = of_twenty(12.0, findings.datasets.len());
    let verdict = if wanted <= wins {
        ClaimVerdict::Agrees
    } else if losses < wins {
        ClaimVerdict::Partly
    } else {
        ClaimVerdict::Differs
    };
    let mut told = format!(
        "On {}, trained as in the paper: {wins} better, {ties} tied, {losses} worse.",
        data_sets(findings)
    );
    for column in &COLUMNS[1..4] {
        let [wins, ties, losses] = offline_tally(&findings.offline, column.name);
        if 0 < wins + ties + losses {
            told += &format!(" {}: {wins}, {ties}, {losses}.", column.name);
        }
    }
    let seeds = findings.offline.iter().map(|row| row.seeds).max();
    let seeds = seeds.unwrap_or(0);
    Claim {
        claimed: "Models trained on CappedIGW's log are better on 12 of 20 data sets.".to_owned(),
        measured: told,
        verdict: unless_one_seed(seeds as u64, verdict),
        why: qualified(
            findings,
            seeds as u64,
            &format!(
                "For {}, the paper's share amounts to {wanted}. Each result is over {}. Validation rows choose the training method, \
                 and the loss is that on test rows.",
                data_sets(findings),
                counted(seeds as u64, "log")
            ),
        ),
    }
}

/// §4.4: SmoothIGW plays its greedy action ever more often.
pub(crate) fn greedy(findings: &Findings) -> Claim {
    let share = |iteration| -> Vec<f64> {
        let of = |name: &String| greedy_share(&findings.online.records, name, iteration);
        findings.datasets.iter().filter_map(of).collect()
    };
    let shares = share(1_000);
    if shares.is_empty() {
        return Claim {
            claimed: CLAIMED_GREEDY.to_owned(),
            measured: "No run has 1,000 iterations (8,000 decisions).".to_owned(),
            verdict: ClaimVerdict::NotTested,
            why: String::new(),
        };
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let above = shares.iter().filter(|share| 0.8 < **share).count();
    Claim {
        claimed: CLAIMED_GREEDY.to_owned(),
        measured: format!(
            "At iteration 1,000 the share is {:.0}% on average over {} data sets; the smallest is {:.0}%, and {above} are above 80%.",
            100.0 * mean,
            shares.len(),
            100.0 * least
        ),
        verdict: if above == shares.len() {
            ClaimVerdict::Agrees
        } else if 0.8 < mean {
            ClaimVerdict::Partly
        } else {
            ClaimVerdict::Differs
        },
        why: qualified(
            findings,
            findings.size.0,
            "These actions are point masses: they have a loss, but no density and no importance weight.",
        ),
    }
}

const CLAIMED_GREEDY: &str =
    "By the 1,000th iteration more than 80% of SmoothIGW's actions are greedy.";

/// §4.5: a larger κ∞ costs fewer draws.
pub(crate) fn kappa_draws(findings: &Findings) -> Claim {
    let means = [2.0, 4.0, 24.0].map(|kappa_inf| {
        let of = |record: &RunRecord| record.log.map(|log| log.draws.mean);
        mean_of(findings, PaperLearner::mixture(kappa_inf), of)
    });
    let told = means.map(|mean| mean.map_or("–".to_owned(), |mean| format!("{mean:.0}")));
    let [two, four, many] = means.map(|mean| mean.unwrap_or(f64::NAN));
    Claim {
        claimed: "The smaller κ∞, the more draws it takes to find β.".to_owned(),
        measured: format!(
            "{} draws on average at κ∞ = 2, {} at 4, {} at 24.",
            told[0], told[1], told[2]
        ),
        verdict: if two.is_nan() || two == many {
            ClaimVerdict::NotTested
        } else if two > four && four > many {
            ClaimVerdict::Agrees
        } else {
            ClaimVerdict::Differs
        },
        why: "These are draws of the mixture normalizer. The authors' code took 700 to 1,600 draws at κ∞ = 4 and 200 to 250 at 24."
            .to_owned(),
    }
}

/// §4.5: κ∞ hardly matters online.
pub(crate) fn kappa_online(findings: &Findings) -> Claim {
    let loss = |kappa_inf| {
        let loss = |record: &RunRecord| Some(record.loss);
        mean_of(findings, PaperLearner::mixture(kappa_inf), loss).unwrap_or(f64::NAN)
    };
    let [two, four, many] = [2.0, 4.0, 24.0].map(loss);
    let worst = ((many - four).abs()).max((two - four).abs()) / four;
    Claim {
        claimed: "κ∞ has a negligible influence on the online loss.".to_owned(),
        measured: format!(
            "The mean loss over all data sets is {two:.4} at κ∞ = 2, {four:.4} at 4 and {many:.4} at 24: at most {:.1}% from that of κ∞ = 4.",
            100.0 * worst
        ),
        verdict: if worst < 0.02 {
            ClaimVerdict::Agrees
        } else if worst < 0.1 {
            ClaimVerdict::Partly
        } else {
            ClaimVerdict::Differs
        },
        why: "Below 2% counts as negligible, below 10% as partly so. Regret grows as √κ, and a tighter β has a smaller κ; short runs show it."
            .to_owned(),
    }
}

/// §4.5: logs of κ∞ = 4 or 24 are a little better offline.
pub(crate) fn kappa_offline(findings: &Findings) -> Claim {
    let loss = |name: &str| {
        let ours = findings.offline.iter().filter(|row| row.column == name);
        let losses: Vec<f64> = ours.map(|row| row.loss).collect();
        losses.iter().sum::<f64>() / losses.len() as f64
    };
    let [two, four, many] = [COLUMNS[4].name, COLUMNS[0].name, COLUMNS[5].name].map(loss);
    Claim {
        claimed:
            "The offline loss is slightly lower with logs of κ∞ = 4 or 24 than with those of 2."
                .to_owned(),
        measured: format!(
            "The mean test loss over all data sets is {two:.4} at κ∞ = 2, {four:.4} at 4 and {many:.4} at 24."
        ),
        verdict: match (four < two, many < two) {
            _ if two.is_nan() || four.is_nan() || many.is_nan() => ClaimVerdict::NotTested,
            (true, true) => ClaimVerdict::Agrees,
            (false, false) => ClaimVerdict::Differs,
            _ => ClaimVerdict::Partly,
        },
        why: qualified(
            findings,
            findings.size.0,
            "The verdict only compares the means over data sets.",
        ),
    }
}

/// The mean over data sets and seeds.
fn mean_of(
    findings: &Findings,
    learner: PaperLearner,
    number: impl Fn(&RunRecord) -> Option<f64>,
) -> Option<f64> {
    let name = learner.name();
    let ours = findings
        .online
        .records
        .iter()
        .filter(|record| record.learner == name);
    let values: Vec<f64> = ours.filter_map(number).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The reason for a verdict, and what limits it: few seeds, simulated data, short runs.
fn qualified(findings: &Findings, seeds: u64, why: &str) -> String {
    let (_, decisions) = findings.size;
    let mut why = why.to_owned();
    if seeds < FEW_SEEDS {
        why += &format!(
            " With {} the intervals are too narrow to rely on: chance alone gives wins and losses.",
            counted(seeds, "seed")
        );
    }
    if findings.simulated {
        why +=
            " These are simulated problems, not the paper's data: the verdict holds for them only.";
    }
    if decisions < 40_000 {
        why += &format!(
            " These runs have {} decisions, the paper's up to 80,000: the verdict holds for the beginning of learning.",
            egret_report::numerals::thousands(decisions as f64)
        );
    }
    why
}
