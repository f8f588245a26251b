use egret::Space;
use egret_log::unit_of;

/// How near a mean weight is to a width to be taken for it, as a logarithm.
const NEAR: f64 = 0.15;

/// What to do where densities look as if they were per unit of the space, or were already against μ: the mean of q/p, which
/// should be 1, is then near the width or one over it. `unit` is what densities were multiplied by.
pub(crate) fn remark(space: &Space, unit: f64, mean: f64) -> Option<String> {
    let width = unit_of(space)?;
    let near = |one: f64, other: f64| (one / other).ln().abs() < NEAR;
    if near(width, 1.0) {
        return None;
    }
    if unit == 1.0 && near(mean, width) {
        return Some(format!(
            "The mean weight is {mean:.3}, near the width {width} of {space}: the log's densities look like densities per unit, \
             or probabilities. Give --density-per-unit."
        ));
    }
    (unit != 1.0 && near(mean * width, 1.0)).then(|| {
        format!(
            "The mean weight is {mean:.4}, near one over the width {width} of {space}: the log's densities look as if they were \
             against mu already. Leave out --density-per-unit."
        )
    })
}
