use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;

use crate::data::{DownloadError, OpenMlSettings};

/// Downloads files, and tries again after temporary failures.
#[derive(Debug)]
pub(crate) struct Download {
    agent: Agent,
    attempts: u32,
    pause: Duration,
    longest_pause: Duration,
    max_bytes: u64,
}

/// How an attempt failed.
enum Failure {
    /// It may work later: after `wait`, if the server asked for a pause.
    Temporary {
        problem: String,
        wait: Option<Duration>,
    },
    /// Trying again is of no use.
    Final(DownloadError),
}

impl Download {
    pub(crate) fn new(settings: &OpenMlSettings, base: &str) -> Self {
        let timeout = Some(settings.timeout);
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("egret/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(timeout)
            .timeout_connect(timeout)
            .timeout_send_request(timeout)
            .timeout_recv_response(timeout)
            .timeout_per_read(timeout);
        let host = base.split("://").nth(1).unwrap_or(base);
        if host.starts_with("127.") || host.starts_with("localhost") {
            // For a proxy, this name means another machine.
            config = config.proxy(None);
        }
        Self {
            agent: config.build().new_agent(),
            attempts: settings.attempts.max(1),
            pause: settings.pause,
            longest_pause: settings.longest_pause,
            max_bytes: settings.max_bytes,
        }
    }

    /// The bytes at the address. `check` says whether they are valid.
    pub(crate) fn get(
        &self,
        url: &str,
        check: impl Fn(&[u8]) -> Result<(), String>,
    ) -> Result<Vec<u8>, DownloadError> {
        let mut pause = self.pause;
        let mut attempt = 1;
        loop {
            let (problem, wait) = match self.attempt(url, &check) {
                Ok(bytes) => return Ok(bytes),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Temporary { problem, wait }) => (problem, wait),
            };
            if let Some(wait) = wait.filter(|&wait| self.longest_pause < wait) {
                return Err(DownloadError::TooLong {
                    url: url.to_owned(),
                    problem,
                    seconds: wait.as_secs(),
                });
            }
            if attempt == self.attempts {
                return Err(DownloadError::Failed {
                    url: url.to_owned(),
                    attempts: attempt,
                    problem,
                });
            }
            attempt += 1;
            sleep(wait.unwrap_or(pause));
            pause = (2 * pause).min(self.longest_pause);
        }
    }

    fn attempt(
        &self,
        url: &str,
        check: &impl Fn(&[u8]) -> Result<(), String>,
    ) -> Result<Vec<u8>, Failure> {
        let failed = |error| self.failure(url, error);
        let mut answer = self.agent.get(url).call().map_err(failed)?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(self.max_bytes);
        match status {
            200..=299 => {
                let bytes = body.read_to_vec().map_err(failed)?;
                check(&bytes).map_err(Failure::temporary)?;
                Ok(bytes)
            }
            429 | 500..=599 => Err(Failure::Temporary {
                problem: format!("the server answered {status}"),
                wait: retry_after(&answer),
            }),
            _ => Err(Failure::Final(DownloadError::Refused {
                url: url.to_owned(),
                status,
                message: body.read_to_vec().ok().and_then(|body| message(&body)),
            })),
        }
    }

    fn failure(&self, url: &str, error: ureq::Error) -> Failure {
        use ureq::Error::{
            BodyExceedsLimit, ConnectionFailed, HostNotFound, Io, Protocol, Timeout,
        };
        match error {
            BodyExceedsLimit(limit) => Failure::Final(DownloadError::TooLarge {
                url: url.to_owned(),
                limit,
            }),
            Timeout(_) => Failure::temporary("no answer in time".to_owned()),
            Io(error) => Failure::temporary(error.to_string()),
            error @ (ConnectionFailed | HostNotFound | Protocol(_)) => {
                Failure::temporary(error.to_string())
            }
            error => Failure::Final(DownloadError::Failed {
                url: url.to_owned(),
                attempts: 1,
                problem: error.to_string(),
            }),
        }
    }
}

impl Failure {
    fn temporary(problem: String) -> Self {
        Self::Temporary {
            problem,
            wait: None,
        }
    }
}

/// The pause that the server asks for in seconds. A pause until a date is ignored.
fn retry_after<T>(answer: &Response<T>) -> Option<Duration> {
    let seconds = answer.headers().get("retry-after")?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// The message of an OpenML error: `{"error": {"code": …, "message": …}}`.
fn message(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = &body["error"];
    let message = error["message"].as_str()?;
    match error["additional_information"].as_str() {
        Some(more) if !more.is_empty() => Some(format!("{message} ({more})")),
        _ => Some(message.to_owned()),
    }
}
