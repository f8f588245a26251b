//! A few columns of numbers, without the rest of the records.
//!
//! An evaluation needs a loss, a density and little else. [`ColumnScan`] reads just those columns of many files and hands
//! them over as [`ColumnBatch`]es, each with one [`NumberColumn`] for each name. Row groups of Parquet and slices of a
//! [`MemoryTable`] are decoded in parallel; text goes through a [`Reader`]. Numbers are checked as a reader checks them.

pub(crate) mod number_column;

pub use number_column::{ColumnBatch, NumberColumn};

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array as _, Float64Array, RecordBatch};
use arrow_schema::Schema;
use egret::{Direction, Loss, Objective};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::statistics::Statistics;
use rayon::prelude::*;

use crate::format::Format;
use crate::parquet::{
    memory_table::MemoryTable,
    source::{
        OBJECTIVE, SPACE, check_version, damaged, entry, guarded_parquet, objective_of,
        objective_said, said,
    },
    table_column::TableColumn,
};
use crate::reader::{OnBad, ReadError, Reader, beside, expand};
use crate::record::{RowError, outcome};

/// A row group of at most this many rows is decoded whole. A larger one is streamed, each column by itself.
const WHOLE: u64 = 1 << 20;
/// Rows of one batch where a row group is streamed, a file is text or a table is in memory.
const SLICE: usize = 1 << 17;
/// Numbers that are decoded ahead, in all columns.
const AHEAD: u64 = 1 << 24;

/// Reads named columns of numbers from files and folders, without making records.
///
/// Row groups are decoded in parallel and come in order. Memory does not grow with the log. Numbers are checked as a
/// [`Reader`] checks them: densities are positive, losses in [0, 1], nothing is NaN. Errors name file and row. Words are
/// not read: see [`words_are_among`](Self::words_are_among).
///
/// ```
/// use egret::{Context, Density, Loss, Propensity};
/// use egret_log::{ColumnScan, Format, ReadError, Record, Writer};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("log.parquet");
/// let mut writer = Writer::create(&file, Format::Parquet)?;
/// for propensity in [Propensity::Density(Density::new(2.0)?), Propensity::PointMass] {
///     let mut record = Record::bare(Context::dense(vec![1.0])?, 0.5.into(), propensity);
///     record.loss = Some(Loss::new(0.25)?);
///     writer.write(&record)?;
/// }
/// writer.finish()?;
///
/// let (mut sum, mut point_masses) = (0.0, 0);
/// ColumnScan::open(&[file], &["loss", "density"], &[])?.for_each(|mut batch| {
///     point_masses += batch.drop_missing(1);
///     let (losses, densities) = (batch.all(0), batch.all(1));
///     sum += losses.iter().zip(densities).map(|(loss, p)| loss / p).sum::<f64>();
///     Ok::<(), ReadError>(())
/// })?;
/// assert_eq!((sum, point_masses), (0.125, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ColumnScan {
    parts: Vec<Part>,
    wanted: Arc<[Wanted]>,
    rows: Option<u64>,
}

/// Where rows are from.
enum Part {
    Parquet(Arc<Path>),
    /// A file whose records are read.
    Text(Arc<Path>),
    Memory(Arc<Layout>, MemoryTable),
}

/// A column that was asked for.
struct Wanted {
    name: String,
    optional: bool,
}

impl Wanted {
    fn all(required: &[&str], optional: &[&str]) -> Arc<[Self]> {
        let wanted = |optional: bool| {
            move |name: &&str| Self {
                name: (*name).to_owned(),
                optional,
            }
        };
        let required = required.iter().map(wanted(false));
        required.chain(optional.iter().map(wanted(true))).collect()
    }
}

