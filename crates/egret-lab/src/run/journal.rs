use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A file of results, one line each, with the key of the task. A task whose key is there is not run again.
///
/// Each line is written in one piece as soon as its result is known. If a crash cut the last line, it is dropped, and its task is
/// run again. Only one process at a time can open the file.
pub struct Journal<T> {
    path: PathBuf,
    known: BTreeMap<String, T>,
    file: Mutex<File>,
}

#[derive(Serialize, Deserialize)]
struct Line<T> {
    key: String,
    result: T,
}

impl<T: Serialize + DeserializeOwned + Clone> Journal<T> {
    /// Opens the file, or creates it and its folders.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let failed = |error| JournalError::Io {
            path: path.to_owned(),
            error,
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed)?;
        // Lock before reading: a line that another run is writing would look cut.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let path = path.to_owned();
                return Err(JournalError::InUse { path });
            }
            // Some file systems have no locks; then nothing guards against a second process.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut known = BTreeMap::new();
        for (line, content) in text[..whole].lines().enumerate() {
            let Line { key, result } =
                serde_json::from_str(content).map_err(|error| JournalError::Line {
                    path: path.to_owned(),
                    line: line + 1,
                    error,
                })?;
            known.insert(key, result);
        }
        file.set_len(whole as u64).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            known,
            file: Mutex::new(file),
        })
    }

    /// The result under this key when the file was opened.
    pub fn known(&self, key: &str) -> Option<&T> {
        self.known.get(key)
    }

    /// Adds a result.
    pub fn add(&self, key: &str, result: &T) -> Result<(), JournalError> {
        let line = Line {
            key: key.to_owned(),
            result,
        };
        let mut text = serde_json::to_string(&line).map_err(|error| JournalError::Line {
            path: self.path.clone(),
            line: 0,
            error,
        })?;
        text.push('\n');
        let mut file = self.file.lock().expect("no thread panics while it writes");
        file.write_all(text.as_bytes())
            .map_err(|error| JournalError::Io {
                path: self.path.clone(),
                error,
            })
    }
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Reading or writing failed.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another process has the file open.
    #[error("{path} is in use by another run; wait for it or choose another folder")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A line is not a result.
    #[error("line {line} of {path} is not a result ({error}): move the file away to start over")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        error: serde_json::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_and_a_cut_line_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/journal.jsonl");
        let journal = Journal::<f64>::open(&path).expect("opens");
        journal.add("one", &0.1).expect("written");
        journal.add("two", &0.2).expect("written");
        drop(journal);
        let text = std::fs::read_to_string(&path).expect("there");
        std::fs::write(&path, &text[..text.len() - 3]).expect("written");

        let journal = Journal::<f64>::open(&path).expect("opens");
        assert_eq!(journal.known("one"), Some(&0.1));
        assert_eq!(journal.known("two"), None);
        journal.add("two", &0.25).expect("written");
        drop(journal);
        let journal = Journal::<f64>::open(&path).expect("opens");
        assert_eq!(journal.known("two"), Some(&0.25));
    }

    #[test]
    fn a_journal_in_use_cannot_be_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.jsonl");
        let journal = Journal::<f64>::open(&path).expect("opens");
        journal.add("one", &0.1).expect("written");
        // The other process is in the middle of a line.
        let mut file = OpenOptions::new().append(true).open(&path).expect("there");
        file.write_all(b"{\"key\":").expect("written");
        let Err(error) = Journal::<f64>::open(&path) else {
            panic!("it is in use");
        };
        let expected = "is in use by another run; wait for it or choose another folder";
        assert!(error.to_string().ends_with(expected), "{error}");
        let text = std::fs::read_to_string(&path).expect("there");
        assert!(text.ends_with("{\"key\":"), "it was cut: {text}");
        drop(journal);
        let journal = Journal::<f64>::open(&path).expect("free again");
        assert_eq!(journal.known("one"), Some(&0.1));
    }

    #[test]
    fn an_error_names_the_line_that_is_no_result() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.jsonl");
        std::fs::write(&path, "{\"key\":\"a\",\"result\":1.0}\n{\"key\":3}\n").expect("written");
        let Err(error) = Journal::<f64>::open(&path) else {
            panic!("the second line is damaged");
        };
        assert!(error.to_string().starts_with("line 2 of "), "{error}");
    }
}
