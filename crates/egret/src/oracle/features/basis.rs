use std::f64::consts::{PI, TAU};

use crate::event::{Action, Batch};
use crate::numeric::{
    EventRng, OutOfRange,
    elementary::cos,
    lanes::{self, LANES},
    normals::Normals,
};
use crate::oracle::{ActionFeatures, ItemTree, features::limits::check_count};

/// ψ(a), a fixed list of functions of the action; a curve of losses is a weighted sum of them.
///
/// | action      | ψ                                                              |
/// |-------------|----------------------------------------------------------------|
/// | one number  | cos(πju)/(1 + j),  j = 0…F − 1                                  |
/// | m numbers   | 1, uᵢ/√m, (uᵢ² − 1)/√m, and F of cos(ω·u + b)/√F                |
///
/// u is φ(a) scaled: to [0, 1] for one number, to mean 0 and deviation 1 under μ for many. The entries of ω are
/// normal with variance 1/m, b is uniform on [0, 2π).
#[derive(Debug, Clone)]
pub(crate) struct ActionBasis<E> {
    actions: E,
    scaling: Vec<Scaling>,
    cosines: usize,
    /// F entries for each number of an action.
    omega: Vec<f64>,
    shifts: Vec<f64>,
    /// 1/(1 + j).
    shares: Vec<f64>,
}

/// How a feature of actions is scaled: u = (φ − shift) · factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    /// Subtracted first.
    pub shift: f64,
    /// Multiplied after that.
    pub factor: f64,
}

impl Scaling {
    /// u = φ.
    pub(crate) const NONE: Self = Self {
        shift: 0.0,
        factor: 1.0,
    };
}

impl<E> ActionBasis<E> {
    /// A tree over items by their features, if the actions are items.
    pub(crate) fn item_tree<A: Action>(&self) -> Option<&ItemTree>
    where
        E: ActionFeatures<A>,
    {
        self.actions.item_tree()
    }

    /// With F `cosines`; one scaling for each number of an action.
    pub(crate) fn new<A: Action>(
        actions: E,
        scaling: Vec<Scaling>,
        cosines: usize,
        seed: u64,
    ) -> Result<Self, OutOfRange>
    where
        E: ActionFeatures<A>,
    {
        let m = actions.dim();
        check_count("action features", m)?;
        OutOfRange::unless(
            (1..=1 << 12).contains(&cosines),
            "cosines",
            cosines as f64,
            "[1, 4096]",
        )?;
        OutOfRange::unless(
            scaling.len() == m,
            "scalings",
            scaling.len() as f64,
            "one for each action feature",
        )?;
        for Scaling { shift, factor } in &scaling {
            OutOfRange::unless(shift.abs() <= 1e30, "shift", *shift, "[-1e30, 1e30]")?;
            let allowed = factor.abs() <= f64::MAX;
            OutOfRange::unless(allowed, "factor", *factor, "(-inf, inf)")?;
        }
        let (mut omega, mut shifts) = (Vec::new(), Vec::new());
        if 1 < m {
            let mut rng = EventRng::before_events(seed);
            shifts.resize(cosines, 0.0);
            rng.fill_unit(&mut shifts);
            for shift in &mut shifts {
                *shift *= TAU;
            }
            let mut normals = Normals::new();
            let sd = 1.0 / (m as f64).sqrt();
            omega.extend((0..cosines * m).map(|_| sd * normals.next(&mut rng)));
        }
        Ok(Self {
            actions,
            scaling,
            cosines,
            omega,
            shifts,
            shares: (0..cosines).map(|j| 1.0 / (1.0 + j as f64)).collect(),
        })
    }

    /// How many numbers an action has.
    pub(crate) fn inputs(&self) -> usize {
        self.scaling.len()
    }

    /// The length of ψ.
    pub(crate) fn len(&self) -> usize {
        match self.inputs() {
            1 => self.cosines,
            m => 1 + 2 * m + self.cosines,
        }
    }

