//! Matches of evaluations and engines in pairs of games, with the colours exchanged.

use std::cell::Cell;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;

use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Position as _};

use super::played::{self, DIGESTS, MatchPlayer};
use crate::digest;
use crate::engine::clock::Stopwatch;
use crate::engine::game::{Adjudication, Ending, EngineGame};
use crate::engine::journal::{self, Journal, JournalError};
use crate::engine::opening::{Opener, Openings, StartPosition};
use crate::engine::player::MoveResult;
use crate::engine::pool::{self, AttemptedItem, FailureResponse, ItemError};
use crate::engine::uci::{EngineFault, GameLine};
use crate::engine::{EngineError, JobPart, Limit, Player, PlayerFactory};
use crate::format::pgn::AnnotatedGame;
use crate::interface::Clock;
use crate::progress::Progress;
use crate::report::elo::{Decision, PairCounts, PairedGames, Sprt};

#[derive(Clone, Debug)]
pub struct MatchRules {
    pub pace: TimeControl,
    /// Openings. Their bound applies to the first search of either side.
    pub openings: Openings,
    pub adjudication: Adjudication,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeControl {
    /// Nodes per move.
    Nodes(u64),
    Clock(Clock),
}

/// The number of consecutive pairs with a failure that ends the match.
const MAX_CONSECUTIVE_FAILURES: u64 = 5;
/// Milliseconds by which a clock may be exceeded: overhead of the machine, not of the player.
const GRACE: u64 = 20;

#[derive(Debug, Default)]
pub struct MatchResult {
    /// Pairs between any two players.
    pub meetings: Vec<PairedGames>,
    /// Games lost on time or by a failure; None if unknown.
    pub forfeits: Option<u64>,
    pub fault: Option<String>,
}

impl MatchResult {
    fn add(&mut self, meeting: usize, pair: &GamePair) {
        self.meetings[meeting].pairs.add(pair.results);
        self.forfeits = self.forfeits.map(|forfeits| forfeits + pair.forfeits);
    }
}

/// Results of a pair of games, as stored for a resumed match.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GamePair {
    /// Results from the point of view of the first of the two players.
    pub results: [f64; 2],
    /// Games lost on time or by a failure.
    pub forfeits: u64,
}

impl GamePair {
    fn from_games(games: &[PlayedGame; 2]) -> Self {
        let endings = games.each_ref().map(|it| it.game.ending);
        let [as_white, as_black] = endings.map(Ending::white_result);
        let forfeit = |it: &&Ending| matches!(it, Ending::Late(_) | Ending::Failed(_));
        let forfeits = endings.iter().filter(forfeit).count() as u64;
        Self { results: [as_white, 1.0 - as_black].map(f64::from), forfeits }
    }

    fn is_possible(&self) -> bool {
        self.forfeits <= 2 && self.results.iter().all(|it| [0.0, 0.5, 1.0].contains(it))
    }
}

