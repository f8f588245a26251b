use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::PathBuf;

use egret::AnyModel;

use crate::error::JobError;

/// The numbers of events, each taken once: no two decisions of a model share their random numbers.
pub(crate) struct EventNumbers {
    next: u64,
    /// Where the next number is kept, for other runs and processes.
    file: Option<PathBuf>,
}

impl EventNumbers {
    /// From the first number asked for, or from the first that neither the model nor the file has used.
    pub(crate) fn new(
        model: &AnyModel,
        asked: Option<u64>,
        file: Option<PathBuf>,
    ) -> Result<Self, JobError> {
        let mut numbers = Self {
            next: model.next_event(),
            file,
        };
        // Nothing is taken yet: only looked at.
        let kept = numbers.file.as_ref().is_some_and(|file| file.exists());
        let unused = if kept {
            numbers.through(|unused| unused)?
        } else {
            numbers.next
        };
        let first = asked.unwrap_or(unused);
        if first < unused {
            let problem = format!(
                "{first} is used already, and its random numbers would come again: give {unused} or more"
            );
            return Err(JobError::request("first_event", problem));
        }
        numbers.next = first;
        Ok(numbers)
    }

    /// Takes the next numbers: the first of them.
    pub(crate) fn take(&mut self, count: u64) -> Result<u64, JobError> {
        let mut fits = true;
        let asked = self.next;
        let next = self.through(|unused| {
            let end = unused.max(asked).checked_add(count);
            fits = end.is_some();
            end.unwrap_or(unused)
        })?;
        if !fits {
            let problem = "too large: the numbers of the events would start again at 0";
            return Err(JobError::request("first_event", problem));
        }
        self.next = next;
        Ok(next - count)
    }

    /// The number after the last that was taken.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Changes the number that is kept, while no other process can.
    fn through(&self, change: impl FnOnce(u64) -> u64) -> Result<u64, JobError> {
        let Some(path) = &self.file else {
            return Ok(change(self.next));
        };
        let changed = || -> std::io::Result<u64> {
            let mut file: File = OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(path)?;
            file.lock()?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            let kept = match text.trim() {
                "" => 0,
                text => text.parse().map_err(|_| {
                    std::io::Error::other(format!(
                        "{text:?} is not the number of an event: delete the file, or mend it"
                    ))
                })?,
            };
            let next = change(self.next.max(kept));
            if next != kept {
                file.rewind()?;
                file.set_len(0)?;
                writeln!(file, "{next}")?;
            }
            Ok(next)
        };
        changed().map_err(|source| JobError::File {
            file: path.clone(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use egret::{Interval, Model};

    use super::*;

    fn model() -> AnyModel {
        let model = Model::new(Interval::new(0.0, 1.0).expect("an interval"), 1).expect("a model");
        model.with_next_event(100).into()
    }

    #[test]
    fn no_number_is_taken_twice() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("next");
        let open = |asked| EventNumbers::new(&model(), asked, Some(file.clone()));
        let (mut one, mut other) = (open(None).expect("open"), open(None).expect("open"));
        assert_eq!(one.take(10).expect("taken"), 100);
        assert_eq!(other.take(5).expect("taken"), 110);
        assert_eq!(one.take(1).expect("taken"), 115);
        assert_eq!(open(None).expect("open").take(1).expect("taken"), 116);
        let refused = open(Some(50)).err().expect("used");
        assert!(
            refused.to_string().contains("give 117 or more"),
            "{refused}"
        );
        assert_eq!(open(Some(500)).expect("open").take(1).expect("taken"), 500);
        assert_eq!(open(None).expect("open").take(1).expect("taken"), 501);
        std::fs::write(&file, "many").expect("written");
        assert!(open(None).is_err());
    }

    #[test]
    fn without_a_file_numbers_go_on_from_the_model() {
        let mut numbers = EventNumbers::new(&model(), None, None).expect("open");
        assert_eq!(
            (numbers.take(3).expect("taken"), numbers.next()),
            (100, 103)
        );
        let mut last = EventNumbers::new(&model(), Some(u64::MAX - 1), None).expect("open");
        assert!(last.take(2).is_err());
    }
}
