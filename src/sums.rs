//! The sums of a handcrafted evaluation, and its formula with derivatives, in f64 for one position.
//! Fused operations are tested against them. After A. Grant, "Evaluation & Tuning in Chess Engines".

/// The sums of a position's terms, each as middlegame and endgame, in centipawns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// NORMAL terms: White minus Black.
    pub normal: [f64; 2],
    /// SAFETY terms: White's own, then Black's own.
    pub safety: [[f64; 2]; 2],
    /// COMPLEXITY terms, by their endgame weights.
    pub complexity: f64,
}

/// The divisors of the curves that turn SAFETY sums into centipawns.
pub const SAFETY_MIDDLEGAME: f64 = 720.0;
pub const SAFETY_ENDGAME: f64 = 20.0;

impl Sums {
    /// The middlegame and endgame values before COMPLEXITY, White minus Black.
    pub fn tapered_values(&self) -> [f64; 2] {
        let [[white_mg, white_eg], [black_mg, black_eg]] = self.safety;
        let mg = |sum: f64| -sum * sum.max(0.0) / SAFETY_MIDDLEGAME;
        let eg = |sum: f64| -sum.max(0.0) / SAFETY_ENDGAME;
        [self.normal[0] + mg(white_mg) - mg(black_mg), self.normal[1] + eg(white_eg) - eg(black_eg)]
    }

    /// The value for White in centipawns, without the tempo, for the middlegame and scaled endgame
    /// shares. COMPLEXITY moves the endgame value towards zero or away from it, never across.
    pub fn white_centipawns(&self, shares: [f64; 2]) -> f64 {
        let [mg, eg] = self.tapered_values();
        let eg = if self.crosses_zero(eg) { 0.0 } else { eg + sign_or_zero(eg) * self.complexity };
        shares[0] * mg + shares[1] * eg
    }

    /// The derivatives of [`Sums::white_centipawns`] with respect to the sums. With respect to a weight
    /// it is `normal * (white - black)`, `safety[0] * white + safety[1] * black` or
    /// `complexity * count`. At the kinks, `eg = 0` and `|eg| + complexity = 0` count as not crossed,
    /// and a SAFETY sum of 0 as not positive.
    pub fn derivatives(&self, shares: [f64; 2]) -> Self {
        let [_, eg] = self.tapered_values();
        let crossed = self.crosses_zero(eg);
        let endgame = if crossed { 0.0 } else { shares[1] };
        let [white, black] = self.safety;
        let mg = |sum: f64| -2.0 * sum.max(0.0) / SAFETY_MIDDLEGAME * shares[0];
        let positive = |sum: f64| if sum > 0.0 { 1.0 } else { 0.0 };
        let eg_slope = |sum: f64| -positive(sum) / SAFETY_ENDGAME * endgame;
        Self {
            normal: [shares[0], endgame],
            safety: [[mg(white[0]), eg_slope(white[1])], [-mg(black[0]), -eg_slope(black[1])]],
            complexity: if crossed { 0.0 } else { shares[1] * sign_or_zero(eg) },
        }
    }

    /// Whether COMPLEXITY would move the endgame value across zero.
    fn crosses_zero(&self, eg: f64) -> bool {
        eg != 0.0 && eg.abs() + self.complexity < 0.0
    }
}

fn sign_or_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}
