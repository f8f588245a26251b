//! Files that are written whole or not at all.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Writes a file completely or not at all: under a temporary name first, then renamed. Links are followed; what is no file,
/// such as a device or a pipe, is written to.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    write_all(&[(path, bytes)])
}

/// Makes a folder and its parents, unless it exists.
pub fn make_folder(path: &Path) -> Result<(), WriteError> {
    std::fs::create_dir_all(path).map_err(|error| WriteError::new(path, error))
}

/// Writes files that belong together: none is renamed into place before all are written.
pub fn write_all(files: &[(&Path, &[u8])]) -> Result<(), WriteError> {
    let mut written = Vec::new();
    for &(path, bytes) in files {
        if is_node(path) {
            let through = || match path == Path::new("/dev/stdout") {
                true => io::stdout().write_all(bytes),
                false => OpenOptions::new().append(true).open(path)?.write_all(bytes),
            };
            through().map_err(|cause| WriteError::new(path, cause))?;
            continue;
        }
        let target = target(path);
        let path = target.as_path();
        let beside = beside(path, bytes).map_err(|cause| WriteError::new(path, cause))?;
        if path.is_dir() {
            let cause = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(WriteError::new(path, cause));
        }
        written.push((path.to_owned(), beside));
    }
    for (path, file) in written {
        file.persist(&path)
            .map_err(|failed| WriteError::new(&path, failed.error))?;
    }
    Ok(())
}

/// What a link leads to, also where that is not there yet; any other path itself.
fn target(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| Ok::<_, io::Error>(path.with_file_name(path.read_link()?)))
        .unwrap_or_else(|_| path.to_owned())
}

/// Whether there is something that is no file: a device, or a pipe.
fn is_node(path: &Path) -> bool {
    // What is open already may be a file, the one that standard output goes to.
    let streams = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
    let is_stream = streams.iter().any(|stream| path.starts_with(stream));
    let node = |found: std::fs::Metadata| !found.is_file() && !found.is_dir() || is_stream;
    std::fs::metadata(path).is_ok_and(node)
}

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write {}: name a place in a folder that is there and can be written",
    path.display()
)]
pub struct WriteError {
    path: PathBuf,
    #[source]
    cause: io::Error,
}

impl WriteError {
    fn new(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        Self { path, cause }
    }
}

fn beside(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // The error of a folder that is not there names no temporary file.
    std::fs::metadata(folder)?;
    let mut file = readable(&mut Builder::new()).tempfile_in(folder)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// As any new file, where temporary ones would be for one's own eyes.
#[cfg(unix)]
fn readable<'a, 'b>(builder: &'a mut Builder<'b, 'b>) -> &'a mut Builder<'b, 'b> {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(std::fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn readable<'a, 'b>(builder: &'a mut Builder<'b, 'b>) -> &'a mut Builder<'b, 'b> {
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_absent() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        write(&path, b"whole").expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), b"whole");
        let error = write(&folder.path().join("no/such/a.txt"), b"x").expect_err("no folder");
        assert!(!error.cause.to_string().contains("tmp"), "{error:?}");
        let names = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(names, 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_stay() {
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&file, b"old").expect("written");
        symlink(&file, &link).expect("linked");
        write(&link, b"new").expect("written");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).expect("there"), b"new");
        let dangling = folder.path().join("dangling");
        symlink("later", &dangling).expect("linked");
        write(&dangling, b"first").expect("written");
        assert!(dangling.is_symlink());
        assert_eq!(
            std::fs::read(folder.path().join("later")).expect("there"),
            b"first"
        );
        write(Path::new("/dev/null"), b"gone").expect("written");
        let null = std::fs::metadata("/dev/null").expect("there");
        assert!(null.file_type().is_char_device());
    }

    #[test]
    fn files_that_belong_together_are_all_there_or_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("a"), folder.path().join("no/such/b"));
        assert!(write_all(&[(&one, b"1"), (&other, b"2")]).is_err());
        assert!(write_all(&[(&one, b"1"), (folder.path(), b"2")]).is_err());
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            0
        );
    }
}
