//! bullet's `quantised.bin`, without a header: the size, with or without padding, defines the net.

use std::cmp::Ordering;
use std::iter;

use super::{Contents, NetError, NetFormat, find_hidden};
use crate::architecture::Architecture;
use crate::net::definition::payload_bytes;
use crate::net::{ALIGNMENT, Hints, Net, PADDING, StoredArray, WriteNet, stored_arrays};
use crate::scales::Scales;

pub static FORMAT: NetFormat = NetFormat {
    name: "quantised net",
    recognises: |bytes, hints| split_file(bytes, hints).is_ok(),
    contents: Contents::Integers(read_net),
};

fn read_net(bytes: &[u8], hints: &Hints) -> Result<Net, NetError> {
    let (net, mut rest, write) = split_file(bytes, hints)?;
    let mut numbers = Vec::new();
    for StoredArray { array, number, .. } in stored_arrays(&net, hints.scales) {
        let (array_bytes, remaining) = rest.split_at(array.len() * number.byte_size());
        numbers.push(number.read(array_bytes));
        rest = remaining;
    }
    Ok(Net::from_arrays(&net, hints.scales, numbers)?.written_by(write))
}

/// Splits a file: its net, the bytes of its numbers, and the function that writes the same padding.
fn split_file<'a>(
    bytes: &'a [u8],
    Hints { net, scales }: &Hints,
) -> Result<(Architecture, &'a [u8], WriteNet), NetError> {
    let net = net.without_factoriser();
    let size = bytes.len();
    let hidden = find_hidden(&net, |hidden| {
        let unpadded = payload_bytes(&net.with_hidden(hidden), *scales);
        let padded = unpadded.next_multiple_of(ALIGNMENT);
        if size == unpadded || size == padded { Ordering::Equal } else { unpadded.cmp(&size) }
    });
    let hidden = hidden
        .ok_or_else(|| NetError::Size { size, nearest: nearest_sizes(size, &net, *scales) })?;
    let net = net.with_hidden(hidden);
    let (numbers, padding) = bytes.split_at(payload_bytes(&net, *scales));
    if padding.iter().eq(PADDING.iter().cycle().take(padding.len())) {
        Ok((net, numbers, write_net as WriteNet))
    } else if padding.iter().all(|&byte| byte == 0) {
        Ok((net, numbers, write_with_zeros))
    } else {
        Err(NetError::Padding(padding.len()))
    }
}

/// Writes a file padded with [`PADDING`].
pub fn write_net(net: &Net) -> Vec<u8> {
    write_padded(net, PADDING.iter().copied().cycle())
}

/// Writes a file padded with zeros, as some engines do.
fn write_with_zeros(net: &Net) -> Vec<u8> {
    write_padded(net, iter::repeat(0))
}

fn write_padded(net: &Net, padding: impl Iterator<Item = u8>) -> Vec<u8> {
    let size = net.payload_bytes().next_multiple_of(ALIGNMENT);
    let mut bytes = Vec::with_capacity(size);
    net.numbers.iter().for_each(|numbers| numbers.write(&mut bytes));
    bytes.extend(padding.take(size - bytes.len()));
    bytes
}

/// Formats the next smaller and the next larger size of a file, with their nets.
fn nearest_sizes(size: usize, net: &Architecture, scales: Scales) -> String {
    let step = 1 + usize::from(net.pairwise);
    let payload = |hidden| payload_bytes(&net.with_hidden(hidden), scales);
    let below = size.saturating_sub(payload(0)) / (payload(step) - payload(0)) * step;
    let below = below.max(step);
    let describe_size = |hidden: usize| {
        let size = payload(hidden).next_multiple_of(ALIGNMENT);
        format!("{size} ({})", net.with_hidden(hidden))
    };
    format!("{} and {}", describe_size(below), describe_size(below + step))
}
