use std::convert::Infallible;

use crate::event::{Action, Batch, action::as_action};
use crate::measure::Catalogue;
use crate::normalizer::exact::{self, TOLERANCE, solve};
use crate::numeric::EventRng;
use crate::oracle::{LossCurve, NanPrediction};
use crate::sampling::{Igw, proposer::Proposals, rejection_sampler::Accepted};

/// Solves z(β) = Σ μᵢ g(aᵢ; β) = 1 over all items of a catalogue, and samples from the result.
pub(crate) struct ExactCatalogue<'a, X: ?Sized, A: Action> {
    pub catalogue: &'a Catalogue,
    pub curve: &'a LossCurve<'a, X, A>,
}

impl<X: ?Sized, A: Action> ExactCatalogue<'_, X, A> {
    /// Writes the predictions of all items to `work` and their probabilities to `masses`.
    pub(crate) fn predict_all(
        &self,
        masses: &mut Vec<f64>,
        work: &mut Proposals<A>,
    ) -> Result<(), NanPrediction> {
        work.actions.clear();
        for item in self.catalogue.items() {
            let action = as_action(item).expect("the actions of a catalogue are items");
            work.actions.push(&action);
        }
        self.curve.predict(&work.actions, &mut work.fhats)?;
        masses.clear();
        masses.extend(
            self.catalogue
                .items()
                .map(|item| self.catalogue.probability(item)),
        );
        Ok(())
    }

    /// β with z(β) = 1, and z.
    pub(crate) fn beta(&self, igw: &Igw, masses: &[f64], fhats: &[f64]) -> (f64, f64) {
        let least = fhats.iter().copied().fold(1.0, f64::min);
        let at = |beta| exact::weighted(igw.tau(), igw.gamma(), beta, masses, fhats);
        let Ok(found) = solve::<Infallible>(igw, least, TOLERANCE, |beta| Ok(at(beta)));
        found
    }

    /// Draws an item with probability μᵢ g(aᵢ; β)/z.
    pub(crate) fn sample(
        &self,
        igw: &Igw,
        (beta, z): (f64, f64),
        rng: &mut EventRng,
        masses: &[f64],
        work: &Proposals<A>,
    ) -> Accepted<A> {
        let mut left = rng.unit() * z;
        let last = masses.len() - 1;
        let index = masses[..last]
            .iter()
            .zip(&work.fhats)
            .position(|(mass, &fhat)| {
                left -= mass * igw.weight(fhat, beta);
                left <= 0.0
            })
            .unwrap_or(last);
        Accepted {
            action: work.actions.get(index),
            fhat: work.fhats[index],
            proposals: 1,
        }
    }
}
