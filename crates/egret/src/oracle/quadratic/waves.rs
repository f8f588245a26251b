use crate::numeric::{EventRng, normals::Normals};

/// cos(ω·(s, u) + b)/√F, with the entries of ω normal and b uniform.
#[derive(Debug)]
pub(super) struct Waves {
    /// F entries for each sum of the context, then F for each feature of the action.
    omega: Vec<f64>,
    shifts: Vec<f64>,
}

impl Waves {
    pub(super) fn new(inputs: usize, cosines: usize, seed: u64) -> Self {
        let mut rng = EventRng::before_events(seed);
        let mut shifts = vec![0.0; cosines];
        rng.fill_unit(&mut shifts);
        for shift in &mut shifts {
            *shift *= std::f64::consts::TAU;
        }
        let mut normals = Normals::new();
        let sd = 2.0 / (inputs.max(1) as f64).sqrt();
        let omega = (0..cosines * inputs).map(|_| sd * normals.next(&mut rng));
        Self {
            omega: omega.collect(),
            shifts,
        }
    }

    /// Appends b + ω·s.
    pub(super) fn append_shifts(&self, sums: &[f64], out: &mut Vec<f64>) {
        let start = out.len();
        out.extend_from_slice(&self.shifts);
        let rows = self.omega.chunks_exact(self.shifts.len().max(1));
        for (sum, row) in sums.iter().zip(rows) {
            for (shift, omega) in out[start..].iter_mut().zip(row) {
                *shift += sum * omega;
            }
        }
    }

    /// ω of the features of actions, which stand after so many sums.
    pub(super) fn of_actions(&self, sums: usize) -> &[f64] {
        &self.omega[sums * self.shifts.len()..]
    }
}