/// Plays `part` of `pairs` pairs between any two players, or until `sprt` decides. After a stop the
/// finished pairs count. Pairs in `recorder` are not played again; new ones are added to it.
pub fn play_match<'a>(
    entrants: &'a [Box<dyn PlayerFactory + 'a>],
    rules: &MatchRules,
    (pairs, part): (u64, JobPart),
    sprt: Option<&Sprt>,
    mut recorder: Option<Recorder>,
    progress: &dyn Progress,
) -> Result<MatchResult, EngineError> {
    let opener = Opener::new(&rules.openings, rules.seed, pairs)?;
    opener.note.iter().for_each(|note| progress.report_remark(note));
    let opponents = |first| (first + 1..entrants.len()).map(move |second| [first, second]);
    let meetings: Vec<[usize; 2]> = (0..entrants.len()).flat_map(opponents).collect();
    let meeting = |&players: &[usize; 2]| PairedGames { players, pairs: PairCounts::default() };
    let mut played = MatchResult {
        meetings: meetings.iter().map(meeting).collect(),
        forfeits: Some(0),
        fault: None,
    };
    let range = part.item_range(pairs * meetings.len() as u64);
    let total = range.end - range.start;
    let meeting_of_pair = |number: u64| (number / pairs) as usize;
    let mut next = range.start;
    for pair in recorder.iter().flat_map(|recorder| &recorder.journal.notes).take(total as usize) {
        played.add(meeting_of_pair(next), pair);
        next += 1;
    }
    let _guard = progress.begin_guarded("pairs", Some(total), next - range.start);
    let decides =
        |pairs: &PairCounts| sprt.is_some_and(|it| it.decide_after(pairs) != Decision::GoOn);
    let decided = Cell::new(decides(&played.meetings[0].pairs));
    let start = || entrants.iter().map(|entrant| Seat::new(&**entrant)).collect();
    let workers = (start, rayon::current_num_threads());
    let work = |seats: &mut Vec<Seat<'a>>, number: &u64| {
        let players = meetings[meeting_of_pair(*number)];
        let sides = seats.get_disjoint_mut(players).expect("two different players");
        play_pair(sides, (&opener, number % pairs), rules)
    };
    let items = (next..range.end).map(Ok);
    let mut failures = 0;
    let keep = |(number, made): AttemptedItem<u64, [PlayedGame; 2]>| {
        if decided.get() {
            return Ok(());
        }
        let games = made.map_err(|error| match error.response {
            FailureResponse::EndJob => EngineError::NodesIgnored(error.reason),
            _ => EngineError::Match(error.reason),
        })?;
        let meeting = meeting_of_pair(number);
        let pair = GamePair::from_games(&games);
        let players = meetings[meeting];
        next += 1;
        played.add(meeting, &pair);
        if let Some(recorder) = &mut recorder {
            recorder.add(players, number % pairs, games.each_ref().map(|it| &it.game), pair)?;
        }
        match games.into_iter().find_map(|game| game.fault) {
            None => failures = 0,
            Some(fault) => {
                failures += 1;
                let reason = played.fault.get_or_insert_with(|| fault.to_string()).clone();
                if failures == MAX_CONSECUTIVE_FAILURES {
                    return Err(EngineError::Hopeless { count: failures, reason });
                }
            }
        }
        decided.set(decides(&played.meetings[meeting].pairs));
        let [first, second] = players.map(|player| entrants[player].player_name());
        let elo = played.meetings[meeting].pairs.elo_difference();
        progress.report_message(&format!("{first} - {second}: {}", elo.format_cell()));
        progress.advance_work(1);
        Ok(())
    };
    let ended =
        pool::run_workers(workers, items, work, keep, &|| decided.get() || progress.should_stop());
    if let (true, Some(recorder)) =
        (ended.is_err(), recorder.take_if(|it| it.journal.progress.items == 0))
    {
        // The next match will have other rules or options and cannot resume this one.
        recorder.journal.finish_job()?;
    }
    ended?;
    if let Some(recorder) = recorder.filter(|_| next == range.end || decided.get()) {
        recorder.journal.finish_job()?;
    }
    Ok(played)
}

/// A game and its failure, if any.
struct PlayedGame {
    game: EngineGame,
    /// The failure of a player, which lost the game.
    fault: Option<EngineFault>,
}

/// An entrant and its player; the player is None after it has failed.
struct Seat<'a> {
    entrant: &'a (dyn PlayerFactory + 'a),
    player: Option<Box<dyn Player + 'a>>,
}

impl<'a> Seat<'a> {
    fn new(entrant: &'a (dyn PlayerFactory + 'a)) -> Result<Self, EngineError> {
        Ok(Self { entrant, player: Some(entrant.start_player()?) })
    }

    /// Returns the player, restarted if it has failed.
    fn ready_player(&mut self) -> Result<&mut Box<dyn Player + 'a>, ItemError> {
        if self.player.is_none() {
            let started = self.entrant.start_player();
            self.player = Some(started.map_err(|error| no_game(error.to_string()))?);
        }
        Ok(self.player.as_mut().expect("it was started"))
    }
}

fn no_game(reason: String) -> ItemError {
    ItemError { fen: String::new(), reason, response: FailureResponse::Skip }
}

/// Plays both games of a pair by its number. The first player is White in the first game.
fn play_pair(
    mut sides: [&mut Seat; 2],
    (opener, number): (&Opener, u64),
    rules: &MatchRules,
) -> Result<[PlayedGame; 2], ItemError> {
    let start = find_opening(&mut sides, opener, number, rules)?;
    let as_white = play_game(&mut sides, start.clone(), rules)?;
    sides.reverse();
    Ok([as_white, play_game(&mut sides, start, rules)?])
}

