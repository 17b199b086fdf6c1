//! What a GPU does by itself: launches, uploads, copies.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow};

use super::figures::{CardFigures, SizeFigure};
use super::stages::median;
use crate::input;
use crate::model::{Adapter, Device, Probe};

/// Bytes that are uploaded and copied at a time.
const SIZES: [usize; 4] = [64 << 10, 1 << 20, 16 << 20, 64 << 20];

/// Times of which the median counts.
const TIMES: usize = 9;

/// Launches that are told at once.
const LAUNCHES: usize = 256;

/// Where Linux has the version of NVIDIA's driver; others do not tell.
const DRIVER: &str = "/proc/driver/nvidia/version";

/// None for a device that is no GPU.
pub fn of(device: &Device) -> Result<Option<CardFigures>> {
    let Some(adapter) = Adapter::of(device) else { return Ok(None) };
    let Some(probe) = Probe::new(device, 1) else { return Ok(None) };
    let wait = || device.sync().map_err(|error| anyhow!("the device failed: {error}"));
    let time = |times: usize, mut work: Box<dyn FnMut() + '_>| -> Result<f64> {
        let mut all = Vec::new();
        // The first time things are compiled and allocated.
        for number in 0..=times {
            wait()?;
            let start = Instant::now();
            work();
            wait()?;
            if number > 0 {
                all.push(start.elapsed().as_secs_f64());
            }
        }
        Ok(median(&mut all))
    };
    let alone = time(TIMES, Box::new(|| probe.launch()))?;
    let many = time(TIMES, Box::new(|| (0..LAUNCHES).for_each(|_| probe.launch())))?;
    let mut sizes = Vec::new();
    for bytes in SIZES.into_iter().filter(|bytes| *bytes as u64 <= adapter.largest) {
        let words = bytes / size_of::<u32>();
        let Some(probe) = Probe::new(device, words) else { continue };
        let mut made: Vec<Vec<u32>> = (0..=TIMES).map(|_| vec![1; words]).collect();
        let upload = time(TIMES, Box::new(|| probe.upload(made.pop().unwrap_or_default())))?;
        let copy = time(TIMES, Box::new(|| probe.copy()))?;
        let rate = |bytes: usize, seconds: f64| bytes as f64 / seconds / 1e9;
        sizes.push(SizeFigure {
            bytes,
            upload_gigabytes_per_second: rate(bytes, upload),
            copy_gigabytes_per_second: rate(2 * bytes, copy),
        });
    }
    let driver = input::text(Path::new(DRIVER), input::TEXT).ok();
    let line = |text: String| text.lines().next().unwrap_or_default().trim().to_string();
    Ok(Some(CardFigures {
        name: adapter.to_string(),
        kind: adapter.kind.name(),
        driver: driver.map(line),
        memory: adapter.memory,
        largest_buffer: adapter.largest,
        limits: probe.limits(),
        round_trip_microseconds: 1e6 * alone,
        launch_microseconds: 1e6 * many / LAUNCHES as f64,
        sizes,
    }))
}