    /// Writes u for each action, action after action; NaN where it cannot be read.
    pub(crate) fn read<A: Action>(&self, actions: &A::Batch, out: &mut Vec<f64>)
    where
        E: ActionFeatures<A>,
    {
        let (n, m) = (actions.len(), self.inputs());
        out.clear();
        out.resize(2 * n * m, 0.0);
        let (rows, columns) = out.split_at_mut(n * m);
        self.actions.fill(actions, 0..n, columns);
        for (feature, (column, scaling)) in columns.chunks(n.max(1)).zip(&self.scaling).enumerate()
        {
            for (row, value) in column.iter().enumerate() {
                rows[row * m + feature] = (value - scaling.shift) * scaling.factor;
            }
        }
        out.truncate(n * m);
    }

    /// Writes Σ yⱼ ψⱼ for each action's u, as [`read`](Self::read) gives them. `psi` is scratch space.
    pub(crate) fn weigh(&self, y: &[f64], u: &[f64], psi: &mut Vec<f64>, out: &mut [f64]) {
        psi.clear();
        if self.inputs() == 1 {
            psi.extend(y.iter().zip(&self.shares).map(|(y, share)| y * share));
            return weigh_cosines(u, psi, out);
        }
        psi.resize(self.len(), 0.0);
        for (out, u) in out.iter_mut().zip(u.chunks_exact(self.inputs())) {
            self.expand(u, psi);
            *out = lanes::dot(y, psi);
        }
    }

    /// Writes ψ.
    pub(crate) fn expand(&self, u: &[f64], psi: &mut [f64]) {
        if let &[u] = u {
            return cosines(u, &self.shares, psi);
        }
        let scale = 1.0 / (u.len() as f64).sqrt();
        psi[0] = 1.0;
        let (plain, rest) = psi[1..].split_at_mut(u.len());
        let (squares, rest) = rest.split_at_mut(u.len());
        for ((plain, square), u) in plain.iter_mut().zip(squares).zip(u) {
            *plain = u * scale;
            *square = (u * u - 1.0) * scale;
        }
        waves(u, &self.omega, &self.shifts, rest);
    }
}

/// cos(ω·u + b)/√F.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(crate) fn waves(u: &[f64], omega: &[f64], shifts: &[f64], out: &mut [f64]) {
    out.copy_from_slice(shifts);
    for (omega, u) in omega.chunks_exact(out.len()).zip(u) {
        for (out, omega) in out.iter_mut().zip(omega) {
            *out += u * omega;
        }
    }
    let scale = 1.0 / (out.len() as f64).sqrt();
    for out in out {
        *out = cos(*out) * scale;
    }
}

/// cos(πju)/(1 + j) for j = 0, 1, …: cos((j + 1)t) = 2 cos t · cos jt − cos((j − 1)t).
fn cosines(u: f64, shares: &[f64], psi: &mut [f64]) {
    let twice = 2.0 * cos(PI * u);
    let (mut last, mut this) = (0.5 * twice, 1.0);
    for (psi, share) in psi.iter_mut().zip(shares) {
        *psi = this * share;
        (last, this) = (this, twice * this - last);
    }
}

/// Σ yⱼ cos(πju), with many u at a time.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn weigh_cosines(u: &[f64], y: &[f64], out: &mut [f64]) {
    for (u, out) in u.chunks(AT_ONCE).zip(out.chunks_mut(AT_ONCE)) {
        let mut angles = [0.0; AT_ONCE];
        angles[..u.len()].copy_from_slice(u);
        let twice = angles.map(|u| 2.0 * cos(PI * u));
        let (mut last, mut this) = (twice.map(|twice| 0.5 * twice), [1.0; AT_ONCE]);
        let mut sums = [0.0; AT_ONCE];
        for y in y {
            for lane in 0..AT_ONCE {
                sums[lane] += y * this[lane];
                let next = twice[lane] * this[lane] - last[lane];
                (last[lane], this[lane]) = (this[lane], next);
            }
        }
        out.copy_from_slice(&sums[..out.len()]);
    }
}

