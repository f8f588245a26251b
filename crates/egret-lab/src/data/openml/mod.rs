//! Data sets of OpenML: descriptions, ARFF files, and a cache on disk.

mod cache;
#[cfg_attr(not(feature = "download"), path = "no_download.rs")]
mod download;
mod download_error;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use self::cache::{OpenMlCache, md5_of};
use self::download::Download;
use crate::data::table::decoded;
use crate::data::{Encoding, EncodingError, Table, TableError, arff};
use crate::environment::Supervised;

pub use self::cache::default_cache_dir;
pub use self::download_error::DownloadError;

/// Downloads data sets of OpenML by the id of the data or of a task, and keeps them on disk.
///
/// A data set is a description, a list of features and an ARFF file. The MD5 of the file is checked when it arrives and each time
/// it is read again. A task names a data set and the label. A file is downloaded once, and again only if it was damaged on disk.
#[derive(Debug)]
pub struct OpenMl {
    settings: OpenMlSettings,
    download: Download,
    cache: OpenMlCache,
}

/// The address of OpenML, the folder of the cache, and how long to try.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenMlSettings {
    /// The site, without `/api`.
    pub base: String,
    /// The folder that keeps the files.
    pub cache: PathBuf,
    /// Use only the cache.
    pub offline: bool,
    /// How often to try a request that fails for a temporary reason.
    pub attempts: u32,
    /// The pause after the first failure. It doubles after each further one, unless the server asks for a pause.
    pub pause: Duration,
    /// The longest pause. A server that asks for a longer one is an error.
    pub longest_pause: Duration,
    /// How long to wait for the connection, for the start of the answer, and for each further piece of it.
    pub timeout: Duration,
    /// The largest file, in bytes.
    pub max_bytes: u64,
}

/// The public site.
pub const OPENML_URL: &str = "https://www.openml.org";

impl OpenMlSettings {
    /// Settings from environment variables.
    ///
    /// | setting | value                                                                      |
    /// |---------|----------------------------------------------------------------------------|
    /// | site    | `$EGRET_OPENML_URL`, else [`OPENML_URL`]                                   |
    /// | cache   | `$EGRET_CACHE`, else `$XDG_CACHE_HOME/egret`, else `~/.cache/egret`        |
    /// | the rest | as [`new`](Self::new)                                                     |
    pub fn from_env() -> Result<Self, OpenMlError> {
        let base = std::env::var("EGRET_OPENML_URL").ok();
        let base = base.filter(|base| !base.is_empty());
        Ok(Self::new(
            base.unwrap_or_else(|| OPENML_URL.to_owned()),
            default_cache_dir().ok_or(OpenMlError::NoCache)?,
        ))
    }

    /// This site and this cache, with 5 attempts between half a second and a minute apart, a timeout of half a minute, and files
    /// up to 2 GiB.
    pub fn new(base: impl Into<String>, cache: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            cache: cache.into(),
            offline: false,
            attempts: 5,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(60),
            timeout: Duration::from_secs(30),
            max_bytes: 2 << 30,
        }
    }
}

/// A data set from OpenML.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenMlData {
    /// The id on OpenML.
    pub id: u32,
    /// The name on OpenML.
    pub name: String,
    /// The version on OpenML.
    pub version: String,
    /// The contents. The label is that of the task, or else the default label of the data.
    pub table: Table,
}

impl OpenMlData {
    /// Encodes the table. The result is named by id and name: `150_covertype`.
    pub fn encode(&self, encoding: &Encoding) -> Result<Supervised, EncodingError> {
        encoding.encode(&self.full_name(), &self.table)
    }

    /// Id and name: `150_covertype`.
    pub fn full_name(&self) -> String {
        format!("{}_{}", self.id, self.name)
    }
}