/// Finds the first opening that is balanced for both sides, if there is a choice.
fn find_opening(
    sides: &mut [&mut Seat; 2],
    opener: &Opener,
    number: u64,
    rules: &MatchRules,
) -> Result<Chess, ItemError> {
    let bound = rules.openings.bound.unsigned_abs();
    // The clocks do not run during this search.
    let limit = match rules.pace {
        TimeControl::Nodes(nodes) => Limit::Nodes(nodes),
        TimeControl::Clock(clock) => Limit::Movetime((clock.time / 50).clamp(1, 100)),
    };
    'next: for start in opener.list_openings(number) {
        let line = GameLine::new(start.clone());
        if opener.has_choice() {
            for side in &mut *sides {
                let score = side.ready_player()?.search_without_memory(&line, limit)?.score;
                if score.is_some_and(|score| score.to_centipawns().unsigned_abs() > bound) {
                    continue 'next;
                }
            }
        }
        return Ok(start);
    }
    let number = number + 1;
    let bound = rules.openings.bound;
    Err(no_game(format!(
        "no opening of pair {number} is unfinished and within {bound} cp for both sides; raise \
         --bound, or use other openings"
    )))
}

/// Plays a game; White is the first player.
fn play_game(
    sides: &mut [&mut Seat; 2],
    start: Chess,
    rules: &MatchRules,
) -> Result<PlayedGame, ItemError> {
    let [white, black] = &mut *sides;
    let mut players = [white.ready_player()?, black.ready_player()?];
    let mut clocks = match rules.pace {
        TimeControl::Clock(clock) => [clock; 2],
        TimeControl::Nodes(_) => Default::default(),
    };
    let mut fault = None;
    let mut has_begun = [false; 2];
    let next_move = |line: &GameLine| -> Result<ControlFlow<Ending, MoveResult>, Infallible> {
        let turn = line.chess.turn();
        let side = turn.fold_wb(0, 1);
        let limit = match rules.pace {
            TimeControl::Clock(_) => Limit::Clocks(clocks),
            TimeControl::Nodes(nodes) => Limit::Nodes(nodes),
        };
        let begun = std::mem::replace(&mut has_begun[side], true);
        let watch = Stopwatch::start();
        let answer = match begun {
            true => players[side].search_line(line, limit),
            false => players[side].search_without_memory(line, limit),
        };
        let took = watch.elapsed_milliseconds();
        let clock = &mut clocks[side];
        let in_time = took <= clock.time + GRACE;
        clock.time = clock.time.saturating_sub(took) + clock.increment;
        if matches!(rules.pace, TimeControl::Clock(_)) && !in_time {
            return Ok(ControlFlow::Break(Ending::Late(turn.other())));
        }
        Ok(match answer {
            Ok(searched) => ControlFlow::Continue(searched),
            Err(error) => {
                fault = Some((side, error));
                ControlFlow::Break(Ending::Failed(turn.other()))
            }
        })
    };
    let Ok(game) = EngineGame::play_game(start, rules.adjudication, next_move);
    if let Some((side, _)) = &fault {
        sides[*side].player = None;
    }
    match fault {
        Some((_, fault)) if fault.ignores_nodes => Err(fault.into()),
        fault => Ok(PlayedGame { game, fault: fault.map(|(_, fault)| fault) }),
    }
}

