use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Encoding, EncodingError, Supervised, TableError, parquet_table};

/// A data set of the paper (its appendix lists twenty, two of them twice).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaperSet {
    /// Its id on OpenML.
    pub id: u32,
    /// The task there that says which column is the label, where it is known.
    pub task: Option<u32>,
    /// What it is called there, where that is known.
    pub name: Option<&'static str>,
    /// How often it counts among the twenty.
    pub times: usize,
}

const fn set(id: u32, task: Option<u32>, name: &'static str) -> PaperSet {
    PaperSet {
        id,
        task,
        name: Some(name),
        times: 1,
    }
}

const fn twice(mut set: PaperSet) -> PaperSet {
    set.times = 2;
    set
}

/// The eighteen ids of the paper's twenty data sets, in order.
pub const PAPER_SETS: [PaperSet; 18] = [
    set(150, None, "covertype"),
    set(422, None, "topo_2_1"),
    set(1187, None, "BNG(wisconsin)"),
    twice(set(41540, Some(359937), "black_friday")),
    twice(set(42225, Some(233211), "diamonds")),
    set(44025, Some(361089), "california"),
    PaperSet {
        id: 44031,
        task: None,
        name: None,
        times: 1,
    },
    set(44056, Some(361094), "visualizing_soil"),
    set(44059, Some(361096), "diamonds_cat"),
    set(44069, Some(361104), "SGEMM_GPU_kernel_performance"),
    set(44140, Some(361080), "diamonds_num"),
    set(44142, Some(361082), "Bike_Sharing_Demand"),
    set(44146, Some(361086), "medical_charges"),
    set(44148, Some(361088), "superconduct"),
    set(44963, Some(361241), "physiochemical_protein"),
    set(44964, Some(361242), "superconductivity"),
    set(44973, Some(361251), "grid_stability"),
    set(44977, Some(361255), "california_housing"),
];

impl fmt::Display for PaperSet {
    /// As files are called: `150_covertype`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "{}_{name}", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}

/// A folder with the paper's data sets, or some of them.
///
/// A file is one of them if its name begins with the id (`150_covertype.parquet`, `150.csv`, `150_any.arff`), or if
/// its metadata says so (`openml_data_id`, in Parquet). What is not there is said, and never made up.
#[derive(Debug, Clone)]
pub struct DataFolder {
    found: Vec<DataFile>,
    missing: Vec<PaperSet>,
}

/// A file with one of the paper's data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Which.
    pub set: PaperSet,
    /// Where.
    pub path: PathBuf,
}

impl DataFolder {
    /// Looks at the names of the files and, in Parquet, at what they say they are.
    pub fn open(dir: &Path) -> Result<Self, DataFolderError> {
        let mut files: BTreeMap<u32, Vec<(usize, PathBuf)>> = BTreeMap::new();
        for path in list(dir)? {
            let Some(rank) = rank(&path) else { continue };
            if let Some(id) = id_of(&path)? {
                files.entry(id).or_default().push((rank, path));
            }
        }
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for set in PAPER_SETS {
            // Where one set is there in several formats, the one that knows its types best.
            match files
                .remove(&set.id)
                .and_then(|paths| paths.into_iter().min())
            {
                Some((_, path)) => found.push(DataFile { set, path }),
                None => missing.push(set),
            }
        }
        Ok(Self { found, missing })
    }

    /// The files, in the order of their ids.
    pub fn found(&self) -> &[DataFile] {
        &self.found
    }

    /// The sets that no file holds, in the order of their ids.
    pub fn missing(&self) -> &[PaperSet] {
        &self.missing
    }
}

impl DataFile {
    /// The data, under the name of the set: `150_covertype`.
    pub fn read(&self, encoding: &Encoding) -> Result<Supervised, EncodingError> {
        Supervised::read(&self.path, encoding).map(|data| data.with_name(self.set.to_string()))
    }
}

