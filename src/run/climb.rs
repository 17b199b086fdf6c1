//! The self-play loop: from no data at all to an evaluation.
//!
//! ```text
//!  best so far ─ selfplay ─▶ games ─ train, on the last few generations' ─▶ evaluation
//!       ▲                                                                      │
//!       └────────────── kept where it scores more than a half ─── match ◀──────┘
//! ```
//!
//! Each stage writes its file and is not repeated if the file exists: `001/games.vf`, `001/run`,
//! `001/match.json`. Games and matches depend on the seed alone, since nodes limit searches. So the
//! loop ends with the same files after any stops, with any number of threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::arena::{MatchRules, TimeControl, play_match};
use super::folder::{REPORT, is_finished};
use super::train::{RunContext, begin_or_resume};
use super::{Host, SearchPlayer};
use crate::config::Config;
use crate::engine::game::Adjudication;
use crate::engine::journal;
use crate::engine::opening::Openings;
use crate::engine::{JobPart, Limit, ParallelPlayers, PlayerFactory, SelfplayJob, play_games};
use crate::format::viriformat;
use crate::input;
use crate::output;
use crate::report::TextTable;
use crate::report::elo::{PairCounts, PairedGames, rate_players};
use crate::sample::mix_hash;

/// Smallest and largest number of half-moves of random openings.
const PLIES: (u32, u32) = (8, 9);

#[derive(Clone, Debug)]
pub struct ClimbSettings {
    /// The evaluation that plays the first games.
    pub start: String,
    pub generations: u64,
    /// Games per generation.
    pub games: u64,
    /// Nodes of a search in these games after which no iteration starts.
    pub soft_nodes: u64,
    /// Generations whose games are used for training.
    pub window: u64,
    /// Pairs of games per match.
    pub pairs: u64,
    /// Nodes per move in a match.
    pub nodes: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClimbGeneration {
    /// Best generation before this one; 0 is the start.
    pub best: u64,
    /// Pairs against the best one.
    pub against_best: PairCounts,
}

impl ClimbGeneration {
    pub fn is_kept(&self) -> bool {
        self.against_best.mean_score().is_some_and(|score| score > 0.5)
    }

    fn verdict_word(&self) -> &'static str {
        if self.is_kept() { "kept" } else { "dropped" }
    }
}

pub struct Climb<'a> {
    config: Config,
    settings: &'a ClimbSettings,
    out: &'a Path,
    context: &'a RunContext<'a>,
    host: Host<'a>,
    /// Finished generations, from 1 on.
    pub generations: Vec<ClimbGeneration>,
}

impl<'a> Climb<'a> {
    /// Opens the start. The games of each generation replace `data.files` of the config.
    pub fn new(
        config: Config,
        settings: &'a ClimbSettings,
        out: &'a Path,
        context: &'a RunContext<'a>,
    ) -> Result<Self> {
        let host = context.open_host(&config)?;
        let climb = Self { config, settings, out, context, host, generations: Vec::new() };
        climb.open_player(0)?;
        Ok(climb)
    }

    /// Runs the loop from the state of the folder. Returns false if it was interrupted.
    pub fn run_generations(&mut self) -> Result<bool> {
        for number in 1..=self.settings.generations {
            let file = self.generation_folder(number).join("match.json");
            if !file.exists() {
                if !(self.play_games(number)? && self.train_generation(number)?) {
                    return Ok(false);
                }
                let best = self.best_generation();
                let Some(against_best) = self.play_best(number, best)? else { return Ok(false) };
                let text =
                    serde_json::to_string_pretty(&ClimbGeneration { best, against_best })? + "\n";
                output::write_file(&file, text.as_bytes())?;
            }
            let name = || file.display().to_string();
            let text = input::read_text(&file, input::TEXT).with_context(name)?;
            let generation: ClimbGeneration = serde_json::from_str(&text).with_context(name)?;
            self.context.listener.report_remark(&format!(
                "generation {number} of {}: {}, {} above {}",
                self.settings.generations,
                generation.verdict_word(),
                generation.against_best.elo_difference(),
                self.generation_name(generation.best)
            ));
            self.generations.push(generation);
        }
        Ok(true)
    }

    /// Returns the best generation so far; 0 is the start.
    pub fn best_generation(&self) -> u64 {
        let last = self.generations.iter().rposition(ClimbGeneration::is_kept);
        last.map_or(0, |index| index as u64 + 1)
    }

    fn generation_folder(&self, number: u64) -> PathBuf {
        self.out.join(format!("{number:03}"))
    }

