/// Why a download failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// The file does not exist, or the server refuses it.
    #[error("{url}: the server answered {status}{}", told(.message.as_deref()))]
    Refused {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The message of the server.
        message: Option<String>,
    },
    /// All attempts failed.
    #[error("{url}: {problem}, after {attempts} attempts")]
    Failed {
        /// The address.
        url: String,
        /// The number of attempts.
        attempts: u32,
        /// What went wrong at the last one.
        problem: String,
    },
    /// The server asks for a longer pause than allowed.
    #[error("{url}: {problem} and asks to wait {seconds} seconds; try again then")]
    TooLong {
        /// The address.
        url: String,
        /// What went wrong.
        problem: String,
        /// The pause.
        seconds: u64,
    },
    /// Downloads are a feature that this program was built without.
    #[error(
        "{url} is not on this disk, and this egret was built without downloads: build it with --features download"
    )]
    NotBuilt {
        /// The address.
        url: String,
    },
    /// The file is too large.
    #[error("{url}: larger than the limit of {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The largest size allowed.
        limit: u64,
    },
}

fn told(message: Option<&str>) -> String {
    message.map_or(String::new(), |message| format!(": {message}"))
}
