//! Feature sets against slow definitions of their own.

use nnuance::features::{self, Board, Rows, Set};
use shakmaty::{Board as Pieces, Piece, Role, Square};

use crate::support::kit::*;

/// All sets but `pieces`.
static SETS: LazyLock<Vec<String>> = LazyLock::new(|| features::set_names().split_off(1));

pub fn set(name: &str) -> Set {
    features::set_named(name, Kings::NONE).unwrap_or_else(|_| panic!("no set {name}"))
}

pub fn rows(set: &Set, position: &Position, perspective: Color) -> Vec<u32> {
    let mut rows = Rows::default();
    set.add_active_rows(&Board::new(position), perspective, &mut rows);
    rows.sorted_rows()
}

/// Legal positions of up to 16 pieces a side on drawn squares, most pawns promoted or none.
fn drawn(count: usize, promoted: bool) -> Vec<Position> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(u64::from(promoted));
    let mut positions = Vec::new();
    while positions.len() < count {
        let mut setup = shakmaty::Setup::empty();
        for color in Color::ALL {
            setup.board.set_piece_at(square(&mut random), color.king());
            let pawns = (0..8).map(|_| match random.random_range(0..4) {
                0 | 1 if promoted => Role::Queen,
                2 if promoted => Role::Knight,
                _ => Role::Pawn,
            });
            let roles: Vec<Role> =
                pawns.chain("qrrbbnn".chars().flat_map(Role::from_char)).collect();
            let share = random.random_range(0.0..1.0);
            for role in roles {
                let square = square(&mut random);
                if setup.board.piece_at(square).is_none() && random.random_bool(share) {
                    setup.board.set_piece_at(square, Piece { color, role });
                }
            }
        }
        setup.turn = Color::from_white(random.random());
        positions.extend(Position::from_setup(setup));
    }
    positions
}

fn square(random: &mut Xoshiro256PlusPlus) -> Square {
    Square::new(random.random_range(0..64))
}

fn positions() -> Vec<Position> {
    [games::positions(300, 47), drawn(150, false), drawn(150, true)].concat()
}

fn seen(position: &Position, perspective: Color) -> Pieces {
    let king = position.king(perspective).expect("there is a king");
    let flips = king.file() as usize >= 4;
    let mut seen = Pieces::empty();
    for (mut square, mut piece) in position.to_board().into_iter() {
        if perspective.is_black() {
            square = square.flip_vertical();
            piece.color = !piece.color;
        }
        let square = if flips { square.flip_horizontal() } else { square };
        seen.set_piece_at(square, piece);
    }
    seen
}

fn kind(piece: Piece) -> usize {
    6 * usize::from(piece.color.is_black()) + piece.role as usize - 1
}

/// Whether a piece attacks a square on an empty board, from the rules of chess.
fn reaches(kind: usize, from: Square, to: Square) -> bool {
    let across = (to.file() as i32 - from.file() as i32).abs();
    let up = to.rank() as i32 - from.rank() as i32;
    let is_line = (across == 0) != (up == 0);
    let is_diagonal = across == up.abs() && up != 0;
    match kind {
        0 => (across, up) == (1, 1) && (1..7).contains(&(from.rank() as i32)),
        6 => (across, up) == (1, -1) && (1..7).contains(&(from.rank() as i32)),
        _ => match kind % 6 {
            1 => across * up.abs() == 2,
            2 => is_diagonal,
            3 => is_line,
            4 => is_line || is_diagonal,
            _ => across.max(up.abs()) == 1,
        },
    }
}

/// The rows of threats by attacker, victim and their squares, all counted one after the other.
type Threats = HashMap<(usize, usize, Square, Square), u32>;

/// Sets of threats with the victims of each attacker, pawn to king.
const VICTIMS: [(&str, [&str; 6]); 4] = [
    ("threats", ["nr", "pnbrq", "pnbr", "pnbr", "pnbrq", ""]),
    ("threats-60144", ["pnr", "pnbrq", "pnbr", "pnbr", "pnbrq", ""]),
    ("threats-66864", ["pnr", "pnbrq", "pnbr", "pnbr", "pnbrq", "pnbr"]),
    ("threats-79856", ["pnr", "pnbrqk", "pnbrk", "pnbrk", "pnbrqk", "pnbr"]),
];

