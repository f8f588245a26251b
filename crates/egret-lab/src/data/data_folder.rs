use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::data::{Encoding, EncodingError, Table, TableError, parquet};
use crate::environment::Supervised;

/// A data set of the paper. The paper's appendix lists twenty, of which two occur twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaperSet {
    /// The id on OpenML.
    pub id: u32,
    /// The OpenML task that names the label, if known.
    pub task: Option<u32>,
    /// The name on OpenML, if known.
    pub name: Option<&'static str>,
    /// The label column, if known.
    pub target: Option<&'static str>,
    /// How often the paper's list contains it.
    pub times: usize,
}

const fn set(id: u32, task: u32, name: &'static str, target: &'static str) -> PaperSet {
    PaperSet {
        id,
        task: Some(task),
        name: Some(name),
        target: Some(target),
        times: 1,
    }
}

const fn untasked(id: u32, name: Option<&'static str>, target: Option<&'static str>) -> PaperSet {
    PaperSet {
        id,
        task: None,
        name,
        target,
        times: 1,
    }
}

const fn twice(mut set: PaperSet) -> PaperSet {
    set.times = 2;
    set
}

/// The eighteen ids of the paper's twenty data sets, in order.
pub const PAPER_SETS: [PaperSet; 18] = [
    untasked(150, Some("covertype"), Some("Elevation")),
    untasked(422, Some("topo_2_1"), None),
    untasked(1187, Some("BNG(wisconsin)"), None),
    twice(set(41540, 359937, "black_friday", "Purchase")),
    twice(set(42225, 233211, "diamonds", "price")),
    set(44025, 361089, "california", "price"),
    untasked(44031, None, None),
    set(44056, 361094, "visualizing_soil", "track"),
    set(44059, 361096, "diamonds_cat", "price"),
    set(44069, 361104, "SGEMM_GPU_kernel_performance", "Run1"),
    set(44140, 361080, "diamonds_num", "price"),
    set(44142, 361082, "Bike_Sharing_Demand", "count"),
    set(44146, 361086, "medical_charges", "AverageTotalPayments"),
    set(44148, 361088, "superconduct", "criticaltemp"),
    set(44963, 361241, "physiochemical_protein", "RMSD"),
    set(44964, 361242, "superconductivity", "critical_temp"),
    set(44973, 361251, "grid_stability", "stab"),
    set(44977, 361255, "california_housing", "medianHouseValue"),
];

impl fmt::Display for PaperSet {
    /// The name of its file without the ending: `150_covertype`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "{}_{name}", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}

/// A folder with some or all of the paper's data sets.
///
/// A file is one of them if its name begins with the id (`150_covertype.parquet`, `150.csv`, `150_any.arff`), or if its Parquet
/// metadata has the id (`openml_data_id`). Sets that are missing are listed, never replaced.
#[derive(Debug, Clone)]
pub struct DataFolder {
    found: Vec<DataFile>,
    missing: Vec<PaperSet>,
}

/// A file with one of the paper's data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// The data set.
    pub set: PaperSet,
    /// The file.
    pub path: PathBuf,
}

impl DataFolder {
    /// Looks at the names of the files and at the metadata of Parquet files.
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
            // If a set is there in several formats, take the one that knows its types best.
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

    /// The sets without a file, in the order of their ids.
    pub fn missing(&self) -> &[PaperSet] {
        &self.missing
    }
}

impl DataFile {
    /// Reads and encodes the data. It is named after the set: `150_covertype`. If neither the encoding nor the file names the
    /// label, the label is that of the set, provided there is such a column.
    pub fn read(&self, encoding: &Encoding) -> Result<Supervised, EncodingError> {
        let mut table = Table::read(&self.path)?;
        if table.target().is_none()
            && let Some(target) = self.set.target
            && table.columns().iter().any(|column| column.name == target)
        {
            table = table.with_roles(Some(target.to_owned()), Vec::new());
        }
        encoding.encode(&self.set.to_string(), &table)
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
    // A folder lists its files in any order.
    paths.sort_unstable();
    Ok(paths)
}

/// The rank of the format, the best being 0; `None` for a file that is not a table.
fn rank(path: &Path) -> Option<usize> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    ["parquet", "arff", "csv"]
        .iter()
        .position(|format| *format == ending)
}

/// The id in the name of a file, or in its metadata. An error if they differ.
fn id_of(path: &Path) -> Result<Option<u32>, DataFolderError> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let first = stem.and_then(|stem| stem.split('_').next());
    let named: Option<u32> = first.and_then(|id| id.parse().ok());
    let said = if rank(path) == Some(0) {
        parquet::openml_id(path)?
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

/// Why the data sets of a folder cannot be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataFolderError {
    /// The folder does not exist, or cannot be read.
    #[error("cannot list the folder {}: {error}", dir.display())]
    Unreadable {
        /// The folder.
        dir: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The name of a file and its metadata have different ids.
    #[error(
        "{}: the name says OpenML data {named}, the metadata says {said}; rename it",
        path.display()
    )]
    TwoIds {
        /// The file.
        path: PathBuf,
        /// The id in its name.
        named: u32,
        /// The id in its metadata.
        said: u32,
    },
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array};

    use super::*;
    use crate::data::parquet::tests::write;

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
    fn files_are_found_by_name_or_by_metadata() {
        let folder = tempfile::tempdir().expect("a folder");
        file(folder.path(), "soil.parquet", Some("44056"));
        file(folder.path(), "150_any.parquet", None);
        file(folder.path(), "7_unknown.parquet", None);
        std::fs::write(folder.path().join("150_covertype.csv"), "x,y\n").expect("written");
        std::fs::write(folder.path().join("README.md"), "150").expect("written");
        let data = DataFolder::open(folder.path()).expect("readable");
        let found: Vec<String> = (data.found().iter())
            .map(|file| format!("{} {}", file.set, crate::data::table::stem(&file.path)))
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
    fn a_set_knows_its_label() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "Elevation,slope,class\n1,5,a\n3,6,b\n";
        std::fs::write(folder.path().join("150.csv"), text).expect("written");
        let data = DataFolder::open(folder.path()).expect("readable");
        let read = |encoding| data.found()[0].read(&encoding);
        let labels =
            |data: Supervised| -> Vec<f64> { data.rows().iter().map(|row| row.1).collect() };
        let own = read(Encoding::default()).expect("numbers");
        assert_eq!((own.width(), labels(own)), (3, vec![0.0, 1.0]));
        let class = Encoding {
            target: Some("class".to_owned()),
            ..Encoding::default()
        };
        assert!(read(class).is_err());
    }

    #[test]
    fn a_file_with_two_ids_and_a_missing_folder_are_refused() {
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
