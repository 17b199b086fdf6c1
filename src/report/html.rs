//! Runs and comparisons as sections of a page.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::TextTable;
use super::compare::{Comparison, MeasuredEvaluation};
use super::deep::{Calibration, CalibrationBin, DeepComparison, Disagreement, DisputedPosition};
use super::elo::Elo;
use super::table::format_loss;
use crate::digits::{format_duration, group_digits};
use crate::draw::page::render_figure;
use crate::draw::{Chart, ChartLine, Section, board};
use crate::log::LogRow;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportRun {
    pub name: String,
    /// Facts about model and data, each a name and a value.
    pub about: Vec<(String, String)>,
    /// Every key of its config, sorted.
    pub settings: Vec<(String, String)>,
    pub rows: Vec<LogRow>,
    pub state: String,
}

/// Draws the evaluations as points with 95 % intervals, by loss, and by Elo where they played.
pub fn ranking_chart(comparison: &Comparison) -> Markup {
    let loss = |it: &MeasuredEvaluation| Some((it.loss.mean, it.loss.interval));
    let elo = |evaluation: &MeasuredEvaluation| {
        let Elo { value, low, high } = evaluation.elo?;
        Some((value?, low.zip(high).map(|(low, high)| [low, high])))
    };
    let about = "Lower is better. Intervals may overlap where pairs differ, see the table.";
    html! {
        div.figures {
            (ranked_chart(comparison, ["Loss against results", about, "loss, 95 %"], loss))
            @if let Some(games) = &comparison.games {
                @let zero = games.zero.as_ref().map_or(String::new(), |it| format!(" {it} is 0."));
                @let about = format!("By {} games between them.{zero}", group_digits(games.count));
                (ranked_chart(comparison, [&games.title(), &about, "Elo, 95 %"], elo))
            }
        }
    }
}

/// Draws a ranking by a value with its interval. The texts are title, explanation and axis.
fn ranked_chart(
    comparison: &Comparison,
    [title, about, x]: [&str; 3],
    value: impl Fn(&MeasuredEvaluation) -> Option<(f64, Option<[f64; 2]>)>,
) -> Markup {
    let mut line = ChartLine { dots: true, ..ChartLine::default() };
    for (row, evaluation) in comparison.evaluations.iter().enumerate() {
        if let Some((value, interval)) = value(evaluation) {
            line.points.push([value, row as f64]);
            line.whiskers.extend(interval.map(|[low, high]| [row as f64, low, high]));
        }
    }
    let rows = comparison.evaluations.iter().map(|it| it.name.clone()).collect();
    let chart = Chart { title, x, rows, lines: vec![line], ..Chart::default() };
    render_figure(title, about, "ranking", &chart.to_markup())
}

/// Writes a line of facts about the making of a page: duration, program, date, device.
pub fn facts_line(facts: impl IntoIterator<Item = String>) -> Markup {
    html! { p.soft.made { (facts.into_iter().collect::<Vec<_>>().join(", ")) } }
}

pub fn comparison_section(comparison: &Comparison, names: &[(String, String)]) -> Section {
    let body = html! {
        (comparison.to_table(true).to_markup())
        ul.names { @for (name, what) in names { li.soft { b { (name) } ": " (what) } } }
        @for line in comparison.legend_lines(true) { p.soft { (line) } }
        @if comparison.pairs.len() > 1 {
            details { summary { "All pairs" } (comparison.pair_table().to_markup()) }
        }
    };
    Section::new("Comparison", body)
}

/// Makes the section of terms before and after their tuning.
pub fn tuning_section(comparison: &Comparison) -> Section {
    let body = html! {
        p { (comparison.gain_sentence()) }
        (comparison.to_table(false).to_markup())
        @for line in comparison.legend_lines(false) { p.soft { (line) } }
    };
    Section::new("Before and after", body)
}

pub fn phases_section(deep: &DeepComparison) -> Section {
    let body = html! { p.soft { (deep.phase_legend()) } (deep.phase_table().to_markup()) };
    Section::new("Phases", body)
}

pub fn calibration_section(calibrations: &[Calibration], noun: &str) -> Section {
    let body = html! {
        p.soft {
            "Expected results, sigmoid(cp / scale), against results. Bands are 95 % intervals over "
            (noun) "."
        }
        div.figures.squares {
            @for (i, calibration) in calibrations.iter().enumerate() {
                (render_figure(&calibration.name, &calibration.summary_sentence(), "square", &calibration_curve(calibration, i)))
            }
        }
    };
    Section::new("Calibration", body)
}