/// How many actions.
const AT_ONCE: usize = 2 * LANES;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Vector, Vectors};
    use crate::oracle::{ScalarFeatures, VectorFeatures};

    const UNIT: Scaling = Scaling {
        shift: 2.0,
        factor: 0.25,
    };

    #[test]
    fn one_number_has_cosines() {
        let basis = ActionBasis::new(ScalarFeatures, vec![UNIT], 6, 0).expect("in range");
        let mut u = Vec::new();
        basis.read::<f64>(&vec![2.0, 3.0, 6.0, f64::NAN], &mut u);
        assert_eq!(u[..3], [0.0, 0.25, 1.0]);
        let mut psi = [0.0; 6];
        for &u in &u[..3] {
            basis.expand(&[u], &mut psi);
            for (j, psi) in psi.iter().enumerate() {
                let expected = libm::cos(PI * j as f64 * u) / (1.0 + j as f64);
                assert!((psi - expected).abs() < 1e-13, "{j} {u}");
            }
        }
        basis.expand(&u[3..], &mut psi);
        assert!(psi[1].is_nan());
    }

    #[test]
    fn weighing_is_the_sum_over_all_functions() {
        let line = ActionBasis::new(ScalarFeatures, vec![UNIT], 6, 0).expect("in range");
        let coordinates = VectorFeatures::new(3).expect("small");
        let space = ActionBasis::new(coordinates, vec![UNIT; 3], 5, 1).expect("in range");
        let u: Vec<f64> = (0..60).map(|i| 0.03 * f64::from(i) - 0.4).collect();
        let y: Vec<f64> = (0..12).map(|j| 1.0 - 0.3 * f64::from(j)).collect();
        let (mut scratch, mut found) = (Vec::new(), [0.0; 60]);
        let check = |u: &[f64], y: &[f64], psi: &[f64], found: f64| {
            let expected: f64 = y.iter().zip(psi).map(|(y, psi)| y * psi).sum();
            assert!((found - expected).abs() < 1e-12, "{u:?}");
        };
        let mut psi = [0.0; 12];
        line.weigh(&y[..6], &u, &mut scratch, &mut found);
        for (u, found) in u.chunks_exact(1).zip(found) {
            line.expand(u, &mut psi[..6]);
            check(u, &y[..6], &psi[..6], found);
        }
        space.weigh(&y, &u, &mut scratch, &mut found[..20]);
        for (u, found) in u.chunks_exact(3).zip(found) {
            space.expand(u, &mut psi);
            check(u, &y, &psi, found);
        }
    }

    #[test]
    fn many_numbers_have_squares_and_waves() {
        let coordinates = VectorFeatures::new(3).expect("small");
        let basis = ActionBasis::new(coordinates, vec![UNIT; 3], 5, 1).expect("in range");
        assert_eq!((basis.inputs(), basis.len()), (3, 12));
        let mut actions = Vectors::default();
        actions.push(&Vector::new(&[2.0, 6.0, -2.0]).expect("finite"));
        actions.push(&Vector::new(&[6.0, 6.0, 6.0]).expect("finite"));
        let mut u = Vec::new();
        basis.read::<Vector>(&actions, &mut u);
        assert_eq!(u, [0.0, 1.0, -1.0, 1.0, 1.0, 1.0]);
        let mut psi = vec![0.0; 12];
        basis.expand(&u[..3], &mut psi);
        let root = 3.0_f64.sqrt();
        assert_eq!(psi[0], 1.0);
        assert!((psi[2] - 1.0 / root).abs() < 1e-15 && (psi[4] + 1.0 / root).abs() < 1e-15);
        assert!(psi[7..].iter().all(|wave| wave.abs() <= 0.2_f64.sqrt()));
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for (scaling, cosines) in [
            (vec![], 4),
            (vec![UNIT], 0),
            (vec![UNIT], 5000),
            (
                vec![Scaling {
                    factor: f64::NAN,
                    ..UNIT
                }],
                4,
            ),
        ] {
            assert!(ActionBasis::new(ScalarFeatures, scaling, cosines, 0).is_err());
        }
    }
}