fn list(dir: &Path) -> Result<Vec<PathBuf>, DataFolderError> {
    let unreadable = |error| DataFolderError::Unreadable {
        dir: dir.to_owned(),
        error,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    // The order of a folder is no order.
    paths.sort_unstable();
    Ok(paths)
}

/// Which format is preferred; none for a file that is no table.
fn rank(path: &Path) -> Option<usize> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    ["parquet", "arff", "csv"]
        .iter()
        .position(|format| *format == ending)
}

/// The id by the file's name, or by its own word. An error if they differ.
fn id_of(path: &Path) -> Result<Option<u32>, DataFolderError> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let first = stem.and_then(|stem| stem.split('_').next());
    let named: Option<u32> = first.and_then(|id| id.parse().ok());
    let said = if rank(path) == Some(0) {
        parquet_table::openml_id(path)?
    } else {
        None
    };
    match (named, said) {
        (Some(named), Some(said)) if named != said => Err(DataFolderError::TwoIds {
            path: path.to_owned(),
            named,
            said,
        }),
        _ => Ok(said.or(named)),
    }
}

/// Why a folder gives no data sets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataFolderError {
    /// No folder, or not ours to read.
    #[error("cannot list the folder {}: {error}", dir.display())]
    Unreadable {
        /// Which.
        dir: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A file that is called one thing and says that it is another.
    #[error(
        "{}: the name says OpenML data {named}, the metadata says {said}; rename it",
        path.display()
    )]
    TwoIds {
        /// Which.
        path: PathBuf,
        /// By its name.
        named: u32,
        /// By its metadata.
        said: u32,
    },
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array};

    use super::*;
    use crate::parquet_table::tests::write;

    fn file(dir: &Path, name: &str, id: Option<&str>) {
        let metadata: Vec<_> = id.map(|id| ("openml_data_id", id)).into_iter().collect();
        let numbers = || Arc::new(Float64Array::from(vec![1.0, 2.0])) as ArrayRef;
        write(
            &dir.join(name),
            &metadata,
            &["x", "target"],
            &[vec![numbers(), numbers()]],
        );
    }

    #[test]
    fn the_paper_counts_twenty() {
        assert_eq!(PAPER_SETS.iter().map(|set| set.times).sum::<usize>(), 20);
        assert!(PAPER_SETS.is_sorted_by_key(|set| set.id));
    }

    #[test]
    fn files_are_found_by_name_or_by_what_they_say() {
        let folder = tempfile::tempdir().expect("a folder");
        file(folder.path(), "soil.parquet", Some("44056"));
        file(folder.path(), "150_any.parquet", None);
        file(folder.path(), "7_unknown.parquet", None);
        std::fs::write(folder.path().join("150_covertype.csv"), "x,y\n").expect("written");
        std::fs::write(folder.path().join("README.md"), "150").expect("written");
        let data = DataFolder::open(folder.path()).expect("readable");
        let found: Vec<String> = (data.found().iter())
            .map(|file| format!("{} {}", file.set, crate::table::stem(&file.path)))
            .collect();
        assert_eq!(
            found,
            ["150_covertype 150_any", "44056_visualizing_soil soil"]
        );
        assert_eq!(data.missing().len(), 16);
        assert_eq!(data.missing()[0].to_string(), "422_topo_2_1");
        let read = data.found()[1].read(&Encoding::default()).expect("sound");
        assert_eq!(
            (read.name(), read.rows().len()),
            ("44056_visualizing_soil", 2)
        );
    }

    #[test]
    fn a_file_with_two_ids_and_a_folder_that_is_none_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        file(folder.path(), "150_covertype.parquet", Some("151"));
        let error = DataFolder::open(folder.path())
            .expect_err("two ids")
            .to_string();
        assert!(
            error.contains("says OpenML data 150, the metadata says 151"),
            "{error}"
        );
        let none = folder.path().join("none");
        let error = DataFolder::open(&none).expect_err("no folder").to_string();
        assert!(error.starts_with("cannot list the folder"), "{error}");
    }
}
