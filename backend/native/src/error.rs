//! Why a file cannot become a profile.

/// A reason as a message key of the product and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// The bytes are not what the reader expects.
    NotPerfData(String),
    /// The file has no samples.
    NoSamples,
    /// Samples of CPUs and context switches are not of the same time.
    NoOverlap,
    /// A limit was met: its name and value.
    Limit(&'static str, u64),
    /// A limit was met in a line of text.
    LimitAt(&'static str, u64, u64),
    /// The text is not what the reader expects: the first such line.
    NotText(u64, Vec<u8>),
    /// The file could not be read.
    Io(String),
}

pub type Result<T> = std::result::Result<T, ReadError>;

impl ReadError {
    pub fn damaged(reason: impl Into<String>) -> Self {
        Self::NotPerfData(reason.into())
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotPerfData(reason) => write!(out, "not perf.data: {reason}"),
            Self::NoSamples => write!(out, "no samples"),
            Self::NoOverlap => write!(out, "samples of CPUs and context switches are not of the same time"),
            Self::Limit(name, limit) => write!(out, "more than {limit} {name}"),
            Self::LimitAt(name, limit, line) => write!(out, "line {line}: more than {limit} {name}"),
            Self::NotText(line, text) => write!(out, "line {line}: {}", String::from_utf8_lossy(text)),
            Self::Io(reason) => write!(out, "{reason}"),
        }
    }
}
