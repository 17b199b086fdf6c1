//! Small pictures of many numbers, a pixel each, as PNG.
//!
//! What is near zero is transparent, so that the same picture shows on light and dark paper:
//! blue above zero, orange below, the stronger the further away.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, Compression, Encoder};

use super::colour::LIGHT;

/// A rectangle of shares, -1 to 1, by row; what is not finite, such as a gap, stays clear.
#[derive(Clone, Debug, PartialEq)]
pub struct Sprite {
    width: usize,
    values: Vec<f32>,
}

/// Steps of colour on either side of zero.
const STEPS: f32 = 127.0;
/// The entry of the palette for zero and for gaps.
const CLEAR: u8 = 128;

impl Sprite {
    /// All clear.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, values: vec![f32::NAN; width * height] }
    }

    pub fn size(&self) -> (usize, usize) {
        (self.width, self.values.len() / self.width.max(1))
    }

    /// Puts 64 squares, a1 first, with their upper left corner at a column and row; a8 comes to
    /// lie there. Each is divided by `span`.
    ///
    /// # Panics
    /// If the board does not fit there.
    pub fn board(&mut self, column: usize, row: usize, squares: &[f32; 64], span: f32) {
        for (square, value) in squares.iter().enumerate() {
            let place = (row + 7 - square / 8) * self.width + column + square % 8;
            self.values[place] = if span > 0.0 { value / span } else { 0.0 };
        }
    }

    /// Puts another picture into this one.
    ///
    /// # Panics
    /// If it does not fit there.
    pub fn put(&mut self, column: usize, row: usize, other: &Sprite) {
        for (y, line) in other.values.chunks_exact(other.width).enumerate() {
            self.values[(row + y) * self.width + column..][..line.len()].copy_from_slice(line);
        }
    }

    /// The file's bytes, each number a square of `zoom` pixels; on white paper where `opaque`.
    pub fn png(&self, zoom: usize, opaque: bool) -> Vec<u8> {
        let (width, height) = self.size();
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, (width * zoom) as u32, (height * zoom) as u32);
        encoder.set_color(ColorType::Indexed);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::High);
        let (colours, alphas) = palette(opaque);
        encoder.set_palette(colours);
        encoder.set_trns(alphas);
        let pixels: Vec<u8> = self
            .values
            .chunks_exact(width.max(1))
            .flat_map(|line| {
                let line: Vec<u8> =
                    line.iter().flat_map(|it| std::iter::repeat_n(index(*it), zoom)).collect();
                std::iter::repeat_n(line, zoom).flatten()
            })
            .collect();
        let written = encoder.write_header().and_then(|mut it| it.write_image_data(&pixels));
        written.expect("a picture of some size can be written to memory");
        bytes
    }

    /// The picture as an address that a page can hold.
    pub fn address(&self) -> String {
        format!("data:image/png;base64,{}", STANDARD.encode(self.png(1, false)))
    }
}

fn index(share: f32) -> u8 {
    if !share.is_finite() {
        return CLEAR;
    }
    (f32::from(CLEAR) + (share.clamp(-1.0, 1.0) * STEPS).round()) as u8
}

/// Red, green and blue of each entry, and how much of the paper each hides.
fn palette(opaque: bool) -> (Vec<u8>, Vec<u8>) {
    let (mut colours, mut alphas) = (Vec::new(), Vec::new());
    for entry in 0..=255_u8 {
        let share = (f32::from(entry) - f32::from(CLEAR)) / STEPS;
        let [low, _, high] = LIGHT.scale;
        let [red, green, blue] = if share < 0.0 { low } else { high };
        let strength = share.abs().min(1.0).powf(0.8);
        match opaque {
            true => {
                let over = |it: u8| 255.0 + (f32::from(it) - 255.0) * strength;
                colours.extend([red, green, blue].map(|it| over(it).round() as u8));
                alphas.push(255);
            }
            false => {
                // Brighter than the theme of either paper, since both show it.
                let bright = |it: u8| (f32::from(it) * 0.8 + 51.0).round() as u8;
                colours.extend([red, green, blue].map(bright));
                alphas.push((strength * 255.0).round() as u8);
            }
        }
    }
    (colours, alphas)
}
