use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Files on disk, each with the MD5 of its bytes in `<file>.md5`.
///
/// Both are written under a temporary name, and renamed when they are complete. A file that does not match its MD5 counts as
/// missing.
#[derive(Debug, Clone)]
pub(crate) struct OpenMlCache {
    dir: PathBuf,
}

impl OpenMlCache {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(crate) fn path(&self, key: &str) -> PathBuf {
        self.dir.join(key)
    }

    /// The bytes of a file, if it exists and matches its MD5.
    pub(crate) fn read(&self, key: &str) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.path(key)).ok()?;
        let sum = std::fs::read_to_string(beside(&self.path(key))).ok()?;
        (sum.trim() == md5_of(&bytes)).then_some(bytes)
    }

    pub(crate) fn write(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().expect("a key lies below the folder");
        std::fs::create_dir_all(folder)?;
        write_whole(folder, &path, bytes)?;
        write_whole(folder, &beside(&path), md5_of(bytes).as_bytes())
    }
}

/// The MD5 in hexadecimal digits.
pub(crate) fn md5_of(bytes: &[u8]) -> String {
    format!("{:x}", md5::compute(bytes))
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".md5");
    PathBuf::from(name)
}

fn write_whole(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The default folder of the cache: `$EGRET_CACHE`, else `$XDG_CACHE_HOME/egret`, else `~/.cache/egret`. `None` if none of
/// these variables is set.
pub fn default_cache_dir() -> Option<PathBuf> {
    cache_dir(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

fn cache_dir(get: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let own = get("EGRET_CACHE").map(PathBuf::from);
    let shared = || get("XDG_CACHE_HOME").map(|dir| PathBuf::from(dir).join("egret"));
    let home = || get("HOME").map(|dir| PathBuf::from(dir).join(".cache/egret"));
    own.or_else(shared).or_else(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_unless_it_is_damaged() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = OpenMlCache::new(folder.path().join("new"));
        assert_eq!(cache.read("data/1.json"), None);
        cache.write("data/1.json", b"{}").expect("written");
        assert_eq!(cache.read("data/1.json"), Some(b"{}".to_vec()));
        std::fs::write(cache.path("data/1.json"), b"{").expect("damaged");
        assert_eq!(cache.read("data/1.json"), None);
        cache.write("data/1.json", b"[]").expect("written again");
        assert_eq!(cache.read("data/1.json"), Some(b"[]".to_vec()));
        std::fs::remove_file(beside(&cache.path("data/1.json"))).expect("gone");
        assert_eq!(cache.read("data/1.json"), None);
        // Nothing else is left behind.
        let left = std::fs::read_dir(folder.path().join("new/data")).expect("a folder");
        assert_eq!(left.count(), 1);
    }

    #[test]
    fn the_folder_is_the_first_that_is_set() {
        let dir = |set: &[(&str, &str)]| {
            cache_dir(|name| {
                let found = set.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| value.into())
            })
        };
        let all = [
            ("EGRET_CACHE", "/a"),
            ("XDG_CACHE_HOME", "/b"),
            ("HOME", "/c"),
        ];
        assert_eq!(dir(&all), Some(PathBuf::from("/a")));
        assert_eq!(dir(&all[1..]), Some(PathBuf::from("/b/egret")));
        assert_eq!(dir(&all[2..]), Some(PathBuf::from("/c/.cache/egret")));
        assert_eq!(dir(&[]), None);
    }
}
