//! The grammar of lines of `perf script`: headers, records of lost events, frames.
//!
//! A header is `COMM TID|PID/TID [CPU] TIME: PERIOD EVENT: REST`; CPU, TIME and PERIOD may be missing. COMM may hold
//! spaces, brackets, digits and colons, so a header is read from its right end, where the fields are unambiguous. A
//! frame is `\t ADDRESS SYMBOL+0xOFFSET (MODULE)`, innermost first. Source: `builtin-script.c`
//! (`perf_sample__fprintf_start`) and `evsel_fprintf.c` of perf. `collectors.parse.perf.perf_lines` reads the same.

/// Task, time and event of a header are within this many bytes; the name of a task has at most 63.
pub const HEADER_HEAD: usize = 512;

/// The task of a header: name, process, thread and CPU, -1 where the text has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task<'a> {
    pub comm: &'a [u8],
    pub pid: i32,
    pub tid: i32,
    pub cpu: i32,
}

/// A header line. `time` is -1 where the text has none; `rest` follows the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderLine<'a> {
    pub task: Task<'a>,
    pub time: i64,
    pub event: &'a [u8],
    pub rest: &'a [u8],
}

/// A frame line: symbol without its offset, and module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLine<'a> {
    pub address: u64,
    pub name: &'a [u8],
    pub module: &'a [u8],
}

/// A time in a line: where its digits begin and where its colon ends.
#[derive(Debug, Clone, Copy)]
struct TimeField {
    start: usize,
    end: usize,
    time: i64,
}

/// Read a header of any layout; None where the line is none.
///
/// Without text behind the event, the last time of the line is the right one, however the task is named; with text
/// behind it, such as the fields of a tracepoint, the first one is.
pub fn read_header(line: &[u8]) -> Option<HeaderLine<'_>> {
    let head = &line[..line.len().min(HEADER_HEAD)];
    let mut times = Times { head, from: 0 }.peekable();
    if times.peek().is_none() {
        return read_timeless(line);
    }
    if line.len() <= HEADER_HEAD
        && let Some(header) = (Times { head, from: 0 }).last().and_then(|time| read_bare(line, time))
    {
        return Some(header);
    }
    times.find_map(|time| read_with_rest(line, time))
}

/// A header that ends with its event.
fn read_bare(line: &[u8], time: TimeField) -> Option<HeaderLine<'_>> {
    let mut words = line[time.end..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next()?;
    let event = match words.next() {
        None => first,
        Some(second) if is_digits(first) => second,
        Some(_) => return None,
    };
    if words.next().is_some() || !is_event(event) {
        return None;
    }
    let task = read_task(&line[..time.start])?;
    Some(HeaderLine { task, time: time.time, event: &event[..event.len() - 1], rest: &[] })
}

/// A header with text behind its event.
fn read_with_rest(line: &[u8], time: TimeField) -> Option<HeaderLine<'_>> {
    let (mut word, mut rest) = split_word(&line[time.end..])?;
    if is_digits(word) && !rest.trim_ascii().is_empty() {
        (word, rest) = split_word(rest)?;
    }
    if !is_event(word) {
        return None;
    }
    let task = read_task(&line[..time.start])?;
    Some(HeaderLine { task, time: time.time, event: &word[..word.len() - 1], rest: rest.trim_ascii() })
}

/// `COMM TID [CPU] PERIOD EVENT: REST`: the first word behind an ID that ends in a colon is the event.
fn read_timeless(line: &[u8]) -> Option<HeaderLine<'_>> {
    let head = &line[..line.len().min(HEADER_HEAD)];
    let mut from = 0;
    while let Some((start, end)) = next_word(head, from) {
        from = end;
        let word = &head[start..end];
        let Some(colon) = first_event(word) else { continue };
        // An event is a whole word, or one up to a colon that ends it.
        let event = &word[..colon];
        if is_digits(&event[..event.len() - 1]) || colon < word.len() {
            continue;
        }
        let mut task = head[..start].trim_ascii_end();
        let mut words = task.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (last, before) = (words.next(), words.next());
        let has_more = words.next().is_some();
        if before.is_none() {
            continue;
        }
        if has_more && last.is_some_and(is_digits) && before.is_some_and(is_task_word) {
            let period = last.map_or(0, <[u8]>::len);
            task = &task[..task.len() - period];
        }
        if let Some(task) = read_task(task).filter(|task| !task.comm.is_empty()) {
            return Some(HeaderLine {
                task,
                time: -1,
                event: &event[..event.len() - 1],
                rest: line[end..].trim_ascii(),
            });
        }
    }
    None
}