impl ColumnScan {
    /// Finds the files. Columns come in the order given. A file may lack an `optional` one: its numbers are missing then.
    pub fn open<P: AsRef<Path>>(
        inputs: &[P],
        required: &[&str],
        optional: &[&str],
    ) -> Result<Self, ReadError> {
        let wanted = Wanted::all(required, optional);
        let (mut parts, mut rows) = (Vec::new(), Some(0));
        for path in expand(inputs)? {
            let mut format = Format::of_file(&path).map_err(|error| ReadError::io(&path, error))?;
            if beside(&path)?.names_columns() {
                // Its columns go by other names: records are read.
                format = Format::Csv;
            }
            let path: Arc<Path> = path.into();
            if format != Format::Parquet {
                rows = None;
                parts.push(Part::Text(path));
                continue;
            }
            let known = Table::open(&path, &wanted)?.rows();
            rows = rows.map(|sum| sum + known);
            parts.push(Part::Parquet(path));
        }
        Ok(Self {
            parts,
            wanted,
            rows,
        })
    }

    /// Reads columns of a table in memory, as of a file.
    pub fn of_table(
        table: &MemoryTable,
        required: &[&str],
        optional: &[&str],
    ) -> Result<Self, ReadError> {
        let wanted = Wanted::all(required, optional);
        let name = MemoryTable::name();
        let objective = objective_said(table.schema()).map_err(|error| ReadError::File {
            file: name.to_path_buf(),
            error,
        })?;
        let layout = Layout::new(name, table.schema(), objective, &wanted)?;
        Ok(Self {
            parts: vec![Part::Memory(Arc::new(layout), table.clone())],
            wanted,
            rows: Some(table.rows()),
        })
    }