static THREATS: LazyLock<HashMap<&str, Threats>> =
    LazyLock::new(|| VICTIMS.iter().map(|(name, victims)| (*name, numbered(victims))).collect());

fn numbered(victims: &[&str; 6]) -> Threats {
    let mut all = HashMap::new();
    for attacker in 0..12 {
        let victims = victims[attacker % 6].chars();
        let victims: Vec<usize> =
            victims.map(|it| Role::from_char(it).unwrap() as usize - 1).collect();
        for victim in victims.iter().copied().chain(victims.iter().map(|victim| victim + 6)) {
            for from in Square::ALL {
                for to in Square::ALL.into_iter().filter(|&to| reaches(attacker, from, to)) {
                    all.insert((attacker, victim, from, to), all.len() as u32);
                }
            }
        }
    }
    all
}

/// The rows of a set, from its definition in words.
fn by_definition(name: &str, position: &Position, perspective: Color) -> Vec<u32> {
    let board = seen(position, perspective);
    let occupied = board.occupied();
    let pieces: Vec<(Square, Piece)> = board.clone().into_iter().collect();
    let attackers = |square, by| board.attacks_to(square, by, occupied);
    let all_attackers = |square| attackers(square, Color::White) | attackers(square, Color::Black);
    let mut rows: Vec<usize> = Vec::new();
    match name {
        "threat-kinds" => {
            for &(to, victim) in &pieces {
                for from in all_attackers(to) {
                    let attacker = board.piece_at(from).expect("an attacker");
                    rows.push(12 * kind(attacker) + kind(victim));
                }
            }
        }
        _ if THREATS.contains_key(name) => {
            for &(to, victim) in &pieces {
                for from in all_attackers(to) {
                    let attacker = board.piece_at(from).expect("an attacker");
                    let (one, other) = (kind(attacker), kind(victim));
                    let mutual = attacker.role == victim.role && reaches(other, to, from);
                    let row = THREATS[name].get(&(one, other, from, to));
                    rows.extend(row.filter(|_| from > to || !mutual).map(|row| *row as usize));
                }
            }
        }
        "pawn-pairs" => {
            let pawns = pieces.iter().filter(|(_, piece)| piece.role == Role::Pawn);
            let pawns: BTreeMap<usize, Square> = pawns
                .map(|&(square, it)| {
                    (48 * usize::from(it.color.is_black()) + square as usize - 8, square)
                })
                .collect();
            let mut row = 0;
            for high in 0..96 {
                for low in 0..high {
                    if let (Some(a), Some(b)) = (pawns.get(&low), pawns.get(&high))
                        && a.file().distance(b.file()) <= 1
                    {
                        rows.push(row);
                    }
                    row += 1;
                }
            }
        }
        "attack-counts" => {
            let kings = [Color::White, Color::Black]
                .map(|color| board.king_of(color).expect("there is a king"));
            for to in Square::ALL {
                for from in all_attackers(to) {
                    let piece = board.piece_at(from).expect("an attacker");
                    let pawns = attackers(to, !piece.color) & board.pawns();
                    if piece.role == Role::Pawn || pawns.is_empty() {
                        rows.push(kind(piece));
                    }
                    for (whose, king) in kings.into_iter().enumerate() {
                        if king.distance(to) <= 1 {
                            rows.push(12 + 2 * kind(piece) + whose);
                        }
                    }
                }
            }
        }
        _ => panic!("{name} has no definition here"),
    }
    rows.sort_unstable();
    rows.into_iter().map(|row| row as u32).collect()
}

/// With colours swapped and the board flipped, the sides exchange their rows.
#[test]
fn lists_are_those_of_definitions() {
    for position in positions() {
        for name in &*SETS {
            let set = set(name);
            for perspective in Color::ALL {
                let found = rows(&set, &position, perspective);
                let right = by_definition(name, &position, perspective);
                assert_eq!(found, right, "{name}, {perspective}, {}", position.to_fen());
                assert_eq!(rows(&set, &position.flip_colours(), !perspective), right, "{name}");
            }
        }
    }
}

