//! Worlds of the lab, whose truth is known.

use egret::ActionSpace;
use egret_lab::{NOISY_WORLDS, NoisyRounds, NoisyWorld, World};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::error::EgretError;
use crate::space::PySpace;

/// The rounds of a world: in each a context, and for every action a noisy loss whose mean is known.
#[pyclass(frozen, module = "egret", name = "World")]
pub struct PyWorld {
    world: NoisyWorld,
    rounds: NoisyRounds,
}

impl PyWorld {
    fn check(&self, round: usize) -> PyResult<usize> {
        let rounds = self.rounds.rounds();
        match round < rounds {
            true => Ok(round),
            false => Err(PyIndexError::new_err(format!("there are {rounds} rounds"))),
        }
    }
}

#[pymethods]
impl PyWorld {
    #[new]
    #[pyo3(signature = (name, rounds, seed=0))]
    fn new(py: Python<'_>, name: &str, rounds: usize, seed: u64) -> PyResult<Self> {
        let world = NoisyWorld::named(name).ok_or_else(|| {
            let names = NOISY_WORLDS.map(|world| world.name).join(", ");
            EgretError::new_err(format!("no world is called {name:?}; there are {names}"))
        })?;
        let rounds = py.detach(|| world.known_rounds(seed, rounds));
        Ok(Self { world, rounds })
    }

    /// Name and formula of each.
    #[staticmethod]
    fn all() -> Vec<(&'static str, &'static str)> {
        NOISY_WORLDS.map(|world| (world.name, world.about)).to_vec()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.world.name
    }

    /// The mean loss in words and a formula.
    #[getter]
    fn about(&self) -> &'static str {
        self.world.about
    }

    /// Which actions there are.
    #[getter]
    fn space(&self) -> PySpace {
        let (space, embeddings) = self.world.interval().into_parts();
        PySpace { space, embeddings }
    }

    fn __len__(&self) -> usize {
        self.rounds.rounds()
    }

    /// What is known before the decision.
    fn context(&self, round: usize) -> PyResult<Vec<f64>> {
        let context = self.rounds.context(self.check(round)?);
        Ok(context.as_dense().unwrap_or_default().to_vec())
    }

    /// The loss of an action, noise included. Asking again gives the same loss.
    fn loss(&self, round: usize, action: f64) -> PyResult<f64> {
        Ok(self.rounds.loss(self.check(round)?, &action).get())
    }

    /// Its mean.
    fn mean_loss(&self, round: usize, action: f64) -> PyResult<f64> {
        Ok(self.rounds.mean_loss(self.check(round)?, action))
    }

    /// An action of the least mean loss.
    fn best_action(&self, round: usize) -> PyResult<f64> {
        Ok(self.rounds.best_action(self.check(round)?))
    }
}