    /// Whether every row of a column holds one of these words, as far as the statistics of the files tell. True where the
    /// column is absent; false where reading it would be needed, but for a table in memory, which is read.
    pub fn words_are_among(&self, name: &str, words: &[&str]) -> Result<bool, ReadError> {
        for part in &self.parts {
            let path = match part {
                Part::Parquet(path) => path,
                Part::Text(_) => return Ok(false),
                Part::Memory(_, table) => {
                    if !all_among(table, name, words) {
                        return Ok(false);
                    }
                    continue;
                }
            };
            let table = Table::open(path, &[])?;
            let fields = table.metadata.schema().fields();
            if !fields.iter().any(|field| field.name() == name) {
                continue;
            }
            for group in 0..table.metadata.metadata().num_row_groups() {
                let word = table.word(group, name);
                if !word.is_some_and(|word| words.iter().any(|known| known.as_bytes() == word)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The objective of all rows, losses if no file says any. None where rows may differ in it or in their action space, as
    /// far as that is known without reading them: a file is text or has a column for either, or two state not the same.
    pub fn shared_objective(&self) -> Result<Option<Objective>, ReadError> {
        let differ = |schema: &Schema| {
            let mut fields = schema.fields().iter();
            fields.any(|field| ["mu", "objective"].contains(&field.name().as_str()))
        };
        let (mut first, mut objective) = (None, Objective::default());
        for part in &self.parts {
            let (own, stated) = match part {
                Part::Text(_) => return Ok(None),
                Part::Parquet(path) => {
                    let table = Table::open(path, &[])?;
                    if differ(table.metadata.schema()) {
                        return Ok(None);
                    }
                    let metadata = table.metadata.metadata().file_metadata();
                    let text = |key| entry(metadata, key).map(str::to_owned);
                    (objective_of(metadata), [SPACE, OBJECTIVE].map(text))
                }
                Part::Memory(_, table) => {
                    let schema = table.schema();
                    if differ(schema) {
                        return Ok(None);
                    }
                    let text = |key| said(schema, key).map(str::to_owned);
                    (objective_said(schema), [SPACE, OBJECTIVE].map(text))
                }
            };
            objective = own
                .map_err(|error| ReadError::File {
                    file: part.file().to_path_buf(),
                    error,
                })?
                .unwrap_or_default();
            if *first.get_or_insert_with(|| stated.clone()) != stated {
                return Ok(None);
            }
        }
        Ok(Some(objective))
    }

    /// How many rows there are, where no file is text.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// Visits all rows in order, batch by batch. The next batches are decoded meanwhile.
    pub fn for_each<E: From<ReadError>>(
        &self,
        mut visit: impl FnMut(ColumnBatch) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut decoder = Decoder {
            columns: self,
            next_part: 0,
            state: State::Between,
            ended: false,
        };
        let mut ready = decoder.decode();
        while let Some(batches) = ready.take() {
            let mut visited = Ok(());
            rayon::in_place_scope(|scope| {
                let (decoder, ready) = (&mut decoder, &mut ready);
                scope.spawn(move |_| *ready = decoder.decode());
                visited = batches
                    .into_iter()
                    .try_for_each(|batch| visit(batch.map_err(E::from)?));
            });
            visited?;
        }
        Ok(())
    }
}

impl Part {
    /// What errors call it.
    fn file(&self) -> &Path {
        match self {
            Self::Parquet(path) | Self::Text(path) => path,
            Self::Memory(layout, _) => &layout.file,
        }
    }
}

/// Whether a column of a table in memory holds nothing but these words.
fn all_among(table: &MemoryTable, name: &str, words: &[&str]) -> bool {
    let Ok(place) = table.schema().index_of(name) else {
        return true;
    };
    table.slices(SLICE).all(|batch| {
        let column = TableColumn::new(batch.column(place));
        let mut found = (0..batch.num_rows()).map(|row| column.text(row));
        found.all(|word| matches!(word, Ok(Some(word)) if words.contains(&word)))
    })
}

/// Where the wanted columns are in a table.
struct Layout {
    file: Arc<Path>,
    /// The place of each wanted column among the columns of the table.
    places: Vec<Option<usize>>,
    propensity: Option<usize>,
    /// What losses may have to be worked out from.
    outcomes: Option<Outcomes>,
}

/// A Parquet file and where the wanted columns are in it.
struct Table {
    layout: Layout,
    metadata: ArrowReaderMetadata,
}

/// Outcomes in a file that says what they are.
struct Outcomes {
    place: usize,
    /// The objective of all rows.
    objective: Option<Objective>,
    /// The column of objectives.
    objectives: Option<usize>,
}

impl Layout {
    fn new(
        file: Arc<Path>,
        schema: &Schema,
        objective: Option<Objective>,
        wanted: &[Wanted],
    ) -> Result<Self, ReadError> {
        let fields = schema.fields();
        let place = |name: &str| fields.iter().position(|field| field.name() == name);
        let losses = wanted.iter().any(|column| column.name == "loss");
        let objectives = place("objective");
        let outcomes = place("outcome")
            .filter(|_| losses && (objective.is_some() || objectives.is_some()))
            .map(|place| Outcomes {
                place,
                objective,
                objectives,
            });
        let mut places = Vec::with_capacity(wanted.len());
        for column in wanted {
            let found = place(&column.name);
            let implied = column.name == "loss" && outcomes.is_some();
            if found.is_none() && !column.optional && !implied {
                let is_field = ["loss", "density"].contains(&column.name.as_str());
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                return Err(ReadError::File {
                    error: if is_field && place("action").is_none() {
                        RowError::which_action(&names)
                    } else {
                        RowError::Unreadable(format!(
                            "there is no column {:?}, only {}",
                            column.name,
                            names.join(", ")
                        ))
                    },
                    file: file.to_path_buf(),
                });
            }
            places.push(found);
        }
        let density = wanted.iter().any(|column| column.name == "density");
        let propensity = place("propensity").filter(|_| density);
        Ok(Self {
            file,
            places,
            propensity,
            outcomes,
        })
    }
}

impl Table {
    fn open(path: &Arc<Path>, wanted: &[Wanted]) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|error| ReadError::io(path, error))?;
        let metadata = guarded_parquet(|| {
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()).map_err(damaged)
        });
        let file_error = |error| ReadError::File {
            file: path.to_path_buf(),
            error,
        };
        let metadata = metadata.map_err(file_error)?;
        check_version(metadata.metadata().file_metadata()).map_err(file_error)?;
        let objective = objective_of(metadata.metadata().file_metadata()).map_err(file_error)?;
        let layout = Layout::new(path.clone(), metadata.schema(), objective, wanted)?;
        Ok(Self { layout, metadata })
    }

    /// The outcomes of a row group, unless its statistics say that it has none.
    fn outcomes_in(&self, group: usize) -> Option<&Outcomes> {
        let outcomes = self.layout.outcomes.as_ref()?;
        let rows = self.metadata.metadata().row_group(group).num_rows();
        let statistics = self.statistics(group, "outcome");
        let missing = statistics.and_then(Statistics::null_count_opt);
        (missing != u64::try_from(rows).ok()).then_some(outcomes)
    }

    fn told(&self, group: usize) -> Told<'_> {
        Told {
            propensity: self.known_propensity(group),
            outcomes: self.outcomes_in(group),
        }
    }