/// A PGN file of a match in progress, and its journal.
#[derive(Debug)]
pub struct Recorder {
    journal: Journal<GamePair>,
    players: Vec<MatchPlayer>,
    /// Tags with the rules of the games.
    tags: Vec<(&'static str, String)>,
}

impl Recorder {
    /// Starts a file, or resumes one with the same players and rules. It is for `part` of the `pairs`
    /// between any two players.
    ///
    /// # Errors
    ///
    /// [`EngineError::MatchComplete`] if the file has all games of this match, and is no part.
    pub fn open_match_file(
        path: &Path,
        entrants: &[Box<dyn PlayerFactory + '_>],
        rules: &MatchRules,
        (pairs, part): (u64, JobPart),
        sprt: Option<&Sprt>,
    ) -> Result<Self, EngineError> {
        let mut settings = vec![("job", "match".to_string())];
        let mut players = Vec::new();
        for entrant in entrants {
            let player_settings = entrant.list_settings()?;
            let digest =
                player_settings.iter().find(|(name, value)| *name == "digest" && !value.is_empty());
            let digest = digest.map(|(_, digest)| digest.chars().take(digest::SHORT).collect());
            players.push(MatchPlayer { name: entrant.player_name(), digest });
            settings.push(("player", entrant.player_name()));
            settings.extend(player_settings);
        }
        let mut tags = rule_tags(rules);
        settings.extend(tags.iter().cloned());
        settings.extend(rules.openings.list_settings()?);
        settings.push(("seed", rules.seed.to_string()));
        settings.push(("pairs", pairs.to_string()));
        let digest = digest::sha256_prefix(format!("{settings:?}{sprt:?}").as_bytes());
        settings.push(("part", format!("{part:?}")));
        settings.extend(sprt.map(|sprt| ("sprt", format!("{sprt:?}"))));
        tags.push((SETTINGS, digest[..digest::SHORT].into()));
        let count = entrants.len() as u64;
        let games = pairs * count * (count - 1);
        let journal: Journal<GamePair> = match Journal::open_job(path, &settings) {
            Err(JournalError::Exists(_))
                if part == JobPart::WHOLE && is_complete(path, &tags, games, sprt) =>
            {
                return Err(EngineError::MatchComplete(path.to_path_buf()));
            }
            journal => journal?,
        };
        if !journal.notes.iter().all(GamePair::is_possible) {
            return Err(JournalError::Strange(journal::path_of(path)).into());
        }
        Ok(Self { journal, players, tags })
    }

    /// Appends a pair and syncs it. In the first game the first of the two players has White.
    /// `number` counts the pairs of the same two from 0.
    fn add(
        &mut self,
        two: [usize; 2],
        number: u64,
        games: [&EngineGame; 2],
        pair: GamePair,
    ) -> Result<(), EngineError> {
        let mut bytes = Vec::new();
        for (i, game) in games.into_iter().enumerate() {
            let [white, black] = if i == 0 { two } else { [two[1], two[0]] };
            let players = [white, black].map(|player| &self.players[player]);
            let digests = DIGESTS.into_iter().zip(players);
            let digests = digests.filter_map(|(tag, player)| Some((tag, player.digest.clone()?)));
            let end = ("Termination", termination_tag(game.ending).to_string());
            let annotated = AnnotatedGame {
                event: "nnuance match",
                round: format!("{}.{}", number + 1, i + 1),
                players: players.map(|player| &player.name[..]),
                tags: digests.chain(self.tags.iter().cloned()).chain([end]).collect(),
                start: &game.start,
                plies: &game.plies,
                white_result: game.ending.white_result(),
            };
            let written = annotated.write_game(&mut bytes);
            written.map_err(|error| EngineError::Match(error.to_string()))?;
        }
        let before = self.journal.progress;
        let (items, written) = (before.items + 1, before.written + 2);
        let progress = journal::JobProgress { items, written, ..Default::default() };
        Ok(self.journal.commit_batch(&bytes, progress, &[pair])?)
    }
}

/// Tag with the first digits of the SHA-256 of all settings. It identifies a complete match.
const SETTINGS: &str = "Settings";

/// Returns whether a file has a complete match with these tags: all `games`, or an `sprt`.
fn is_complete(path: &Path, tags: &[(&str, String)], games: u64, sprt: Option<&Sprt>) -> bool {
    let (name, settings) = tags.last().expect("the settings");
    let sheets = played::read_games(path).unwrap_or_default();
    let is_this = sheets.first().is_some_and(|game| game.find_tag(name) == Some(settings));
    is_this && (sprt.is_some() || sheets.len() as u64 == games)
}

/// Makes the tags that describe the rules of a game.
fn rule_tags(rules: &MatchRules) -> Vec<(&'static str, String)> {
    let seconds = |milliseconds: u64| milliseconds as f64 / 1000.0;
    let pace = match rules.pace {
        TimeControl::Nodes(nodes) => ("Nodes", nodes.to_string()),
        TimeControl::Clock(Clock { time, increment, .. }) => {
            ("TimeControl", format!("{}+{}", seconds(time), seconds(increment)))
        }
    };
    let (low, high) = rules.openings.plies;
    let plies = if low == high { high.to_string() } else { format!("{low} to {high}") };
    let from = match &rules.openings.start {
        StartPosition::Standard => String::new(),
        StartPosition::Chess960 => "Chess960, ".to_string(),
        StartPosition::DoubleChess960 => "double Chess960, ".to_string(),
        StartPosition::Book(path) => {
            format!("{}, ", path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
        }
    };
    let openings = ("Openings", format!("{from}{plies} random half-moves"));
    vec![pace, openings, ("Adjudication", rules.adjudication.to_string())]
}

/// Returns the end of a game in the words of PGN.
fn termination_tag(ending: Ending) -> &'static str {
    match ending {
        Ending::Won(_) | Ending::Level | Ending::TooLong => "adjudication",
        Ending::Late(_) => "time forfeit",
        Ending::Failed(_) => "abandoned",
        _ => "normal",
    }
}
