use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Seek as _, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that appears under its name only when it is complete. Until then it has a temporary name beside it. Links are
/// followed; what is no file, such as a device or a pipe, is written to at the end.
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

    /// On disk, and under its name; a file that was there before is replaced.
    pub fn finish(self) -> io::Result<()> {
        place(self.file, &self.path)
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

/// Where a file goes.
enum Destination {
    /// Under this name.
    File(PathBuf),
    /// Into what is there already and is no file.
    Node,
}

fn destination(path: &Path) -> io::Result<Destination> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() || is_stream(path) => {
            Ok(Destination::Node)
        }
        Ok(_) => path.canonicalize().map(Destination::File),
        // A link to what is not there yet.
        Err(_) if path.is_symlink() => {
            let to = fs::read_link(path)?;
            Ok(Destination::File(path.with_file_name(to)))
        }
        Err(_) => Ok(Destination::File(path.to_owned())),
    }
}

/// Whether this names what is open already, which may be a file that others write to as well: the one that standard output
/// goes to.
pub fn is_stream(path: &Path) -> bool {
    let streams = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
    streams.iter().any(|stream| path.starts_with(stream))
}

/// Gives a finished file its name, or writes it to what is there and is no file.
pub(crate) fn place(mut file: NamedTempFile, path: &Path) -> io::Result<()> {
    match destination(path)? {
        Destination::File(path) => {
            file.as_file().sync_all()?;
            file.persist(path).map_err(|failed| failed.error)?;
        }
        Destination::Node => {
            file.flush()?;
            file.rewind()?;
            if path == Path::new("/dev/stdout") {
                // Opened once more it would have a place of its own, and what the next program writes would go over this.
                let mut stdout = io::stdout().lock();
                io::copy(file.as_file_mut(), &mut stdout)?;
                return stdout.flush();
            }
            let mut node = OpenOptions::new().append(true).open(path)?;
            io::copy(file.as_file_mut(), &mut node)?;
        }
    }
    Ok(())
}

/// A temporary file in the folder where it will be, with the permissions of any new file.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let path = match destination(path)? {
        Destination::File(path) => path,
        Destination::Node => std::env::temp_dir().join("output"),
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // The error of a folder that is not there names no temporary file.
    fs::metadata(folder)?;
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

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    use super::*;

    fn written(path: &Path) {
        let mut file = OutputFile::create(path).expect("created");
        file.write_all(b"whole").expect("written");
        file.finish().expect("finished");
    }

    #[test]
    fn links_are_followed_and_stay_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link, dangling) = (
            folder.path().join("file"),
            folder.path().join("link"),
            folder.path().join("dangling"),
        );
        fs::write(&file, "old").expect("written");
        symlink(&file, &link).expect("linked");
        symlink("new", &dangling).expect("linked");
        written(&link);
        written(&dangling);
        assert!(link.is_symlink() && dangling.is_symlink());
        assert_eq!(fs::read(&file).expect("there"), b"whole");
        assert_eq!(
            fs::read(folder.path().join("new")).expect("there"),
            b"whole"
        );
    }

    #[test]
    fn devices_and_pipes_are_written_to() {
        written(Path::new("/dev/null"));
        assert!(
            fs::metadata("/dev/null")
                .expect("there")
                .file_type()
                .is_char_device()
        );
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                fs::File::open(pipe)
                    .and_then(|mut pipe| pipe.read_to_string(&mut text))
                    .expect("read");
                text
            }
        });
        written(&pipe);
        assert_eq!(reader.join().expect("read"), "whole");
        assert!(fs::metadata(&pipe).expect("there").file_type().is_fifo());
    }
}