    /// The columns of a row group that have to be read.
    fn needed(&self, group: usize) -> Vec<usize> {
        let mut places: Vec<usize> = self.layout.places.iter().flatten().copied().collect();
        if let Known::Unknown(place) = self.known_propensity(group) {
            places.push(place);
        }
        if let Some(outcomes) = self.outcomes_in(group) {
            places.push(outcomes.place);
            places.extend(outcomes.objectives);
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    fn rows(&self) -> u64 {
        let groups = self.metadata.metadata().row_groups().iter();
        groups
            .map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
            .sum()
    }

    /// What the statistics of a row group say of the propensity of all its rows.
    fn known_propensity(&self, group: usize) -> Known {
        let Some(place) = self.layout.propensity else {
            return Known::Drawn;
        };
        match self.word(group, "propensity").as_deref() {
            Some(b"density") => Known::Drawn,
            Some(b"pointMass") => Known::PointMasses,
            _ => Known::Unknown(place),
        }
    }

    /// The word that a column of words has in all rows of a row group, if its statistics say so.
    fn word(&self, group: usize, name: &str) -> Option<Vec<u8>> {
        match self.statistics(group, name) {
            Some(Statistics::ByteArray(values))
                if values.null_count_opt() == Some(0)
                    && values.min_opt() == values.max_opt()
                    && values.min_is_exact()
                    && values.max_is_exact() =>
            {
                values.min_opt().map(|word| word.data().to_vec())
            }
            _ => None,
        }
    }

    fn statistics(&self, group: usize, name: &str) -> Option<&Statistics> {
        let leaves = self.metadata.parquet_schema().columns();
        // A feature in the struct of the context may be called the same.
        let leaf = leaves
            .iter()
            .position(|column| matches!(column.path().parts(), [only] if only == name))?;
        let chunk = self.metadata.metadata().row_group(group).column(leaf);
        chunk.statistics()
    }

    /// A reader of some columns of a row group.
    fn reader(
        &self,
        group: usize,
        places: impl IntoIterator<Item = usize>,
        batch: usize,
    ) -> Result<ParquetRecordBatchReader, ReadError> {
        // Each reader has its own place in the file: copies of a handle would share it.
        let path = &self.layout.file;
        let file = File::open(path).map_err(|error| ReadError::io(path, error))?;
        let built = guarded_parquet(|| {
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
            let mask = ProjectionMask::roots(builder.parquet_schema(), places);
            builder
                .with_row_groups(vec![group])
                .with_projection(mask)
                .with_batch_size(batch)
                .build()
                .map_err(damaged)
        });
        built.map_err(|error| ReadError::File {
            file: path.to_path_buf(),
            error,
        })
    }
}

/// What is known of some rows before they are read.
struct Told<'a> {
    propensity: Known,
    /// Outcomes, unless there are none.
    outcomes: Option<&'a Outcomes>,
}

/// What is known of the propensities of a row group without reading them.
#[derive(Clone, Copy)]
enum Known {
    Drawn,
    PointMasses,
    /// They have to be read, from this column.
    Unknown(usize),
}

/// Decodes ahead, a window at a time.
struct Decoder<'a> {
    columns: &'a ColumnScan,
    next_part: usize,
    state: State,
    ended: bool,
}

