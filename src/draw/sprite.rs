//! Small PNG pictures of many numbers, one pixel per number. Values above zero are blue, values
//! below zero orange, stronger with the distance. Values near zero are transparent, so that the same
//! picture works on light and dark paper.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use png::{BitDepth, ColorType, Compression, Encoder};

use super::colour::LIGHT;

/// A rectangle of values, -1 to 1, by row; non-finite values are clear.
#[derive(Clone, Debug, PartialEq)]
pub struct Sprite {
    width: usize,
    values: Vec<f32>,
}

/// Steps of colour on either side of zero.
const STEPS: f32 = 127.0;
/// Palette entry of zero and gaps.
const CLEAR: u8 = 128;

impl Sprite {
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, values: vec![f32::NAN; width * height] }
    }

    /// Draws 64 squares, a1 first, with a8 at this column and row. Each value is divided by `span`.
    /// Panics if the board does not fit.
    pub fn draw_board(&mut self, column: usize, row: usize, squares: &[f32], span: f32) {
        for (square, value) in squares.iter().enumerate() {
            let pixel = (row + 7 - square / 8) * self.width + column + square % 8;
            self.values[pixel] = if span > 0.0 { value / span } else { 0.0 };
        }
    }

    /// Encodes the picture as PNG.
    pub fn encode_png(&self) -> Vec<u8> {
        let (width, height) = (self.width, self.values.len() / self.width.max(1));
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, width as u32, height as u32);
        encoder.set_color(ColorType::Indexed);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::High);
        let (colours, alphas) = palette_entries();
        encoder.set_palette(colours);
        encoder.set_trns(alphas);
        let pixels: Vec<u8> = self.values.iter().map(|share| palette_index(*share)).collect();
        let written = encoder.write_header().and_then(|mut it| it.write_image_data(&pixels));
        written.expect("a picture of some size can be written to memory");
        bytes
    }

    pub fn data_address(&self) -> String {
        format!("data:image/png;base64,{}", STANDARD.encode(self.encode_png()))
    }
}

fn palette_index(share: f32) -> u8 {
    if !share.is_finite() {
        return CLEAR;
    }
    (f32::from(CLEAR) + (share.clamp(-1.0, 1.0) * STEPS).round()) as u8
}

/// Returns red, green and blue of each entry, and its opacity.
fn palette_entries() -> (Vec<u8>, Vec<u8>) {
    let (mut colours, mut alphas) = (Vec::new(), Vec::new());
    for entry in 0..=255_u8 {
        let share = (f32::from(entry) - f32::from(CLEAR)) / STEPS;
        let [low, _, high] = LIGHT.scale;
        // Brighter than either theme, since both show it.
        let bright = |it: u8| (f32::from(it) * 0.8 + 51.0).round() as u8;
        colours.extend((if share < 0.0 { low } else { high }).map(bright));
        alphas.push((share.abs().min(1.0).powf(0.8) * 255.0).round() as u8);
    }
    (colours, alphas)
}
