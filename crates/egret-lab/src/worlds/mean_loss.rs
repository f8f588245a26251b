/// The mean loss f*(x, ·) of every action, for the context of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MeanLoss {
    /// A price a, bought with probability b·σ((w − a)/s); the loss is 1 − a/h if bought, else 1.
    Price {
        /// w: half of those who buy at all buy at this price.
        worth: f64,
        /// b: the share of those who buy at all.
        buyers: f64,
        /// s: how slowly the probability of a sale falls with the price.
        scale: f64,
        /// h: a sale at this price has the loss 0.
        highest: f64,
    },
    /// top − max over valleys of depth · exp(−((a − centre)/width)²).
    Valleys {
        /// The loss far from all valleys.
        top: f64,
        /// (centre, width, depth). Valleys are so far apart that neither lowers the bottom of the other.
        valleys: [(f64, f64, f64); 2],
    },
    /// bottom + min(most, slope · |a − centre|).
    Distance {
        centre: f64,
        bottom: f64,
        slope: f64,
        most: f64,
    },
    /// E|y − a| for y uniform on [centre − width, centre + width].
    Label { centre: f64, width: f64 },
}

impl MeanLoss {
    /// |a − centre|.
    pub fn distance(centre: f64) -> Self {
        Self::Distance {
            centre,
            bottom: 0.0,
            slope: 1.0,
            most: 1.0,
        }
    }

    /// f*(x, a).
    pub fn at(&self, action: f64) -> f64 {
        match *self {
            Self::Price { highest, .. } => 1.0 - self.sale(action) * action / highest,
            Self::Valleys { top, valleys } => {
                let depths = valleys.map(|(centre, width, depth)| {
                    let away = (action - centre) / width;
                    depth * libm::exp(-(away * away))
                });
                top - depths[0].max(depths[1])
            }
            Self::Distance {
                centre,
                bottom,
                slope,
                most,
            } => bottom + most.min(slope * (action - centre).abs()),
            Self::Label { centre, width } => {
                let away = (action - centre).abs();
                if away < width {
                    (away * away + width * width) / (2.0 * width)
                } else {
                    away
                }
            }
        }
    }

    /// The probability of a sale at this price; 0 where nothing is sold.
    pub fn sale(&self, price: f64) -> f64 {
        match *self {
            Self::Price {
                worth,
                buyers,
                scale,
                ..
            } => buyers / (1.0 + libm::exp(-(worth - price) / scale)),
            _ => 0.0,
        }
    }

    /// The loss of a sale at this price; 1 where nothing is sold.
    pub fn sold(&self, price: f64) -> f64 {
        match *self {
            Self::Price { highest, .. } => 1.0 - price / highest,
            _ => 1.0,
        }
    }

    /// An action of the least mean loss.
    pub fn best(&self) -> f64 {
        match *self {
            Self::Price { worth, scale, .. } => best_price(worth, scale),
            Self::Valleys { valleys, .. } => {
                let [first, second] = valleys;
                if first.2 < second.2 {
                    second.0
                } else {
                    first.0
                }
            }
            Self::Distance { centre, .. } | Self::Label { centre, .. } => centre,
        }
    }

    /// The mean of f* over actions uniform on [low, high], by the midpoint rule.
    pub fn uniform(&self, (low, high): (f64, f64)) -> f64 {
        // Of the narrowest valley, of width 0.05, some 25 points a width: the error is below 1e-5 in every world.
        const POINTS: usize = 512;
        let step = (high - low) / POINTS as f64;
        let sum: f64 = (0..POINTS)
            .map(|n| self.at(low + step * (n as f64 + 0.5)))
            .sum();
        sum / POINTS as f64
    }
}

/// The price a that earns most: a·σ((w − a)/s) has its maximum at a = s·(1 + v) with v·eᵛ = z = exp(w/s − 1).
fn best_price(worth: f64, scale: f64) -> f64 {
    let log = worth / scale - 1.0;
    // v + ln v = log, by Newton's method. It rises to the solution from below, where z/(1 + z) lies.
    let mut v = 1.0 / (1.0 + libm::exp(-log));
    for _ in 0..20 {
        v -= (v + libm::log(v) - log) * v / (1.0 + v);
    }
    scale * (1.0 + v)
}