enum State {
    Between,
    Table {
        table: Arc<Table>,
        group: usize,
        /// Rows of the groups before.
        before: u64,
    },
    /// A row group that is too large to be held.
    Stream {
        table: Arc<Table>,
        group: usize,
        before: u64,
        rest: u64,
        streams: Vec<Stream>,
    },
    Text {
        path: Arc<Path>,
        reader: Box<Reader>,
        before: u64,
    },
    Memory {
        layout: Arc<Layout>,
        slices: Box<dyn Iterator<Item = RecordBatch> + Send>,
        before: u64,
    },
}

/// One column of a large row group.
struct Stream {
    place: usize,
    reader: ParquetRecordBatchReader,
}

type Window = Vec<Result<ColumnBatch, ReadError>>;

impl Decoder<'_> {
    /// The next few batches, in order; none after the last, nor after an error.
    fn decode(&mut self) -> Option<Window> {
        if self.ended {
            return None;
        }
        let window = match self.try_decode() {
            Ok(window) => window?,
            Err(error) => vec![Err(error)],
        };
        self.ended = window.iter().any(Result::is_err);
        Some(window)
    }

    /// Opens the next file; none after the last.
    fn open_next(&mut self) -> Result<Option<State>, ReadError> {
        let Some(part) = self.columns.parts.get(self.next_part) else {
            return Ok(None);
        };
        self.next_part += 1;
        Ok(Some(match part {
            Part::Parquet(path) => State::Table {
                table: Arc::new(Table::open(path, &self.columns.wanted)?),
                group: 0,
                before: 0,
            },
            Part::Text(path) => State::Text {
                path: path.clone(),
                reader: Box::new(Reader::open(&[path], OnBad::Stop)?),
                before: 0,
            },
            Part::Memory(layout, table) => State::Memory {
                layout: layout.clone(),
                slices: Box::new(table.slices(SLICE)),
                before: 0,
            },
        }))
    }

    fn try_decode(&mut self) -> Result<Option<Window>, ReadError> {
        loop {
            let wanted = self.columns.wanted.clone();
            match &mut self.state {
                State::Between => match self.open_next()? {
                    Some(state) => self.state = state,
                    None => return Ok(None),
                },
                State::Table {
                    table,
                    group,
                    before,
                } => {
                    let tasks = small_groups(table, group, before, wanted.len());
                    if !tasks.is_empty() {
                        let decode = |&(group, first, rows): &(usize, u64, u64)| {
                            decode_group(table, group, first, rows, &wanted)
                        };
                        return Ok(Some(tasks.par_iter().map(decode).collect()));
                    }
                    let groups = table.metadata.metadata().row_groups();
                    let Some(large) = groups.get(*group) else {
                        self.state = State::Between;
                        continue;
                    };
                    let rest = u64::try_from(large.num_rows()).unwrap_or(0);
                    let streams = streams(table, *group)?;
                    self.state = State::Stream {
                        table: table.clone(),
                        group: *group,
                        before: *before,
                        rest,
                        streams,
                    };
                }
                State::Stream {
                    table,
                    group,
                    before,
                    rest,
                    streams,
                } => {
                    if *rest == 0 {
                        self.state = State::Table {
                            table: table.clone(),
                            group: *group + 1,
                            before: *before,
                        };
                        continue;
                    }
                    let rows = (*rest).min(SLICE as u64);
                    let first = *before + 1;
                    (*before, *rest) = (*before + rows, *rest - rows);
                    let batch = next_slice(table, *group, first, rows as usize, streams, &wanted);
                    return Ok(Some(vec![batch]));
                }
                State::Text {
                    path,
                    reader,
                    before,
                } => {
                    let batch = text_slice(path, reader, *before, &wanted)?;
                    match batch {
                        Some(batch) => {
                            *before += batch.rows() as u64;
                            return Ok(Some(vec![Ok(batch)]));
                        }
                        None => self.state = State::Between,
                    }
                }
                State::Memory {
                    layout,
                    slices,
                    before,
                } => {
                    let mut tasks = Vec::new();
                    for slice in slices.take(2 * rayon::current_num_threads()) {
                        tasks.push((*before + 1, slice));
                        *before += tasks[tasks.len() - 1].1.num_rows() as u64;
                    }
                    if tasks.is_empty() {
                        self.state = State::Between;
                        continue;
                    }
                    let numbers = |(first, slice): &(u64, RecordBatch)| {
                        numbers_of(layout, *first, slice, &wanted)
                    };
                    return Ok(Some(tasks.par_iter().map(numbers).collect()));
                }
            }
        }
    }
}

