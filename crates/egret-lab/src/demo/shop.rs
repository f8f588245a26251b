use egret::{EventRng, Features, Interval, Objective, Stream};

/// The lowest and the highest price of the shop.
pub const PRICES: (f64, f64) = (5.0, 50.0);

/// All prices of the shop.
pub fn prices() -> Interval {
    Interval::new(PRICES.0, PRICES.1).expect("5 < 50")
}

/// Revenue from a customer: the price, or nothing.
pub fn revenue() -> Objective {
    Objective::maximize(0.0, PRICES.1).expect("0 < 50")
}

/// One customer, with everything the shop does not know.
///
/// A customer of worth w buys at price a with probability σ((w − a)/3): half of those who are worth 20 buy at 20, nearly
/// nobody does at 30. The worth depends on segment, income, country and whether the customer was here before.
#[derive(Debug, Clone)]
pub struct Customer {
    /// What the shop knows. One in eight does not tell the income.
    pub features: Features,
    /// Where half of such customers buy.
    pub worth: f64,
    /// The customer buys if this is below the probability: the same chance at every price.
    chance: f64,
}

/// Name, share, worth at a middle income.
const SEGMENTS: [(&str, f64, f64); 3] = [
    ("student", 0.3, 13.0),
    ("family", 0.45, 19.0),
    ("business", 0.25, 29.0),
];
/// Name, share, how much more worth.
const COUNTRIES: [(&str, f64, f64); 4] = [
    ("NZ", 0.4, 0.0),
    ("AU", 0.3, 2.0),
    ("JP", 0.2, 5.0),
    ("DE", 0.1, -2.0),
];
const RETURNING: f64 = 3.0;
const TWICE_THE_INCOME: f64 = 4.0;
/// How sharply customers tell prices apart.
const SPREAD: f64 = 3.0;

impl Customer {
    /// The customer who comes at `event`. Every policy of this seed meets the same one.
    pub fn new(seed: u64, event: u64) -> Self {
        let mut rng = EventRng::new(seed, event, Stream::World);
        let (segment, _, base) = one_of(&SEGMENTS, rng.unit());
        let (country, _, more) = one_of(&COUNTRIES, rng.unit());
        let returning = rng.unit() < 0.4;
        // About normal, with standard deviation 0.7.
        let doublings = 0.7 * ((0..12).map(|_| rng.unit()).sum::<f64>() - 6.0);
        let income = (400.0 * libm::exp2(doublings)).round() * 100.0;
        let told = 0.125 < rng.unit();
        let visits = 1 + (6.0 * rng.unit() * rng.unit()) as i64;
        let mut features = Features::new()
            .with("segment", segment)
            .with("country", country)
            .with("returning", returning)
            .with("visits", visits);
        if told {
            features.set("income", income);
        }
        let returning = if returning { RETURNING } else { 0.0 };
        Self {
            features,
            worth: base + more + returning + TWICE_THE_INCOME * doublings,
            chance: rng.unit(),
        }
    }

    fn probability(&self, price: f64) -> f64 {
        1.0 / (1.0 + libm::exp((price - self.worth) / SPREAD))
    }

    /// Revenue at a price: it is paid, or nothing is.
    pub fn pays(&self, price: f64) -> f64 {
        if self.chance < self.probability(price) {
            price
        } else {
            0.0
        }
    }

    /// Mean revenue at a price.
    pub fn expected(&self, price: f64) -> f64 {
        price * self.probability(price)
    }

    /// Mean revenue over prices uniform on [low, high], by Simpson's rule.
    pub fn expected_on(&self, (low, high): (f64, f64)) -> f64 {
        const STEPS: usize = 128;
        let step = (high - low) / STEPS as f64;
        let inner: f64 = (1..STEPS)
            .map(|n| {
                let weight = if n % 2 == 1 { 4.0 } else { 2.0 };
                weight * self.expected(low + step * n as f64)
            })
            .sum();
        (self.expected(low) + inner + self.expected(high)) / (3 * STEPS) as f64
    }

    /// The largest mean revenue that any price brings. It rises up to the best price and falls from there on.
    pub fn best(&self) -> f64 {
        let (mut low, mut high) = PRICES;
        for _ in 0..60 {
            let third = (high - low) / 3.0;
            if self.expected(low + third) < self.expected(high - third) {
                low += third;
            } else {
                high -= third;
            }
        }
        self.expected(0.5 * (low + high))
    }

    /// The segment, as the rule of thumb sees it.
    pub fn segment(&self) -> usize {
        let named =
            |(name, _, _): &(&str, f64, f64)| self.features.get("segment") == Some(&(*name).into());
        let found = SEGMENTS.iter().position(named);
        found.expect("each customer has a segment")
    }
}

fn one_of<'a>(choices: &[(&'a str, f64, f64)], chance: f64) -> (&'a str, f64, f64) {
    let mut below = 0.0;
    for &choice in choices {
        below += choice.1;
        if chance < below {
            return choice;
        }
    }
    choices[choices.len() - 1]
}

/// The best price for all customers alike, to 25 cents, and what it earns from each on average.
pub fn best_fixed_price(customers: &[Customer]) -> (f64, f64) {
    let mean = |price: f64| mean_of(customers, |customer| customer.expected(price));
    let steps = (4.0 * (PRICES.1 - PRICES.0)) as usize;
    let tried = (0..=steps).map(|step| PRICES.0 + 0.25 * step as f64);
    tried
        .map(|price| (price, mean(price)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("there are prices")
}

/// The mean over customers.
pub fn mean_of(customers: &[Customer], value: impl Fn(&Customer) -> f64) -> f64 {
    customers.iter().map(value).sum::<f64>() / customers.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn customers(count: u64) -> Vec<Customer> {
        (0..count).map(|event| Customer::new(3, event)).collect()
    }

    #[test]
    fn the_rule_of_simpson_equals_a_sum() {
        for customer in customers(100) {
            for (low, high) in [PRICES, (10.0, 15.0)] {
                let steps = 4_000;
                let at = |step| low + (high - low) * (f64::from(step) + 0.5) / f64::from(steps);
                let sum: f64 = (0..steps).map(|step| customer.expected(at(step))).sum();
                let expected = sum / f64::from(steps);
                assert!((customer.expected_on((low, high)) - expected).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn no_price_beats_the_best() {
        for customer in customers(200) {
            let best = customer.best();
            for step in 0..=450 {
                let price = PRICES.0 + 0.1 * f64::from(step);
                assert!(customer.expected(price) <= best + 1e-9);
            }
        }
    }

    #[test]
    fn customers_pay_as_often_as_they_should() {
        // Revenue at 20 is 0 or 20: the mean of a correct shop lies beyond 5 standard errors once in a million times.
        let all = customers(40_000);
        let off = mean_of(&all, |customer| {
            customer.pays(20.0) - customer.expected(20.0)
        });
        assert!(off.abs() < 5.0 * 10.0 / 200.0, "{off}");
    }

    #[test]
    fn every_customer_is_worth_a_price() {
        let all = customers(5_000);
        let outside = all
            .iter()
            .filter(|customer| !(5.0..=50.0).contains(&customer.worth));
        assert!(outside.count() < 100);
        assert!(
            all.iter()
                .any(|customer| customer.features.get("income").is_none())
        );
    }
}