/// Whether a word may be a task's ID or its CPU: `12/34`, `12` or `[003]`.
fn is_task_word(word: &[u8]) -> bool {
    word.starts_with(b"[") || is_digits_with_slashes(word)
}

fn is_digits_with_slashes(word: &[u8]) -> bool {
    word.iter().any(u8::is_ascii_digit) && word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'/')
}

/// The length of the event that a word begins with (`[^\s:]\S*:`, as long as possible).
fn first_event(word: &[u8]) -> Option<usize> {
    if word.first().is_none_or(|byte| *byte == b':') {
        return None;
    }
    word.iter().rposition(|byte| *byte == b':').map(|at| at + 1).filter(|length| *length >= 2)
}

fn is_event(word: &[u8]) -> bool {
    word.len() >= 2 && word[0] != b':' && word.ends_with(b":")
}

/// The task in front of a time. A single number is that of the thread; without a process it is the process too.
pub fn read_task(text: &[u8]) -> Option<Task<'_>> {
    let mut text = text.trim_ascii_end();
    let mut cpu = -1;
    let (mut before, mut last) = split_last_word(text);
    if let Some(number) = last.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]"))
        && is_digits(number)
        && !before.is_empty()
    {
        cpu = parse_id(number);
        text = before;
        (before, last) = split_last_word(text.trim_ascii_end());
    }
    if !before.trim_ascii().is_empty() {
        let slash = last.iter().position(|byte| *byte == b'/');
        let (first, second) = slash.map_or((last, None), |at| (&last[..at], Some(&last[at + 1..])));
        if is_id(first) && second.is_none_or(is_id) {
            let comm = before.trim_ascii();
            return Some(Task { comm, pid: parse_id(first), tid: parse_id(second.unwrap_or(first)), cpu });
        }
    }
    (cpu >= 0 && !text.trim_ascii().is_empty()).then(|| Task { comm: text.trim_ascii(), pid: -1, tid: -1, cpu })
}

/// Read a frame line; None where it is none.
pub fn read_frame(line: &[u8]) -> Option<FrameLine<'_>> {
    let (word, rest) = split_word(line)?;
    let address = read_address(word)?;
    let (name, module) = split_module(rest.trim_ascii());
    Some(FrameLine { address, name: strip_offset(name), module })
}

/// An address: one to sixteen small hexadecimal digits.
pub fn read_address(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 16 {
        return None;
    }
    word.iter().try_fold(0_u64, |number, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(digit))
    })
}

/// `SYMBOL (MODULE)` cut at the parenthesis that matches the last one: either may hold parentheses and spaces.
fn split_module(rest: &[u8]) -> (&[u8], &[u8]) {
    const MODULE_MAX: usize = 4096 + 2;
    if !rest.ends_with(b")") {
        return (rest, &[]);
    }
    let floor = rest.len().saturating_sub(MODULE_MAX);
    let mut level = 0_i32;
    let mut start = None;
    for at in (floor..rest.len()).rev() {
        level += i32::from(rest[at] == b')') - i32::from(rest[at] == b'(');
        if level == 0 {
            start = Some(at);
            break;
        }
    }
    let start = match start {
        Some(at) if at == 0 || rest[at - 1] == b' ' => at,
        _ => match rest.windows(2).rposition(|pair| pair == b" (") {
            Some(at) => at + 1,
            None if rest.starts_with(b"(") => 0,
            None => return (rest, &[]),
        },
    };
    (rest[..start].trim_ascii_end(), &rest[start + 1..rest.len() - 1])
}

