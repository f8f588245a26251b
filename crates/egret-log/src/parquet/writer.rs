use std::fs::File;
use std::mem;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use tempfile::NamedTempFile;

use crate::output_file::{self, OutputFile};
use crate::parquet::{
    layout::{self, Layout},
    named_columns,
    source::{BatchSource, OBJECTIVE},
};
use crate::record::{Record, VERSION, WriteError, outcome};

/// Rows of a row group; columns.rs decodes one at a time.
const ROW_GROUP: usize = 1 << 18;
/// A row group with long contexts ends earlier.
const ROW_GROUP_BYTES: usize = 256 << 20;
/// Records that wait to be made columns of.
const PENDING: usize = 8192;
/// The same in numbers: contexts can be long.
const PENDING_NUMBERS: usize = 1 << 20;

/// Writes records as Parquet. Their columns are settled as they come: where a later record needs other
/// columns, a new part is begun, and at the end the parts are made one.
pub(crate) struct ParquetWriter {
    path: PathBuf,
    layout: Layout,
    pending: Vec<Record>,
    numbers: usize,
    parts: Vec<NamedTempFile>,
    open: Option<(SchemaRef, ArrowWriter<NamedTempFile>)>,
}

impl ParquetWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, WriteError> {
        let writer = Self {
            path: path.to_owned(),
            layout: Layout::default(),
            pending: Vec::new(),
            numbers: 0,
            parts: Vec::new(),
            open: None,
        };
        // Before the work: a folder that cannot be written is no surprise at the end.
        OutputFile::create(path).map_err(|source| writer.io(source))?;
        Ok(writer)
    }

    pub(crate) fn write(&mut self, record: &Record) -> Result<(), WriteError> {
        if !self.layout.fits(record) {
            let mut layout = self.layout.clone();
            layout.admit(record)?;
            if self.open.is_some() {
                self.flush()?;
                self.close_part()?;
            }
            self.layout = layout;
        }
        let numbers = match record.context.as_named() {
            Some(features) => named_columns::weight(features),
            None => record.context.dim(),
        };
        self.numbers += numbers.min(1 << 16) + 64;
        self.pending.push(record.clone());
        if PENDING <= self.pending.len() || PENDING_NUMBERS <= self.numbers {
            self.flush()?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        // A file without rows is a file all the same.
        if !self.pending.is_empty() || (self.open.is_none() && self.parts.is_empty()) {
            self.flush()?;
        }
        self.close_part()?;
        let whole = match <[NamedTempFile; 1]>::try_from(mem::take(&mut self.parts)) {
            Ok([part]) => part,
            Err(parts) => self.joined(parts)?,
        };
        output_file::place(whole, &self.path).map_err(|source| self.io(source))
    }

    /// One file of the parts, with the columns of all.
    fn joined(&mut self, parts: Vec<NamedTempFile>) -> Result<NamedTempFile, WriteError> {
        for part in parts {
            let path = part.path().to_owned();
            let damaged = |reason: String| WriteError::Parquet {
                file: path.clone(),
                error: ParquetError::General(reason),
            };
            let file = File::open(&path).map_err(|source| WriteError::Io {
                file: path.clone(),
                source,
            })?;
            let mut source = BatchSource::parquet(file).map_err(|bad| damaged(bad.to_string()))?;
            while let Some(next) = source.next() {
                let record = next.map_err(|bad| damaged(bad.error.to_string()))?;
                self.pending.push(record);
                if PENDING <= self.pending.len() {
                    self.flush()?;
                }
            }
            self.flush()?;
        }
        self.close_part()?;
        let whole = self.parts.pop();
        Ok(whole.expect("the part that was just closed"))
    }

    /// Makes columns of the pending records.
    fn flush(&mut self) -> Result<(), WriteError> {
        if self.open.is_none() {
            self.layout.settle(&self.pending);
            let schema = self.layout.schema();
            let file = output_file::beside(&self.path).map_err(|source| self.io(source))?;
            let writer = ArrowWriter::try_new(file, schema.clone(), Some(self.properties()))
                .map_err(|error| self.parquet(error))?;
            self.open = Some((schema, writer));
        }
        let (schema, writer) = self.open.as_mut().expect("opened above");
        let batch = self
            .layout
            .batch(schema, &self.pending)
            .map_err(ParquetError::from);
        let written = batch.and_then(|batch| writer.write(&batch));
        self.pending.clear();
        self.numbers = 0;
        written.map_err(|error| self.parquet(error))
    }

    fn close_part(&mut self) -> Result<(), WriteError> {
        if let Some((_, mut writer)) = self.open.take() {
            if let Some(mu) = self.layout.mu() {
                let text = layout::json_text(mu);
                writer.append_key_value_metadata(KeyValue::new("egret.mu".to_owned(), text));
            }
            if let Some(objective) = self.layout.objective() {
                let text = outcome::objective_text(objective);
                writer.append_key_value_metadata(KeyValue::new(OBJECTIVE.to_owned(), text));
            }
            let part = writer.into_inner().map_err(|error| self.parquet(error))?;
            self.parts.push(part);
        }
        Ok(())
    }

    fn properties(&self) -> WriterProperties {
        let version = KeyValue::new("egret.version".to_owned(), VERSION.to_string());
        let level = ZstdLevel::try_new(1).expect("zstd has a level 1");
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("egret {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
            .set_key_value_metadata(Some(vec![version]));
        for path in self.layout.unrepeated() {
            properties = properties.set_column_dictionary_enabled(ColumnPath::new(path), false);
        }
        properties.build()
    }

    fn io(&self, source: std::io::Error) -> WriteError {
        WriteError::Io {
            file: self.path.clone(),
            source,
        }
    }

    fn parquet(&self, error: ParquetError) -> WriteError {
        WriteError::Parquet {
            file: self.path.clone(),
            error,
        }
    }
}