fn calibration_curve(calibration: &Calibration, colour: usize) -> Markup {
    let bins = &calibration.bins;
    let points = bins.iter().map(|bin| [bin.expected, bin.observed.mean]).collect();
    let band =
        |bin: &CalibrationBin| bin.observed.interval.map(|[low, high]| [bin.expected, low, high]);
    let band = bins.iter().filter_map(band).collect();
    let line = ChartLine { colour, dots: true, points, band, ..ChartLine::default() };
    let (title, x, y) = ("calibration", "expected result", "mean result");
    Chart { title, x, y, calibration: true, lines: vec![line], ..Chart::default() }.to_markup()
}

pub fn disagreements_section(disagreements: &[Disagreement]) -> Section {
    let body = html! {
        (board::piece_outlines())
        p.soft { "Centipawns, expected and real result, seen by the side to move." }
        @for (number, disagreement) in disagreements.iter().enumerate() {
            details open[number == 0] {
                summary { (disagreement.summary_sentence()) }
                div.boards {
                    @for position in &disagreement.positions {
                        (disputed_board(&disagreement.names, position))
                    }
                }
            }
        }
    };
    Section::new("Disagreements", body)
}

/// Draws a disputed position as a board, with its result above and both values below.
fn disputed_board(names: &[String; 2], position: &DisputedPosition) -> Markup {
    let fen = &position.fen;
    let turn = if fen.split(' ').nth(1) == Some("b") { "Black" } else { "White" };
    html! {
        figure.board {
            figcaption { (turn) " to move, result " (position.result) }
            (board::position_board(fen))
            @for i in 0..2 { p { (names[i]) " " (position.format_value(i).replace(" cp", "\u{a0}cp")) } }
            p.soft { (fen) }
        }
    }
}

pub fn quantising_section(deep: &DeepComparison) -> Section {
    Section::new("Integers", deep.quantising_table().to_markup())
}

impl ReportRun {
    /// Lists the losses at the best row, or else the last one, and the length.
    fn training_facts(&self) -> Vec<(String, String)> {
        let row = self.best_row().or(self.rows.last());
        let cell = |loss: fn(&LogRow) -> Option<f64>| {
            let row = row?;
            Some(format!("{} at step {}", format_loss(loss(row)?), group_digits(row.step)))
        };
        let length = self.rows.last().map(|row| {
            let [steps, positions] = [row.step, row.positions].map(group_digits);
            let separator = if self.state.is_empty() { "" } else { ", " };
            format!("{steps} steps, {positions} positions{separator}{}", self.state)
        });
        let facts = [
            ("validation loss", cell(|row| row.held_out_loss)),
            ("training loss", cell(|row| row.train_loss)),
            ("trained", length),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
    }

    fn best_row(&self) -> Option<&LogRow> {
        let known = self.rows.iter().filter_map(|row| Some((row.held_out_loss?, row)));
        known.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, row)| row)
    }

    /// Returns the seconds of training, without validations; None before the first step.
    pub fn training_seconds(&self) -> Option<f64> {
        let span = |two: &[LogRow]| {
            let positions = two[1].positions.saturating_sub(two[0].positions);
            Some(positions as f64 / two[1].positions_per_second?)
        };
        self.rows.windows(2).filter_map(span).reduce(|sum, span| sum + span)
    }

    /// Makes a line of a value over positions.
    fn line_over_positions(
        &self,
        name: String,
        colour: usize,
        value: fn(&LogRow) -> Option<f64>,
    ) -> ChartLine {
        let point = |row: &LogRow| Some([row.positions as f64, value(row)?]);
        let points = self.rows.iter().filter_map(point).collect();
        ChartLine { name, colour, points, ..ChartLine::default() }
    }
}

/// Leaves out points of the first tenth that lie above all later ones, which they would flatten.
fn without_start(mut line: ChartLine) -> ChartLine {
    let first = line.points.last().map_or(0.0, |[x, _]| *x) / 10.0;
    let later = line.points.iter().filter(|[x, _]| *x > first).map(|[_, loss]| *loss);
    let highest = later.reduce(f64::max).unwrap_or(f64::INFINITY);
    line.points.retain(|[x, loss]| *x > first || *loss <= highest);
    line
}