/// A symbol without `+0x1f` at its end.
fn strip_offset(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
    let front = &name[..name.len() - digits];
    front.strip_suffix(b"+0x").filter(|_| digits > 0).unwrap_or(name)
}

/// What a record of lost events states: whether it counts samples, and how many were lost.
pub fn read_lost(line: &[u8]) -> Option<(bool, u64)> {
    const MARK: &[u8] = b"PERF_RECORD_LOST";
    let head = &line[..line.len().min(2 * HEADER_HEAD)];
    let at = find(head, MARK)?;
    let rest = &head[at + MARK.len()..];
    let (is_samples, rest) = match rest.strip_prefix(b"_SAMPLES") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    if !rest.first().is_some_and(u8::is_ascii_whitespace) {
        return None;
    }
    let behind = find(rest, b"lost").map(|at| rest[at + 4..].trim_ascii_start())?;
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).take(18).count();
    let number = std::str::from_utf8(&behind[..digits]).ok()?.parse::<u64>().ok()?;
    Some((is_samples, number.min(1 << 53)))
}

/// Whether a line is a record that is no sample.
pub fn is_record(line: &[u8]) -> bool {
    const MARK: &[u8] = b"PERF_RECORD_";
    let head = &line[..line.len().min(2 * HEADER_HEAD)];
    find(head, MARK).is_some_and(|at| head.get(at + MARK.len()).is_some_and(|byte| byte.is_ascii_uppercase()))
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn is_digits(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_digit)
}

fn is_id(word: &[u8]) -> bool {
    is_digits(word.strip_prefix(b"-").unwrap_or(word))
}

fn parse_id(word: &[u8]) -> i32 {
    let text = std::str::from_utf8(word).unwrap_or("");
    let number = if word.len() < 12 { text.parse::<i64>().unwrap_or(-1) } else { -1 };
    i32::try_from(number).ok().filter(|number| *number >= -1).unwrap_or(-1)
}

/// The first word and what follows it.
fn split_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (start, end) = next_word(text, 0)?;
    Some((&text[start..end], &text[end..]))
}

fn next_word(text: &[u8], from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let end = text[start..].iter().position(u8::is_ascii_whitespace).map_or(text.len(), |at| start + at);
    Some((start, end))
}

/// What is in front of the last word, and the last word.
fn split_last_word(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().rposition(u8::is_ascii_whitespace) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (&[], text),
    }
}

/// The times of a line: `SECONDS.FRACTION:` between spaces.
struct Times<'a> {
    head: &'a [u8],
    from: usize,
}

impl Iterator for Times<'_> {
    type Item = TimeField;

    fn next(&mut self) -> Option<TimeField> {
        while let Some((start, end)) = next_word(self.head, self.from) {
            self.from = end;
            // There is space in front of a time and behind it.
            if start > 0
                && end < self.head.len()
                && let Some(time) = self.head[start..end].strip_suffix(b":").and_then(read_time)
            {
                return Some(TimeField { start, end, time });
            }
        }
        None
    }
}

/// `SECONDS.FRACTION` as nanoseconds, exactly: up to ten digits in front, three to nine behind the point.
fn read_time(word: &[u8]) -> Option<i64> {
    let point = word.iter().position(|byte| *byte == b'.')?;
    let (seconds, fraction) = (&word[..point], &word[point + 1..]);
    let is_long = seconds.len() == 10 && seconds[0] <= b'8';
    if !((1..10).contains(&seconds.len()) || is_long) || !(3..10).contains(&fraction.len()) {
        return None;
    }
    let number = |digits: &[u8]| -> Option<i64> {
        digits
            .iter()
            .try_fold(0_i64, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
    };
    let scale = 10_i64.pow(9 - fraction.len() as u32);
    Some(number(seconds)? * 1_000_000_000 + number(fraction)? * scale)
}