#[test]
fn lists_keep_their_bounds() {
    for name in &*SETS {
        let set = set(name);
        assert_eq!(set.has_repeats(), ["threat-kinds", "attack-counts"].contains(&&name[..]));
        let mut longest = 0;
        for position in positions() {
            for perspective in Color::ALL {
                let rows = rows(&set, &position, perspective);
                let once: HashSet<&u32> = rows.iter().collect();
                assert!(
                    set.has_repeats() || once.len() == rows.len(),
                    "{name}: {}",
                    position.to_fen()
                );
                assert!(rows.iter().all(|row| (*row as usize) < set.row_count()), "{name}");
                longest = longest.max(rows.len());
            }
        }
        assert!(longest <= set.max_active(), "{name}: {longest} rows");
    }
    for (name, least, fen) in MANY_THREATS {
        let position = Position::from_fen(fen).unwrap();
        for perspective in Color::ALL {
            let longest = rows(&set(name), &position, perspective).len();
            assert!((least..=set(name).max_active()).contains(&longest), "{name}: {longest}");
        }
    }
}

/// The most threats that searches have found among positions whose promotions captures allow.
const MANY_THREATS: [(&str, usize, &str); 5] = [
    ("threats", 110, "1k4K1/p1r1P3/1qNq1b2/Rnqnq3/1QNrNR2/B1qNQ1P1/1P1Qnb2/2B5 b - - 0 1"),
    ("threats", 115, "3K4/1b1Q1P1k/p1qnQ1B1/1RNrnr2/1nqNqnQ1/1B1QNq2/2P1R1p1/5b2 b - - 0 1"),
    ("threats-60144", 115, "2k1B1K1/1p1q1B2/P1rNQ1b1/1qnQNQ2/1NrNqnR1/1b1qnQ2/2P1R1P1/8 b - - 0 1"),
    ("threats-66864", 122, "8/2p1R1P1/1p1qnQ2/1krNRnr1/NbnqnQ2/pKrnQ1P1/1BNQ1B2/8 w - - 0 1"),
    ("threats-79856", 129, "8/2b1R1B1/1P1QNK2/2QNQnQ1/1qNrNR1p/P1qnqnB1/1Pnr1k2/4b3 b - - 0 1"),
];

#[test]
fn rows_have_distinct_words() {
    let counts = [59_808, 60_144, 66_864, 79_856, 4_560, 144, 36];
    assert_eq!(SETS.len(), counts.len());
    for (name, count) in SETS.iter().zip(counts) {
        let set = set(name);
        assert_eq!(set.row_count(), count);
        let words: HashSet<String> = (0..count as u32).map(|row| set.describe_row(row)).collect();
        assert_eq!(words.len(), count, "{name}");
    }
}

#[test]
fn words_of_rows() {
    let position = Position::from_fen("4k3/8/8/3p4/8/2N5/2PP4/6K1 w - - 0 1").unwrap();
    // White's king stands on the right half: files are flipped.
    for (name, words) in [
        ("threats", "own knight on f3 attacks enemy pawn on e5"),
        ("pawn-pairs", "own pawns on e2 and f2"),
        ("pawn-pairs", "own pawn on e2, enemy pawn on e5"),
        ("threat-kinds", "own knights attack enemy pawns"),
        ("attack-counts", "mobility of own knights"),
        ("attack-counts", "own kings attack squares beside the own king"),
    ] {
        let set = set(name);
        let rows = rows(&set, &position, Color::White);
        let said: Vec<String> = rows.into_iter().map(|row| set.describe_row(row)).collect();
        assert!(said.iter().any(|it| it == words), "{name}: {said:?}");
    }
}

#[test]
fn factors_of_threats_are_their_kinds() {
    let kinds = set("threat-kinds");
    for threats in VICTIMS.map(|(name, _)| set(name)) {
        assert_eq!(threats.factor_rows(), kinds.row_count());
        for row in 0..threats.row_count() as u32 {
            // "own knight on f3 attacks enemy pawn on e5"
            let words = threats.describe_row(row);
            let words: Vec<&str> = words.split(' ').collect();
            let kind = format!("{} {}s attack {} {}s", words[0], words[1], words[5], words[6]);
            let factor = threats.factor_row(row).expect("a factor");
            assert_eq!(kinds.describe_row(factor), kind);
        }
    }
}

#[test]
fn factors_of_pieces_are_pieces() {
    let set = features::set_named("pieces", kings_in_turn(true, 32)).unwrap();
    let mut words = HashMap::new();
    for row in 0..set.row_count() as u32 {
        // "own knight on f3, king bucket 1"
        let piece = set.describe_row(row).split(',').next().expect("words").to_string();
        let factor = set.factor_row(row).expect("a factor");
        assert_eq!(words.entry(factor).or_insert_with(|| piece.clone()), &piece);
    }
    assert_eq!(words.len(), set.factor_rows());
    assert_eq!(words.values().collect::<HashSet<_>>().len(), words.len());
}

