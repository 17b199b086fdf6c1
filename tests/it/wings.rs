//! Tables that are the same on both wings.

use nnuance::batch::Terms;
use nnuance::format::{Format, write_all};
use nnuance::hce::{Coding, HceWeights, Term, Trace, terms::TERMS, wings};
use nnuance::sample::{Position, Sample};
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::games;
use crate::program::Run;

/// Weights anywhere, in quarters so that sums are exact.
fn random_weights(seed: u64) -> HceWeights {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut weights = HceWeights::default();
    for value in weights.values.iter_mut().flatten() {
        *value = f64::from(random.random_range(-400..=400)) / 4.0;
    }
    weights
}

/// A position with files turned left to right; it has no castling rights.
fn turned(position: &Position) -> Position {
    let fen = position.fen();
    let (board, rest) = fen.split_once(' ').unwrap();
    let ranks = board.split('/').map(|rank| rank.chars().rev().collect::<String>());
    let turn = rest.split(' ').next().unwrap();
    let fen = format!("{} {turn} - - 0 1", ranks.collect::<Vec<_>>().join("/"));
    Position::from_fen(&fen).unwrap()
}

#[test]
fn both_wings_count_as_one() {
    let coding = Coding::new(&[true; TERMS], true).mirrored();
    let plain = Coding::new(&[true; TERMS], true);
    let mut trace = Trace::default();
    let weights = random_weights(2).mirrored().0;
    for Sample { position, .. } in games::samples(500, 3) {
        let (mut folded, mut whole, mut other) =
            (Terms::default(), Terms::default(), Terms::default());
        coding.encode(&position, &mut trace, &mut folded);
        plain.encode(&position, &mut trace, &mut whole);
        coding.encode(&turned(&position), &mut trace, &mut other);
        let rising = folded.normal.row(0).map(|(term, _)| term).collect::<Vec<_>>();
        assert!(
            rising.is_sorted() && rising.iter().all(|term| usize::from(wings()[*term]) == *term)
        );
        // Symmetric weights give the same sums either way.
        let [one, two] = [&folded, &whole].map(|it| it.sums(0, &weights.values));
        assert_eq!(one, two, "{}", position.fen());
        // The squares of the position turned round are the same squares.
        let squares = |terms: &Terms| -> Vec<(usize, i8)> {
            terms.normal.row(0).filter(|(term, _)| *term < 5 + 384).collect()
        };
        assert_eq!(squares(&folded), squares(&other), "{}", position.fen());
    }
}

#[test]
fn mirrored_fit_equals_the_mirror_image() {
    let folder = tempfile::tempdir().unwrap();
    // Without castling rights, which a board turned round cannot have.
    let samples: Vec<Sample> = games::samples(4000, 29)
        .into_iter()
        .enumerate()
        .map(|(i, sample)| {
            let position = turned(&turned(&sample.position));
            let game = std::num::NonZeroU64::new(1 + i as u64 / 20);
            Sample { position, game, score: None, ..sample }
        })
        .collect();
    let image: Vec<Sample> =
        samples.iter().map(|it| Sample { position: turned(&it.position), ..*it }).collect();
    let fitted = |name: &str, samples: &[Sample], mirror: bool| {
        let path = folder.path().join(name);
        write_all(&path, Format::named("epd").unwrap(), samples).unwrap();
        let run = Run::new(
            &format!(
                "version = 3\n[data]\nfiles = [\"{}\"]\nheld_out = 0.0\ncheck_view = false\n\
                 [terms]\nuse = [\"material\", \"psqt\"]\nrare = 1\n\
                 mirror = {mirror}\n[target]\nwdl = 1.0\nscale = 160\n\
                 [optimizer]\nname = \"gauss-newton\"\n",
                path.display()
            ),
            "2",
        );
        HceWeights::from_json(std::str::from_utf8(&run.file("terms.json")).unwrap()).unwrap()
    };
    let one = fitted("one.epd", &samples, true);
    let other = fitted("image.epd", &image, true);
    assert_eq!(one.values, other.values);
    assert!(one.values.iter().flatten().any(|value| value.fract() != 0.0));
    for (term, twin) in wings().iter().enumerate() {
        assert_eq!(one.values[term], one.values[usize::from(*twin)]);
    }
    let free = fitted("one.epd", &samples, false);
    let [c3, f3] =
        ["c3", "f3"].map(|at| Term::named(&format!("psqt.knight.{at}")).unwrap().index());
    assert_ne!(free.values[c3], free.values[f3]);
}