/// Makes a section with the losses of several runs side by side, and curves over common axes.
pub fn curves_section(runs: &[ReportRun]) -> Section {
    let titles = [
        ["<run", "steps", "positions"],
        ["best validation", "training there", "at step"],
        ["last validation", "time", "<"],
    ];
    let mut table = TextTable::with_titles(titles.as_flattened());
    for run in runs {
        let (last, best) = (run.rows.last(), run.best_row());
        let count = |value: Option<u64>| value.map_or("-".into(), group_digits);
        let cell = |value: Option<Option<f64>>| value.flatten().map_or("-".into(), format_loss);
        table.add_row([
            run.name.clone(),
            count(last.map(|row| row.step)),
            count(last.map(|row| row.positions)),
            cell(best.map(|row| row.held_out_loss)),
            cell(best.map(|row| row.train_loss)),
            count(best.map(|row| row.step)),
            cell(last.map(|row| row.held_out_loss)),
            run.training_seconds().map_or("-".into(), format_duration),
            run.state.clone(),
        ]);
    }
    let several = runs.len() > 1;
    let label = |text: String| if several { text } else { String::new() };
    let each_run = |value: fn(&LogRow) -> Option<f64>| -> Vec<ChartLine> {
        runs.iter()
            .enumerate()
            .map(|(i, run)| run.line_over_positions(label(run.name.clone()), i, value))
            .collect()
    };
    let losses = runs.iter().enumerate().flat_map(|(i, run)| {
        let name = |what: &str| label(format!("{}, ", run.name)) + what;
        let training = run.line_over_positions(name("training"), i, |row| row.train_loss);
        let validation = run.line_over_positions(name("validation"), i, |row| row.held_out_loss);
        [validation, ChartLine { dashed: true, ..training }]
    });
    let losses = losses.map(without_start).collect();
    let result_losses = each_run(|row| row.held_out_result_loss);
    let result_losses = result_losses.into_iter().map(without_start).collect();
    let speeds = each_run(|row| row.positions_per_second);
    let pictures = [
        ("Loss", "Against the training target of each run.", "loss", losses),
        (
            "Validation loss against results",
            "Comparable between runs with different targets.",
            "loss",
            result_losses,
        ),
        ("Speed", "Between two validations.", "positions/s", speeds),
        ("Learning rate", "", "rate", each_run(|row| row.learning_rate)),
    ];
    let drawn: Vec<Markup> = pictures
        .into_iter()
        .filter(|(.., lines)| lines.iter().any(|line: &ChartLine| !line.points.is_empty()))
        .map(|(title, about, y, lines)| {
            let chart = Chart { title, x: "positions", y, lines, ..Chart::default() };
            render_figure(title, about, "", &chart.to_markup())
        })
        .collect();
    let body = html! {
        @if several { (table.to_markup()) }
        div.figures { @for picture in drawn { (picture) } }
    };
    Section::new("Training", body)
}

/// Writes the facts of each run, the model first. Losses of several are in [`curves_section`].
pub fn run_facts(runs: &[ReportRun]) -> Markup {
    html! {
        @for run in runs {
            @let (model, data) = run.about.split_at(1);
            @let training = if runs.len() > 1 { Vec::new() } else { run.training_facts() };
            @if runs.len() > 1 { h3 { (run.name) } }
            table.facts {
                @for (fact, value) in model.iter().chain(&training).chain(data) {
                    tr { td.left.soft { (fact) } td.left { (value) } }
                }
            }
        }
    }
}

/// Makes the section of config keys; keys that differ come first.
pub fn settings_section(runs: &[ReportRun]) -> Section {
    let keys: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.settings.iter().map(|(key, _)| &key[..])).collect();
    let value = |run: &ReportRun, key: &str| {
        let setting = run.settings.iter().find(|(it, _)| it == key);
        setting.map_or("-".to_string(), |(_, value)| value.clone())
    };
    let differs =
        |key: &&str| runs.windows(2).any(|two| value(&two[0], key) != value(&two[1], key));
    let (differ, same): (Vec<&str>, Vec<&str>) = keys.into_iter().partition(differs);
    let settings_table = |runs: &[ReportRun], keys: &[&str]| {
        let mut titles = vec!["<key".to_string()];
        titles.extend(runs.iter().map(|run| format!("<{}", run.name)));
        let mut table = TextTable::with_titles(&titles);
        for key in keys {
            let values = runs.iter().map(|run| value(run, key));
            table.add_row(std::iter::once(key.to_string()).chain(values));
        }
        table.to_markup()
    };
    let body = html! {
        @if !differ.is_empty() { h3 { "Differences" } (settings_table(runs, &differ)) }
        details {
            summary { (if runs.len() > 1 { "Equal keys" } else { "All keys" }) }
            (settings_table(&runs[..1], &same))
        }
    };
    Section::new("Settings", body)
}