impl OpenMl {
    /// Checks the address; sends no request yet.
    pub fn new(settings: OpenMlSettings) -> Result<Self, OpenMlError> {
        let base = settings.base.trim_end_matches('/').to_owned();
        let host = (base
            .strip_prefix("https://")
            .or(base.strip_prefix("http://")))
        .filter(|host| !host.is_empty() && !host.contains(char::is_whitespace));
        let Some(host) = host else {
            return Err(OpenMlError::BadUrl { url: base });
        };
        // Each site has its own folder.
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '_'
            }
        };
        let host: String = host.chars().map(plain).collect();
        let cache = OpenMlCache::new(settings.cache.join("openml").join(host));
        let download = Download::new(&settings, &base);
        Ok(Self {
            settings: OpenMlSettings { base, ..settings },
            download,
            cache,
        })
    }

    /// The data set with this id.
    pub fn data(&self, id: u32) -> Result<OpenMlData, OpenMlError> {
        let description = self.described(&format!("data/{id}"), "data_set_description")?;
        let features = self.described(&format!("data/features/{id}"), "data_features")?;
        let what = format!("OpenML data {id}");
        let field = |name: &str| text(&description[name]);
        let need = |name: &str| {
            field(name).ok_or_else(|| OpenMlError::Answer {
                what: what.clone(),
                problem: format!("the description has no {name}"),
            })
        };
        let format = field("format").unwrap_or_default();
        if !format.is_empty() && !format.to_ascii_lowercase().contains("arff") {
            let problem = format!("the file has format {format:?}, expected ARFF");
            return Err(OpenMlError::Answer { what, problem });
        }
        let bytes = self.file(id, &need("url")?, field("md5_checksum").as_deref())?;
        let table = arff::parse(&what, &decoded(bytes))?;
        let mut ignored = names(&description["ignore_attribute"]);
        ignored.extend(names(&description["row_id_attribute"]));
        let features = features["feature"].as_array();
        for feature in features.into_iter().flatten() {
            let is = |flag: &str| text(&feature[flag]).as_deref() == Some("true");
            if is("is_ignore") || is("is_row_identifier") {
                ignored.extend(text(&feature["name"]));
            }
        }
        Ok(OpenMlData {
            id,
            name: need("name")?,
            version: field("version").unwrap_or_default(),
            table: table
                .with_roles(field("default_target_attribute"), ignored)
                .with_openml_id(Some(id)),
        })
    }

    /// The data set of the task with this id, with the task's label.
    pub fn task(&self, id: u32) -> Result<OpenMlData, OpenMlError> {
        let task = self.described(&format!("task/{id}"), "task")?;
        let inputs = task["input"].as_array();
        let source = (inputs.into_iter().flatten())
            .find(|input| input["name"] == "source_data")
            .map_or(&Value::Null, |input| &input["data_set"]);
        let missing = |problem: &str| OpenMlError::Answer {
            what: format!("OpenML task {id}"),
            problem: problem.to_owned(),
        };
        let data = text(&source["data_set_id"]).and_then(|data| data.parse().ok());
        let target = text(&source["target_feature"]);
        let mut data = self.data(data.ok_or_else(|| missing("it names no data set"))?)?;
        let target = target.ok_or_else(|| missing("it names no target"))?;
        let ignored = data.table.ignored().to_vec();
        data.table = data.table.with_roles(Some(target), ignored);
        Ok(data)
    }

    /// A description from the cache or the site: the JSON value under `root`.
    fn described(&self, path: &str, root: &str) -> Result<Value, OpenMlError> {
        let key = format!("{path}.json");
        let parse = |bytes: &[u8]| -> Result<Value, String> {
            let mut value: Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
            match value[root].take() {
                Value::Null => Err(format!("there is no {root} in it")),
                found => Ok(found),
            }
        };
        if let Some(value) = (self.cache.read(&key)).and_then(|bytes| parse(&bytes).ok()) {
            return Ok(value);
        }
        let what = format!("OpenML {}", path.replace('/', " "));
        self.expect_online(&what, &key)?;
        let url = format!("{}/api/v1/json/{path}", self.settings.base);
        let bytes = self.download.get(&url, |_| Ok(()))?;
        let value = parse(&bytes).map_err(|problem| OpenMlError::Answer { what, problem })?;
        self.keep(&key, &bytes)?;
        Ok(value)
    }

    /// The data file, from the cache or the site, with its MD5 checked.
    fn file(&self, id: u32, url: &str, md5: Option<&str>) -> Result<Vec<u8>, OpenMlError> {
        let key = format!("data/{id}.arff");
        let sound = |bytes: &[u8]| match md5 {
            Some(md5) if !md5_of(bytes).eq_ignore_ascii_case(md5) => {
                let found = md5_of(bytes);
                Err(format!("its MD5 is {found}, expected {md5}"))
            }
            _ => Ok(()),
        };
        if let Some(bytes) = self.cache.read(&key).filter(|bytes| sound(bytes).is_ok()) {
            return Ok(bytes);
        }
        self.expect_online(&format!("the file of OpenML data {id}"), &key)?;
        let bytes = self.download.get(url, sound)?;
        self.keep(&key, &bytes)?;
        Ok(bytes)
    }

    fn expect_online(&self, what: &str, key: &str) -> Result<(), OpenMlError> {
        if self.settings.offline {
            return Err(OpenMlError::Offline {
                what: what.to_owned(),
                path: self.cache.path(key),
            });
        }
        Ok(())
    }

    fn keep(&self, key: &str, bytes: &[u8]) -> Result<(), OpenMlError> {
        let unwritten = |error| OpenMlError::Cache {
            path: self.cache.path(key),
            error,
        };
        self.cache.write(key, bytes).map_err(unwritten)
    }
}

/// A string, or a number or boolean as a string: the site writes all of them. `None` if it is empty.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// Names from a list, or from a string with commas.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().filter_map(text).collect(),
        value => (text(value).iter())
            .flat_map(|names| names.split(','))
            .map(|name| name.trim().to_owned())
            .collect(),
    }
}

/// Why a data set is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenMlError {
    /// The address is not one of a site.
    #[error("{url:?} is not the address of a site, expected http:// or https:// and a host")]
    BadUrl {
        /// The address.
        url: String,
    },
    /// There is no folder for the cache.
    #[error("there is no cache folder: set EGRET_CACHE or HOME")]
    NoCache,
    /// The cache does not have it, and downloads are off.
    #[error("{what} is not in the cache ({}), and nothing is downloaded offline: run once without --offline", path.display())]
    Offline {
        /// What is missing.
        what: String,
        /// Where the cache would have it.
        path: PathBuf,
    },
    /// The download failed.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// The answer of the site makes no sense.
    #[error("{what}: the answer cannot be used: {problem}")]
    Answer {
        /// What was requested.
        what: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// A file cannot be written to the cache.
    #[error("cannot write {}: {error}", path.display())]
    Cache {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is not a table.
    #[error(transparent)]
    Table(#[from] TableError),
}