/// Bounds hold for any weights, and weights of one sign at the clip of i8 leave a margin.
#[test]
fn bounds_hold() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let positions = positions();
    for name in &*SETS {
        let set = set(name);
        for spread in [1, 1000] {
            let weights: Vec<i32> =
                (0..set.row_count()).map(|_| random.random_range(-spread..=1000)).collect();
            let [least, most] = set.bound_sums(&weights);
            for position in &positions {
                for perspective in Color::ALL {
                    let rows = rows(&set, position, perspective);
                    let sum: i64 = rows.iter().map(|row| i64::from(weights[*row as usize])).sum();
                    assert!((least..=most).contains(&sum), "{name}: {sum}, {least} to {most}");
                }
            }
        }
        let largest = set.bound_sums(&vec![1; set.row_count()])[1];
        assert!(largest <= set.max_active() as i64, "{name}: {largest}");
    }
}

/// Positions of two kings and two pieces on nine squares, on both sides of the mirror line: bounds
/// hold for weights of which few are not 0.
#[test]
fn bounds_hold_on_a_small_board() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
    let mut weight = || if random.random_bool(0.02) { random.random_range(-9..=9) } else { 0 };
    let sets = SETS.iter().map(|name| {
        let set = set(name);
        let weights: Vec<i32> = (0..set.row_count()).map(|_| weight()).collect();
        let bounds = set.bound_sums(&weights);
        (set, weights, bounds)
    });
    let sets: Vec<_> = sets.collect();
    let squares: Vec<Square> = (0..9).map(|it| Square::new(8 * (it / 3) + it % 3 + 3)).collect();
    let kinds = |color| Role::ALL[..5].iter().map(move |&role| Piece { color, role });
    let kinds = || Color::ALL.into_iter().flat_map(kinds);
    let mut count = 0;
    for (&white, &black) in squares.iter().flat_map(|a| squares.iter().map(move |b| (a, b))) {
        for (i, &one) in squares.iter().enumerate() {
            for &other in &squares[..i] {
                for (first, second) in kinds().flat_map(|a| kinds().map(move |b| (a, b))) {
                    let mut setup = shakmaty::Setup::empty();
                    setup.board.set_piece_at(one, first);
                    setup.board.set_piece_at(other, second);
                    setup.board.set_piece_at(white, Color::White.king());
                    setup.board.set_piece_at(black, Color::Black.king());
                    let Ok(position) = Position::from_setup(setup) else { continue };
                    let board = Board::new(&position);
                    count += 1;
                    for (set, weights, [least, most]) in &sets {
                        for perspective in Color::ALL {
                            let mut rows = Rows::default();
                            set.add_active_rows(&board, perspective, &mut rows);
                            let weights = rows.repeated_rows().map(|row| weights[row as usize]);
                            let sum = weights.map(i64::from).sum();
                            assert!((*least..=*most).contains(&sum), "{}", position.to_fen());
                        }
                    }
                }
            }
        }
    }
    assert!(count > 50_000, "{count} positions");
}

