//! Matches read from games in PGN, by any program: players, and pairs of games of one opening.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::evaluation_names::short_name;
use super::evaluator::Evaluator;
use super::path::{evaluated_file, weights_file};
use crate::digest;
use crate::digits::count_noun;
use crate::format::pgn::{self, Scoresheet};
use crate::format::{Fault, unpack};
use crate::report::PlayedGames;
use crate::report::elo::{PairCounts, PairedGames};

/// Tags with the first digits of the SHA-256 of White's and Black's file.
pub const DIGESTS: [&str; 2] = ["WhiteDigest", "BlackDigest"];

pub struct Match {
    pub played: PlayedGames,
    /// Notes on games that are left out.
    pub notes: Vec<String>,
    /// Games lost on time or by a fault; None if no game says how it ended.
    pub forfeits: Option<u64>,
    players: Vec<MatchPlayer>,
    /// Names of the files, for messages.
    files: String,
}

/// A player of a match. Names alone do not distinguish two versions of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchPlayer {
    pub name: String,
    /// Digest of its file, see [`DIGESTS`]; None if it has no file, or the games lack the tag.
    pub digest: Option<String>,
}

/// White and Black of a game, by index, and its score sheet.
type MatchGame = ([usize; 2], Scoresheet);

/// Reads PGN files, each a match. Players with equal names and digests are the same.
pub fn read_matches(files: &[PathBuf]) -> Result<Match> {
    let mut players: Vec<MatchPlayer> = Vec::new();
    let (mut notes, mut paces, mut forfeits) = (Vec::new(), BTreeSet::new(), None);
    let mut meetings: BTreeMap<[usize; 2], PairCounts> = BTreeMap::new();
    for file in files {
        let games = read_file_games(file, &mut players)?;
        let mut games_of_two: BTreeMap<[usize; 2], Vec<usize>> = BTreeMap::new();
        for (game, ([white, black], _)) in games.iter().enumerate() {
            games_of_two.entry([*white.min(black), *white.max(black)]).or_default().push(game);
        }
        paces.extend(games.iter().map(|(_, sheet)| sheet.find_tag("Nodes").map(str::to_string)));
        for forfeit in games.iter().filter_map(|(_, sheet)| sheet.is_forfeit()) {
            forfeits = Some(forfeits.unwrap_or(0) + u64::from(forfeit));
        }
        let mut paired = 0;
        for (two, games_of_two) in games_of_two {
            for pair in pair_games(&games, &games_of_two) {
                let result = |game: usize| {
                    let ([white, _], sheet) = &games[game];
                    let white_result = sheet.white_result.expect("pairs have results");
                    if *white == two[0] { white_result } else { 1.0 - white_result }
                };
                meetings.entry(two).or_default().add(pair.map(result));
                paired += 2;
            }
        }
        let shown = file.display();
        let rest = format!(
            "{} without a pair or a result",
            count_noun(games.len() as u64 - paired, "game")
        );
        ensure!(
            paired > 0,
            "{shown} holds no pairs of games, each opening played twice with the colours exchanged; it \
             holds {rest}"
        );
        if paired < games.len() as u64 {
            notes.push(format!("{shown}: {rest} left out"));
        }
    }
    if let Some(forfeits @ 1..) = forfeits {
        notes.push(format!("{} lost on time or by failures", count_noun(forfeits, "game")));
    }
    let names = (0..players.len()).map(|player| display_name(&players, player)).collect();
    let meetings = meetings.into_iter().map(|(players, pairs)| PairedGames { players, pairs });
    let shown: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let nodes = paces.pop_first().flatten().filter(|_| paces.is_empty());
    let nodes = nodes.and_then(|nodes| nodes.parse().ok());
    let played = PlayedGames { names, meetings: meetings.collect(), nodes };
    Ok(Match { played, notes, forfeits, players, files: shown.join(", ") })
}

impl Match {
    /// Finds each evaluation among the players: by its file's digest, or by its name if the games
    /// have no digest. None if it did not play in its present form. Also returns notes.
    pub fn match_players(
        &self,
        evaluators: &[Evaluator],
    ) -> Result<(Vec<Option<usize>>, Vec<String>)> {
        let mut notes = Vec::new();
        let players = evaluators.iter().map(|evaluator| self.find_player(evaluator, &mut notes));
        let players = players.collect::<Result<Vec<_>>>()?;
        if players.iter().all(Option::is_none) {
            let names = self.played.names.join(", ");
            notes.push(format!("nothing of this comparison played in {}: {names}", self.files));
        }
        Ok((players, notes))
    }

