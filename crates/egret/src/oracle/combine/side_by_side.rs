use std::sync::{Mutex, PoisonError};

use crate::event::{Action, ContextError};
use crate::oracle::{Example, RegressionOracle};

type Members<X, A> = [Box<dyn RegressionOracle<X, A>>];

/// Each member learns the batch, one example after another. Returns for each what it predicted for each example just
/// before it learned it, clamped to [0, 1].
///
/// No member needs another, so a long batch is learned on several threads; how many does not show. An error is that of the
/// first member that failed: it has learned what came before, and the others the whole batch.
pub(super) fn learn_side_by_side<X: ?Sized + Sync, A: Action>(
    members: &mut Members<X, A>,
    batch: &[Example<'_, X, A>],
) -> Result<Vec<Vec<f64>>, ContextError> {
    let lessons = (members.iter_mut().enumerate()).map(|(place, member)| Lesson {
        place,
        member: &mut **member,
        predicted: Vec::with_capacity(batch.len()),
        rest: batch,
        failed: None,
    });
    let mut lessons: Vec<Lesson<'_, '_, X, A>> = lessons.collect();
    if batch.len() < WORTH_A_THREAD {
        for lesson in &mut lessons {
            lesson.go_on(batch.len());
        }
    } else {
        lessons = on_threads(lessons);
    }
    lessons.sort_unstable_by_key(|lesson| lesson.place);
    let predicted = lessons.into_iter().map(|lesson| match lesson.failed {
        None => Ok(lesson.predicted),
        Some(error) => Err(error),
    });
    predicted.collect()
}

/// What a member predicts for an example, clamped to [0, 1].
pub(super) fn prediction<X: ?Sized, A: Action>(
    place: usize,
    member: &dyn RegressionOracle<X, A>,
    example: &Example<'_, X, A>,
    scratch: &mut Vec<f64>,
) -> Result<f64, ContextError> {
    let action = example.action;
    let fhat = member.predict_one(example.x, action, scratch)?;
    if fhat.is_nan() {
        return Err(ContextError::Refused(format!(
            "member {place} predicted NaN for the action {action:?}"
        )));
    }
    Ok(fhat.clamp(0.0, 1.0))
}

/// Shorter batches are learned on one thread: to wake another takes as long as some events.
const WORTH_A_THREAD: usize = 64;

/// How many examples a member learns before a thread looks for one that is behind.
const AT_ONCE: usize = 32;

/// How far a member has come.
struct Lesson<'a, 'b, X: ?Sized, A: Action> {
    place: usize,
    member: &'a mut dyn RegressionOracle<X, A>,
    predicted: Vec<f64>,
    rest: &'a [Example<'b, X, A>],
    failed: Option<ContextError>,
}

impl<X: ?Sized, A: Action> Lesson<'_, '_, X, A> {
    /// Learns so many more; all is over after an error.
    fn go_on(&mut self, most: usize) {
        let mut scratch = Vec::new();
        let (now, later) = self.rest.split_at(most.min(self.rest.len()));
        self.rest = later;
        for example in now {
            let predicted = prediction(self.place, self.member, example, &mut scratch);
            let learned = predicted.and_then(|fhat| {
                self.predicted.push(fhat);
                self.member.learn(std::slice::from_ref(example))
            });
            if let Err(error) = learned {
                self.failed = Some(error);
                self.rest = &[];
                break;
            }
        }
    }
}

/// Goes through all lessons, in any order. A free thread takes the member that is furthest behind, so that two threads
/// are both busy with three members until the end.
fn on_threads<'a, 'b, X: ?Sized + Sync, A: Action>(
    lessons: Vec<Lesson<'a, 'b, X, A>>,
) -> Vec<Lesson<'a, 'b, X, A>> {
    let threads = rayon::current_num_threads().min(lessons.len());
    let done = Mutex::new(Vec::with_capacity(lessons.len()));
    let waiting = Mutex::new(lessons);
    let furthest_behind = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let left = |lesson: &Lesson<'_, '_, X, A>| lesson.rest.len();
        let (place, _) = (waiting.iter().map(left).enumerate()).max_by_key(|&(_, left)| left)?;
        Some(waiting.swap_remove(place))
    };
    let work = || {
        while let Some(mut lesson) = furthest_behind() {
            lesson.go_on(AT_ONCE);
            let next = if lesson.rest.is_empty() {
                &done
            } else {
                &waiting
            };
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            next.push(lesson);
        }
    };
    rayon::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|_| work());
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}