/// The numbers of some rows of a table in memory.
fn numbers_of(
    layout: &Layout,
    first: u64,
    slice: &RecordBatch,
    wanted: &[Wanted],
) -> Result<ColumnBatch, ReadError> {
    let outcomes = layout.outcomes.as_ref();
    let places = layout.places.iter().flatten().copied();
    let places = places.chain(layout.propensity);
    let places = places.chain(outcomes.map(|outcomes| outcomes.place));
    let places = places.chain(outcomes.and_then(|outcomes| outcomes.objectives));
    let taken: Vec<(usize, TableColumn)> = places
        .map(|place| (place, TableColumn::new(slice.column(place))))
        .collect();
    let column = |place: usize| taken.iter().find(|(p, _)| *p == place).map(|(_, c)| c);
    let told = Told {
        propensity: layout.propensity.map_or(Known::Drawn, Known::Unknown),
        outcomes,
    };
    assemble(layout, &told, first, slice.num_rows(), wanted, column)
}

/// The next row groups that fit into the window: (group, first row, rows).
fn small_groups(
    table: &Table,
    group: &mut usize,
    before: &mut u64,
    columns: usize,
) -> Vec<(usize, u64, u64)> {
    let mut tasks = Vec::new();
    let mut numbers = 0;
    let window = 2 * rayon::current_num_threads();
    while let Some(next) = table.metadata.metadata().row_groups().get(*group) {
        let rows = u64::try_from(next.num_rows()).unwrap_or(0);
        let cost = rows.saturating_mul(columns.max(1) as u64);
        let full = window <= tasks.len() || AHEAD < numbers + cost;
        if WHOLE < rows || (full && !tasks.is_empty()) {
            break;
        }
        tasks.push((*group, *before + 1, rows));
        numbers += cost;
        *group += 1;
        *before += rows;
    }
    tasks
}

fn decode_group(
    table: &Table,
    group: usize,
    first: u64,
    rows: u64,
    wanted: &[Wanted],
) -> Result<ColumnBatch, ReadError> {
    let places = table.needed(group);
    let rows = rows as usize;
    let mut decoded: Vec<(usize, TableColumn)> = Vec::new();
    if !places.is_empty() && rows != 0 {
        let mut reader = table.reader(group, places.iter().copied(), rows)?;
        let batch = next_batch(table, first, &mut reader)?;
        if batch.num_rows() != rows {
            return Err(short(table, first));
        }
        let columns = batch.columns().iter().map(TableColumn::new);
        decoded = places.into_iter().zip(columns).collect();
    }
    let column = |place: usize| decoded.iter().find(|(p, _)| *p == place).map(|(_, c)| c);
    assemble(
        &table.layout,
        &table.told(group),
        first,
        rows,
        wanted,
        column,
    )
}

/// A reader for each column that is needed.
fn streams(table: &Table, group: usize) -> Result<Vec<Stream>, ReadError> {
    table
        .needed(group)
        .into_iter()
        .map(|place| {
            let reader = table.reader(group, [place], SLICE)?;
            Ok(Stream { place, reader })
        })
        .collect()
}