    fn find_player(&self, evaluator: &Evaluator, notes: &mut Vec<String>) -> Result<Option<usize>> {
        let find = |is_it: &dyn Fn(&MatchPlayer) -> bool| self.players.iter().position(is_it);
        if !evaluator.is_trained() {
            return Ok(find(&|it| it.name == evaluator.name && it.digest.is_none()));
        }
        let path = weights_file(Path::new(&evaluated_file(&evaluator.name_or_path)));
        let digest = digest::short_of_file(&path);
        let digest = Some(digest.with_context(|| format!("cannot read {}", path.display()))?);
        let name = short_name(&path);
        let is_called = |it: &MatchPlayer| it.name == name || it.name == evaluator.name_or_path;
        let player = find(&|it| is_called(it) && it.digest == digest)
            .or_else(|| find(&|it| it.digest == digest))
            .or_else(|| find(&|it| is_called(it) && it.digest.is_none()));
        if player.is_none() && self.players.iter().any(is_called) {
            notes.push(format!("{name} was another file when it played: its Elo is left out"));
        }
        Ok(player)
    }
}

/// Reads the games of a PGN file.
pub fn read_games(file: &Path) -> Result<Vec<Scoresheet>> {
    let shown = file.display();
    let input = unpack::open_unpacked(file).with_context(|| format!("cannot read {shown}"))?;
    match pgn::read_scoresheets(Box::new(BufReader::new(input))) {
        Ok(sheets) => Ok(sheets),
        Err(Fault::Io(error)) => Err(error).with_context(|| format!("cannot read {shown}")),
        Err(Fault::Skipped(bad) | Fault::CutOff(bad)) => bail!("{shown}, {bad}"),
    }
}

/// Reads the games of a file with their players, and adds new players.
fn read_file_games(file: &Path, players: &mut Vec<MatchPlayer>) -> Result<Vec<MatchGame>> {
    let shown = file.display();
    let mut games = Vec::new();
    for sheet in read_games(file)? {
        let mut read_player = |side: &str, digest: &str| -> Result<usize> {
            let Some(name) = sheet.find_tag(side) else {
                bail!(
                    "{shown}, line {}: the game does not say who played; the games of a match \
                     have the tags White and Black",
                    sheet.line
                );
            };
            let digest = sheet.find_tag(digest).map(str::to_string);
            let player = MatchPlayer { name: name.to_string(), digest };
            let index = players.iter().position(|it| *it == player).unwrap_or(players.len());
            if index == players.len() {
                players.push(player);
            }
            Ok(index)
        };
        let both = [read_player("White", DIGESTS[0])?, read_player("Black", DIGESTS[1])?];
        ensure!(
            both[0] != both[1],
            "{shown}, line {}: {} plays against itself, which compares nothing",
            sheet.line,
            players[both[0]].name
        );
        games.push((both, sheet));
    }
    Ok(games)
}

/// Pairs the games of two players: two games of one round, or else consecutive ones.
fn pair_games(games: &[MatchGame], games_of_two: &[usize]) -> Vec<[usize; 2]> {
    let is_pair = |pair: [usize; 2]| {
        let [([white, _], first), ([_, black], second)] = pair.map(|game| &games[game]);
        let have_ended = first.white_result.is_some() && second.white_result.is_some();
        have_ended && white == black && first.start == second.start
    };
    let mut waiting: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut pairs = Vec::new();
    for game in games_of_two {
        // "12.1" and "12.2", or "12" twice.
        let Some(round) = games[*game].1.find_tag("Round") else { continue };
        let round = round.split_once('.').map_or(round, |(round, _)| round);
        let waiting = waiting.entry(round).or_default();
        match waiting.iter().position(|earlier| is_pair([*earlier, *game])) {
            Some(index) => pairs.push([waiting.remove(index), *game]),
            None => waiting.push(*game),
        }
    }
    if pairs.is_empty() {
        let mut rest = games_of_two;
        while let [first, second, after @ ..] = rest {
            let is_pair = is_pair([*first, *second]);
            pairs.extend(is_pair.then_some([*first, *second]));
            rest = if is_pair { after } else { &rest[1..] };
        }
    }
    pairs
}

/// Returns the name of a player, with its digest if another player has the same name.
fn display_name(players: &[MatchPlayer], index: usize) -> String {
    let MatchPlayer { name, digest } = &players[index];
    match players.iter().filter(|it| it.name == *name).count() {
        1 => name.clone(),
        _ => format!("{name} ({})", digest.as_deref().unwrap_or("no digest")),
    }
}