    fn games_path(&self, number: u64) -> PathBuf {
        self.generation_folder(number).join("games.vf")
    }

    /// Returns the path of a generation's evaluation: a run folder, or the start.
    pub fn evaluation_path(&self, number: u64) -> PathBuf {
        match number {
            0 => self.settings.start.clone().into(),
            _ => self.generation_folder(number).join("run"),
        }
    }

    fn generation_name(&self, number: u64) -> String {
        if number == 0 { self.settings.start.clone() } else { format!("generation {number}") }
    }

    fn open_player(&self, number: u64) -> Result<SearchPlayer> {
        let name = self.evaluation_path(number);
        SearchPlayer::open_player(&name.to_string_lossy(), None, &self.host)
    }

    fn selfplay_openings() -> Openings {
        Openings { plies: PLIES, ..Openings::default() }
    }

    /// Plays games of the best generation against itself; false if interrupted.
    fn play_games(&self, number: u64) -> Result<bool> {
        let output = self.games_path(number);
        // The journal is removed when the games are complete.
        if output.exists() && !journal::path_of(&output).exists() {
            return Ok(true);
        }
        let &ClimbSettings { games, soft_nodes, .. } = self.settings;
        let job = SelfplayJob {
            output,
            format: &viriformat::FORMAT,
            games,
            range: 0..games,
            seed: mix_hash(self.config.file.seed, number),
            limit: Limit::SoftNodes { soft: soft_nodes, hard: soft_nodes.saturating_mul(10) },
            openings: Self::selfplay_openings(),
            adjudication: Adjudication::default(),
            crew: ParallelPlayers {
                entrant: Arc::new(self.open_player(self.best_generation())?),
                players: rayon::current_num_threads(),
            },
        };
        Ok(!play_games(&job, self.context.listener)?.stopped)
    }

    /// Trains on the games of the last generations; false if interrupted.
    fn train_generation(&self, number: u64) -> Result<bool> {
        let path = self.generation_folder(number).join("run");
        let has_page = !self.context.page || path.join(REPORT).exists();
        if is_finished(&path) && has_page {
            return Ok(true);
        }
        let first = number.saturating_sub(self.settings.window - 1).max(1);
        let files = (first..=number).map(|it| self.games_path(it)).collect();
        let config = self.config.with_changes(|file| file.data.files = files)?;
        begin_or_resume(&config, &path, self.context)
    }

    /// Plays a generation against the best one. Returns None if interrupted.
    fn play_best(&self, number: u64, best: u64) -> Result<Option<PairCounts>> {
        let &ClimbSettings { pairs, nodes, .. } = self.settings;
        let players: [Box<dyn PlayerFactory>; 2] =
            [Box::new(self.open_player(number)?), Box::new(self.open_player(best)?)];
        let rules = MatchRules {
            pace: TimeControl::Nodes(nodes),
            openings: Self::selfplay_openings(),
            adjudication: Adjudication::default(),
            // Different from the openings of all training games.
            seed: mix_hash(mix_hash(self.config.file.seed, number), 1 + best),
        };
        let parts = (pairs, JobPart::WHOLE);
        let played = play_match(&players, &rules, parts, None, None, self.context.listener)?;
        // An incomplete match is not used: stopping it when it looks good would bias the result.
        let played = played.meetings[0].pairs;
        Ok((played.len() == pairs).then_some(played))
    }

    /// Makes a table with one row per generation. All are rated together, the start at 0.
    pub fn generations_table(&self) -> TextTable {
        let names: Vec<String> =
            (0..=self.generations.len()).map(|it| self.generation_name(it as u64)).collect();
        let meeting = |(number, it): (usize, &ClimbGeneration)| PairedGames {
            players: [number, it.best as usize],
            pairs: it.against_best,
        };
        let meetings: Vec<PairedGames> = (1..).zip(&self.generations).map(meeting).collect();
        let rated = rate_players(&names, &meetings, Some(0));
        let above = format!("above {}", self.settings.start);
        let mut table = TextTable::with_titles(&["generation", "met", "Elo, ± 95 %", "", &above]);
        for (number, generation) in (1..).zip(&self.generations) {
            let match_elo = generation.against_best.elo_difference();
            let [match_elo, elo] = [match_elo, rated.elo_of(number)].map(|it| it.format_cell());
            let verdict = generation.verdict_word().to_string();
            let best = generation.best.to_string();
            table.add_row([number.to_string(), best, match_elo, verdict, elo]);
        }
        table
    }
}