fn next_slice(
    table: &Table,
    group: usize,
    first: u64,
    rows: usize,
    streams: &mut [Stream],
    wanted: &[Wanted],
) -> Result<ColumnBatch, ReadError> {
    let decoded: Result<Vec<(usize, TableColumn)>, ReadError> = streams
        .par_iter_mut()
        .map(|stream| {
            let batch = next_batch(table, first, &mut stream.reader)?;
            if batch.num_rows() != rows {
                return Err(short(table, first));
            }
            Ok((stream.place, TableColumn::new(batch.column(0))))
        })
        .collect();
    let decoded = decoded?;
    let column = |place: usize| decoded.iter().find(|(p, _)| *p == place).map(|(_, c)| c);
    assemble(
        &table.layout,
        &table.told(group),
        first,
        rows,
        wanted,
        column,
    )
}

fn next_batch(
    table: &Table,
    first: u64,
    reader: &mut ParquetRecordBatchReader,
) -> Result<RecordBatch, ReadError> {
    let batch = guarded_parquet(|| match reader.next() {
        Some(batch) => batch.map_err(damaged),
        None => Err(damaged("it ends too early")),
    });
    batch.map_err(|error| row_error(&table.layout.file, first, error))
}

fn short(table: &Table, first: u64) -> ReadError {
    let error = damaged("a column has fewer rows than the file says");
    row_error(&table.layout.file, first, error)
}

fn row_error(path: &Path, row: u64, error: RowError) -> ReadError {
    ReadError::Row {
        file: path.to_path_buf(),
        row,
        error,
    }
}

/// Numbers of the wanted columns, checked.
fn assemble<'a>(
    layout: &Layout,
    told: &Told<'_>,
    first: u64,
    rows: usize,
    wanted: &[Wanted],
    column: impl Fn(usize) -> Option<&'a TableColumn>,
) -> Result<ColumnBatch, ReadError> {
    let at = |row: usize, error: RowError| row_error(&layout.file, first + row as u64, error);
    let mut columns = Vec::with_capacity(wanted.len());
    for (wanted, place) in wanted.iter().zip(&layout.places) {
        let numbers = match place.and_then(&column) {
            None => Float64Array::new_null(rows),
            Some(column) => column
                .all_numbers(rows)
                .map_err(|mismatch| at(0, mismatch.of(&wanted.name)))?,
        };
        let mut numbers = NumberColumn::new(&wanted.name, numbers);
        numbers.check().map_err(|(row, error)| at(row, error))?;
        if wanted.name == "loss"
            && let Some(outcomes) = told.outcomes
        {
            numbers = with_losses_of(outcomes, &numbers, &column)
                .map_err(|(row, error)| at(row, error))?;
        }
        if wanted.name == "density" {
            check_point_masses(&numbers, told.propensity, &column)
                .map_err(|(row, error)| at(row, error))?;
        }
        columns.push(numbers);
    }
    Ok(ColumnBatch::new(layout.file.clone(), first, rows, columns))
}

/// Losses with those of outcomes, where they are not stated.
fn with_losses_of<'a>(
    outcomes: &Outcomes,
    losses: &NumberColumn,
    column: &impl Fn(usize) -> Option<&'a TableColumn>,
) -> Result<NumberColumn, (usize, RowError)> {
    let values = column(outcomes.place);
    let texts = outcomes.objectives.and_then(column);
    if texts.is_none()
        && losses.missing() == losses.len()
        && let (Some(objective), Some(values)) = (outcomes.objective, values)
        && let Ok(values) = values.all_numbers(losses.len())
        && values.null_count() == 0
        && let Some(losses) = losses_within(&objective, values.values())
    {
        return Ok(NumberColumn::new("loss", losses.into()));
    }
    let mut last: Option<(&str, Objective)> = None;
    let mut completed = Vec::with_capacity(losses.len());
    for row in 0..losses.len() {
        let refused = |error| (row, error);
        let text = texts.map_or(Ok(None), |texts| texts.text(row));
        let objective = match (text.map_err(|m| refused(m.of("objective")))?, last) {
            (None, _) => outcomes.objective,
            (Some(text), Some((known, objective))) if known == text => Some(objective),
            (Some(text), _) => {
                let objective = outcome::objective(text).map_err(refused)?;
                last = Some((text, objective));
                Some(objective)
            }
        };
        let value = values.map_or(Ok(None), |values| values.number(row));
        let value = value.map_err(|m| refused(m.of("outcome")))?;
        let stated = losses.get(row).map(Loss::new).transpose();
        let stated = stated.map_err(|error| refused(error.into()))?;
        let loss = outcome::loss(stated, value, objective.as_ref()).map_err(refused)?;
        completed.push(loss.map(Loss::get));
    }
    Ok(NumberColumn::new("loss", completed.into()))
}

