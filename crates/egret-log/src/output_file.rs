use std::fs::Permissions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that appears under its name only when it is complete. Until then it has a temporary name beside it.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl OutputFile {
    /// Starts a file. If it is dropped before [`finish`](Self::finish), it is deleted.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = beside(&path)?;
        Ok(Self { path, file })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// On disk, and under its name; what was there before is replaced.
    pub fn finish(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file
            .persist(&self.path)
            .map_err(|failed| failed.error)?;
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A temporary file in the same folder, with the permissions of any new file.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".egret-").suffix(".partial");
    if let Some(rights) = rights() {
        builder.permissions(rights);
    }
    builder.tempfile_in(folder)
}

#[cfg(unix)]
fn rights() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    // The system takes the user's mask off it.
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn rights() -> Option<Permissions> {
    None
}
