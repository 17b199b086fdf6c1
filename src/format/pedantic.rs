//! Tables of Pedantic: comma-separated, a header line `Hash,Ply,GamePly,FEN,Result`, then a
//! position a line.
//!
//! The result is White's unless the user says otherwise, written 1.0, 0.5, 0.0, 1-0, 1/2-1/2 or
//! 0-1. Other columns than FEN, Ply and Result are passed over, and the columns may stand in any
//! order; several tables put together are fine. Ply counts half-moves since the start of the game.
//!
//! Written are [`Position::key`](crate::sample::Position::key) as the hash, and the ply as GamePly,
//! the length of the game, which samples do not tell.

use super::lines::{self, Text};
use super::{BLOCK, Facts, Fault, Format, Holds, Reader, View, Writer, fields};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

const HEADER: &str = "Hash,Ply,GamePly,FEN,Result";

pub static FORMAT: Format = Format {
    name: "pedantic",
    about: "tables of Pedantic with the header Hash,Ply,GamePly,FEN,Result; result seen by White; \
            no scores",
    extensions: &["csv"],
    facts: Facts {
        scores: Holds::Never,
        plies: Holds::Always,
        moves: Holds::Never,
        games: Holds::Never,
        colours: Holds::Always,
    },
    view: View::Usual(PointOfView::White),
    recognises: |head| lines::first(head).next().is_some_and(|line| Columns::new(line).is_ok()),
    reader: |input| Box::new(TableReader { text: Text::new(input), columns: None }),
    writer: Some(|| Box::new(TableWriter { begun: false })),
};

/// Where in a line the fields stand.
#[derive(Clone, Copy)]
struct Columns {
    count: usize,
    fen: usize,
    ply: usize,
    result: usize,
}

impl Columns {
    fn new(header: &str) -> Result<Self, String> {
        let names: Vec<_> = header.split(',').map(str::trim).collect();
        let place = |name| {
            names
                .iter()
                .position(|&column| column == name)
                .ok_or_else(|| format!("no column {name} in the header, expected `{HEADER}`"))
        };
        let (fen, ply, result) = (place("FEN")?, place("Ply")?, place("Result")?);
        Ok(Self { count: names.len(), fen, ply, result })
    }

    fn sample(&self, line: &str) -> Result<Sample, String> {
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        if fields.len() != self.count {
            return Err(format!("{} fields, but the header has {}", fields.len(), self.count));
        }
        let ply = fields[self.ply];
        let ply =
            ply.parse().map_err(|_| format!("ply `{ply}`, expected a number from 0 to 65535"))?;
        let position = fields::text_fen(fields[self.fen])?;
        let result = fields::text_result(fields[self.result])?;
        Ok(Sample { ply: Some(ply), ..fields::seen_by_white(position, None, result)? })
    }
}

struct TableReader {
    text: Text,
    columns: Option<Columns>,
}

impl TableReader {
    /// The sample of the line at hand, none if it is blank or a header.
    fn sample(&mut self) -> Result<Option<Sample>, String> {
        let line = self.text.line()?;
        match self.columns {
            _ if line.is_empty() => Ok(None),
            Some(columns) if !line.starts_with("Hash,") => columns.sample(line).map(Some),
            _ => {
                self.columns = Some(Columns::new(line)?);
                Ok(None)
            }
        }
    }
}

impl Reader for TableReader {
    fn read(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let enough = out.len() + BLOCK;
        while out.len() < enough {
            if !self.text.next()? {
                return Ok(false);
            }
            match self.sample() {
                Ok(sample) => out.extend(sample),
                Err(reason) => return Err(Fault::Skipped(self.text.bad(reason))),
            }
        }
        Ok(true)
    }
}

struct TableWriter {
    /// Whether the header is written.
    begun: bool,
}

impl Writer for TableWriter {
    fn write(&mut self, sample: &Sample, out: &mut Vec<u8>) -> Result<(), String> {
        let position = &sample.position;
        let result = fields::turned_result(sample.result, position.turn());
        let (result, ply) = (fields::result_text(result)?, fields::ply(sample));
        if !self.begun {
            self.begun = true;
            out.extend_from_slice(format!("{HEADER}\n").as_bytes());
        }
        let line = format!("{:016X},{ply},{ply},{},{result}\n", position.key(), position.fen());
        out.extend_from_slice(line.as_bytes());
        Ok(())
    }
}
