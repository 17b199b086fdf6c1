//! How two numbers go together, over any number of pairs.

/// The sums that a correlation is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Correlation {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Correlation {
    pub fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.yy += y * y;
        self.xy += x * y;
    }

    /// Pairs so far.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Pearson's; none where one of both does not vary.
    pub fn value(&self) -> Option<f64> {
        let n = self.count;
        let together = n * self.xy - self.x * self.y;
        let (x, y) = (n * self.xx - self.x * self.x, n * self.yy - self.y * self.y);
        (x > 0.0 && y > 0.0).then(|| together / (x.sqrt() * y.sqrt()))
    }
}
