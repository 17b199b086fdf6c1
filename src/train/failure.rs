//! What a device says when it fails.

use std::any::Any;

/// What a panic says.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason given").to_string()
}

/// A chain of causes in one line, without the traces behind it.
pub fn one_line(causes: &str) -> String {
    let lines = causes.lines().map(str::trim).take_while(|line| *line != "Asked at:");
    let lines: Vec<&str> = lines.filter(|it| !it.is_empty() && *it != "Caused by:").collect();
    lines.join(": ").trim_end_matches('.').to_string()
}