/// Positions of two kings with one or two other pieces: any square for the own king with each for the
/// enemy's, for one piece, and for two of which the first can attack the second.
fn few_pieces() -> Vec<Position> {
    let kinds =
        || Color::ALL.into_iter().flat_map(|color| Role::ALL.map(|role| Piece { color, role }));
    let mut positions = Vec::new();
    // With missing kings on the first squares that are legal, White's on each half of the board.
    let mut add = |pieces: &[(Square, Piece)]| {
        let mut board = Pieces::empty();
        pieces.iter().for_each(|&(square, piece)| board.set_piece_at(square, piece));
        let king = |color: Color| match board.king_of(color) {
            Some(square) => vec![square],
            None => Square::ALL.into_iter().filter(|it| board.piece_at(*it).is_none()).collect(),
        };
        // Kings that come between do not count.
        let same_attacks = |position: &Position| {
            pieces.iter().all(|(square, _)| {
                let [found, right] =
                    [position.to_board(), board.clone()].map(|it| it.attacks_from(*square));
                found & board.occupied() == right & board.occupied()
            })
        };
        let (white, black) = (king(Color::White), king(Color::Black));
        for half in [0, 4] {
            let white = white.iter().filter(|square| **square as usize & 4 == half);
            let pairs = white.flat_map(|a| black.iter().rev().map(move |b| (*a, *b)));
            let legal = pairs.flat_map(|(white, black)| Color::ALL.map(|it| (white, black, it)));
            let legal = legal.filter_map(|(white, black, turn)| {
                let mut setup = shakmaty::Setup::empty();
                setup.board = board.clone();
                setup.board.set_piece_at(white, Color::White.king());
                setup.board.set_piece_at(black, Color::Black.king());
                setup.turn = turn;
                Position::from_setup(setup).ok()
            });
            positions.extend(legal.filter(same_attacks).take(1));
        }
    };
    for a in Square::ALL {
        for b in Square::ALL.into_iter().filter(|b| *b != a) {
            add(&[(a, Color::White.king()), (b, Color::Black.king())]);
            for piece in kinds().filter(|piece| piece.role != Role::King) {
                add(&[(a, Color::White.king()), (b, piece)]);
            }
            for first in kinds() {
                for second in kinds().filter(|it| reaches(kind(first), a, b) && *it != first) {
                    add(&[(a, first), (b, second)]);
                }
            }
            for same in kinds().filter(|it| it.role != Role::King) {
                add(&[(a, same), (b, same)]);
            }
            let pawn = |color| Piece { color, role: Role::Pawn };
            add(&[(a, pawn(Color::White)), (b, pawn(Color::Black))]);
        }
    }
    positions
}

/// Each row that a set calls reachable is active in a position, and no other is in any.
#[test]
fn reachable_rows_are_those_of_positions() {
    let some = [0, 0, 1, 1, 0, 0, 1, 1].iter().chain([2; 24].iter()).copied().collect::<Vec<u8>>();
    let kings = [(false, vec![]), (true, vec![]), (true, some)]
        .map(|(mirror, buckets)| Kings::new(mirror, &buckets).unwrap());
    let squares = kings_in_turn(true, 32);
    let pieces = kings.into_iter().chain([squares, squares.merge_planes().unwrap()]);
    let pieces = pieces.map(|kings| features::set_named("pieces", kings).unwrap());
    let sets: Vec<Set> = SETS.iter().map(|name| set(name)).chain(pieces).collect();
    let mut seen: Vec<Vec<bool>> = sets.iter().map(|set| vec![false; set.row_count()]).collect();
    for position in few_pieces().into_iter().chain(positions()) {
        let board = Board::new(&position);
        for (set, seen) in sets.iter().zip(&mut seen) {
            for perspective in Color::ALL {
                let mut rows = Rows::default();
                set.add_active_rows(&board, perspective, &mut rows);
                rows.entries().iter().for_each(|row| seen[row.number as usize] = true);
            }
        }
    }
    let wrong = sets.iter().zip(seen).flat_map(|(set, seen)| {
        let rows = (0..).zip(seen).filter(|(row, seen)| set.is_reachable(*row) != *seen);
        rows.map(|(row, _)| format!("{}: {}\n", set.name(), set.describe_row(row)))
    });
    let wrong: Vec<String> = wrong.collect();
    let some = wrong.iter().step_by(wrong.len() / 50 + 1);
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), some.cloned().collect::<String>());
}

/// Most squares that pieces attack within one step of a king, by which sums are bounded.
#[test]
fn attacks_beside_kings_are_bounded() {
    let set = set("attack-counts");
    for (role, most) in [2, 2, 3, 4, 6, 8].into_iter().enumerate() {
        let beside = |king: Square, from: Square| {
            let squares = Square::ALL.into_iter().filter(|to| king.distance(*to) <= 1);
            squares.filter(|&to| reaches(role, from, to)).count() as i64
        };
        let pairs = Square::ALL.into_iter().flat_map(|king| Square::ALL.map(|it| (king, it)));
        // The own king stands on the king's square itself.
        let pairs = pairs.filter(|(king, from)| role == 5 || king != from);
        assert_eq!(pairs.map(|(king, from)| beside(king, from)).max(), Some(most));
        let mut weights = vec![0; set.row_count()];
        weights[12 + 2 * role] = 1;
        let pieces = [8, 10, 10, 10, 9, 1][role];
        assert_eq!(set.bound_sums(&weights), [0, pieces * most], "role {role}");
    }
}