/// The losses of outcomes, unless one is outside of the range: by the arithmetic of [`Objective::loss`] without its checks, which
/// would take longer than an evaluation.
fn losses_within(objective: &Objective, outcomes: &[f64]) -> Option<Vec<f64>> {
    let (low, high) = (objective.low(), objective.high());
    let within = |value: f64| (low <= value) & (value <= high);
    if !outcomes
        .iter()
        .fold(true, |all, &value| all & within(value))
    {
        return None;
    }
    let loss = |value: &f64| {
        let loss = match objective.direction() {
            Direction::Maximize => (high - value) / (high - low),
            Direction::Minimize => (value - low) / (high - low),
        };
        loss.clamp(0.0, 1.0)
    };
    Some(outcomes.iter().map(loss).collect())
}

/// A point mass has no density, and a row without a density says that it is a point mass.
fn check_point_masses<'a>(
    densities: &NumberColumn,
    known: Known,
    column: &impl Fn(usize) -> Option<&'a TableColumn>,
) -> Result<(), (usize, RowError)> {
    let with_density = |row: usize| {
        let density = densities.get(row).unwrap_or(f64::NAN);
        (row, RowError::PointMassWithDensity { density })
    };
    match known {
        Known::Drawn => match densities.first_missing() {
            Some(row) => Err((row, RowError::NoPropensity)),
            None => Ok(()),
        },
        Known::PointMasses => match densities.first_present() {
            Some(row) => Err(with_density(row)),
            None => Ok(()),
        },
        Known::Unknown(place) => {
            let words = column(place);
            for row in 0..densities.len() {
                let word = match words {
                    Some(words) => words
                        .text(row)
                        .map_err(|mismatch| (row, mismatch.of("propensity")))?,
                    None => None,
                };
                match (word, densities.get(row)) {
                    (Some("pointMass"), Some(_)) => return Err(with_density(row)),
                    (Some("pointMass"), None) | (Some("density") | None, Some(_)) => {}
                    (Some("density") | None, None) => return Err((row, RowError::NoPropensity)),
                    (Some(other), _) => {
                        let error = RowError::Word {
                            field: "propensity",
                            found: other.to_owned(),
                            expected: "density or pointMass",
                        };
                        return Err((row, error));
                    }
                }
            }
            Ok(())
        }
    }
}

/// The next rows of a file of text.
fn text_slice(
    path: &Arc<Path>,
    reader: &mut Reader,
    before: u64,
    wanted: &[Wanted],
) -> Result<Option<ColumnBatch>, ReadError> {
    let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); wanted.len()];
    let mut rows = 0;
    while rows < SLICE {
        let Some(record) = reader.next().transpose()? else {
            break;
        };
        rows += 1;
        for (values, wanted) in values.iter_mut().zip(wanted) {
            values.push(record.number(&wanted.name));
        }
    }
    if rows == 0 {
        return Ok(None);
    }
    let columns = values
        .into_iter()
        .zip(wanted)
        .map(|(values, wanted)| NumberColumn::new(&wanted.name, Float64Array::from(values)))
        .collect();
    let batch = ColumnBatch::new(path.clone(), before + 1, rows, columns);
    Ok(Some(batch))
}
