use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::download::{Download, DownloadError};
use crate::openml_cache::{OpenMlCache, default_cache_dir, md5_of};
use crate::table::decoded;
use crate::{Encoding, EncodingError, Supervised, Table, TableError, arff_table};

/// Data sets of OpenML by the id of the data or of a task, kept on disk.
///
/// A data set is its description, its list of features and an ARFF file, whose MD5 is checked when it comes and each
/// time it is read again. A task names a data set and the label. What was fetched once is not asked for again; what
/// was damaged on disk is.
#[derive(Debug)]
pub struct OpenMl {
    settings: OpenMlSettings,
    download: Download,
    cache: OpenMlCache,
}

/// Where OpenML is, where its files are kept, and how long to try.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenMlSettings {
    /// The site, without `/api`.
    pub base: String,
    /// The folder that files are kept in.
    pub cache: PathBuf,
    /// Whether only that folder is asked.
    pub offline: bool,
    /// How often a request is made that fails for a reason that may pass.
    pub attempts: u32,
    /// The pause after the first failure; it doubles after each further one, unless the server says how long.
    pub pause: Duration,
    /// No pause is longer. A server that asks for a longer one is an error.
    pub longest_pause: Duration,
    /// How long the site may take to be connected to, to begin its answer, and for each further piece of it.
    pub timeout: Duration,
    /// No file is larger, in bytes.
    pub max_bytes: u64,
}

/// The public site.
pub const OPENML_URL: &str = "https://www.openml.org";

impl OpenMlSettings {
    /// The usual: the site is `$EGRET_OPENML_URL` or else [`OPENML_URL`]; the cache is `$EGRET_CACHE`, else
    /// `$XDG_CACHE_HOME/egret`, else `~/.cache/egret`; five attempts, from half a second to a minute apart; half a
    /// minute of patience; 2 GiB.
    pub fn from_env() -> Result<Self, OpenMlError> {
        let base = std::env::var("EGRET_OPENML_URL").ok();
        let base = base.filter(|base| !base.is_empty());
        Ok(Self::new(
            base.unwrap_or_else(|| OPENML_URL.to_owned()),
            default_cache_dir().ok_or(OpenMlError::NoCache)?,
        ))
    }

    /// The same for this site and this cache.
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

/// A data set that came from OpenML.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenMlData {
    /// Its id.
    pub id: u32,
    /// What it is called there.
    pub name: String,
    /// Its version there.
    pub version: String,
    /// What it holds; its label is the task's, or else the default one of the data.
    pub table: Table,
}

impl OpenMlData {
    /// Contexts and labels, under the name `150_covertype`.
    pub fn encode(&self, encoding: &Encoding) -> Result<Supervised, EncodingError> {
        encoding.encode(&format!("{}_{}", self.id, self.name), &self.table)
    }
}

impl OpenMl {
    /// Nothing is asked of the site yet.
    pub fn new(settings: OpenMlSettings) -> Result<Self, OpenMlError> {
        let base = settings.base.trim_end_matches('/').to_owned();
        let host = (base
            .strip_prefix("https://")
            .or(base.strip_prefix("http://")))
        .filter(|host| !host.is_empty() && !host.contains(char::is_whitespace));
        let Some(host) = host else {
            return Err(OpenMlError::BadUrl { url: base });
        };
        // Each site has a folder of its own.
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

    /// The data set of this id.
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
            let problem = format!("the file is of format {format:?}, expected ARFF");
            return Err(OpenMlError::Answer { what, problem });
        }
        let bytes = self.file(id, &need("url")?, field("md5_checksum").as_deref())?;
        let table = arff_table::parse(&what, &decoded(bytes))?;
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

    /// The data set of the task of this id, with the task's label.
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

    /// What the site says of something, under `root`.
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

    /// The data file, sound.
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

/// A word, or a number as a word: the site writes both. None for an empty one.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// A list of names, or one of them, or several with commas between.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().filter_map(text).collect(),
        value => (text(value).iter())
            .flat_map(|names| names.split(','))
            .map(|name| name.trim().to_owned())
            .collect(),
    }
}

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenMlError {
    /// No site.
    #[error("{url:?} is not the address of a site, expected http:// or https:// and a host")]
    BadUrl {
        /// What was given.
        url: String,
    },
    /// No folder to keep files in.
    #[error("there is no cache folder: set EGRET_CACHE or HOME")]
    NoCache,
    /// Offline, and not kept from before.
    #[error("{what} is not in the cache ({}), and offline nothing is fetched: run once without --offline", path.display())]
    Offline {
        /// What is missing.
        what: String,
        /// Where it would be.
        path: PathBuf,
    },
    /// The site did not give it.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// The site gave something else.
    #[error("{what}: the answer cannot be used: {problem}")]
    Answer {
        /// What was asked for.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It could not be kept.
    #[error("cannot write {}: {error}", path.display())]
    Cache {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is no table.
    #[error(transparent)]
    Table(#[from] TableError),
}
