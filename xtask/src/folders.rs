use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::Workspace;

/// Checks that folders depend one way: `use crate::` of the code, tests left out, makes no cycle between the folders and
/// files at the top of a crate, nor between folders inside a folder. And code names its parts by their folder, not
/// through the root of the crate, so that what it depends on can be read.
pub fn check(workspace: &Workspace) -> Result<()> {
    let crates = workspace.root.join("crates");
    let mut folders = 0;
    for entry in
        fs::read_dir(&crates).with_context(|| format!("cannot read {}", crates.display()))?
    {
        let source = entry?.path().join("src");
        if source.is_dir() {
            folders += check_crate(&source)?;
        }
    }
    println!("{folders} folders and files at the top of their crates depend one way");
    Ok(())
}

/// How many parts the crate has.
fn check_crate(source: &Path) -> Result<usize> {
    let tree = Tree::read(source)?;
    let parts = tree.parts(&[]);
    for (file, uses) in &tree.uses {
        for (line, path) in uses {
            ensure!(
                parts.contains(&path[0]),
                "{}, line {line}: crate::{} is named through the root of the crate: name its folder",
                source.join(file).display(),
                path[0]
            );
        }
    }
    // From the root down: in each folder, its folders among themselves.
    let mut waiting = vec![Vec::new()];
    while let Some(folder) = waiting.pop() {
        let parts = if folder.is_empty() {
            parts.clone()
        } else {
            tree.folders(&folder)
        };
        if let Some(cycle) = cycle(&tree.edges(&folder, &parts)) {
            bail!(
                "{}: {}",
                source.join(folder.join("/")).display(),
                told(&cycle)
            );
        }
        for part in tree.folders(&folder) {
            let mut inner = folder.clone();
            inner.push(part);
            waiting.push(inner);
        }
    }
    Ok(parts.len())
}

/// The files of a crate, and what each names of it: (line, path).
struct Tree {
    uses: BTreeMap<PathBuf, Vec<(usize, Vec<String>)>>,
}

/// Who uses whom, and one place where it does.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

impl Tree {
    fn read(source: &Path) -> Result<Self> {
        let mut uses = BTreeMap::new();
        let mut waiting = vec![source.to_owned()];
        while let Some(folder) = waiting.pop() {
            let entries = fs::read_dir(&folder)
                .with_context(|| format!("cannot read {}", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                if path.is_dir() {
                    waiting.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let text = fs::read_to_string(&path)
                        .with_context(|| format!("cannot read {}", path.display()))?;
                    let name = path.strip_prefix(source).expect("it is below").to_owned();
                    // The root lists what is public, and uses nothing.
                    if name != Path::new("lib.rs") && name != Path::new("main.rs") {
                        let found = named(&text, &module(&name));
                        uses.insert(name, found);
                    }
                }
            }
        }
        Ok(Self { uses })
    }

    /// Folders and files directly in a folder, by their names as modules.
    fn parts(&self, folder: &[String]) -> BTreeSet<String> {
        let prefix: PathBuf = folder.iter().collect();
        let below = self
            .uses
            .keys()
            .filter_map(|file| file.strip_prefix(&prefix).ok());
        below
            .filter_map(part)
            .filter(|part| part != "mod")
            .collect()
    }

    /// Only the folders.
    fn folders(&self, folder: &[String]) -> BTreeSet<String> {
        let prefix: PathBuf = folder.iter().collect();
        let below = self
            .uses
            .keys()
            .filter_map(|file| file.strip_prefix(&prefix).ok());
        let nested = below.filter(|file| 1 < file.components().count());
        nested.filter_map(part).collect()
    }

    /// Which of these parts of a folder uses which other.
    fn edges(&self, folder: &[String], parts: &BTreeSet<String>) -> Edges {
        let prefix: PathBuf = folder.iter().collect();
        let mut edges = Edges::new();
        for (file, uses) in &self.uses {
            let Ok(below) = file.strip_prefix(&prefix) else {
                continue;
            };
            let Some(user) = part(below).filter(|part| parts.contains(part)) else {
                continue;
            };
            for (line, path) in uses {
                let Some(used) = path.strip_prefix(folder).and_then(|rest| rest.first()) else {
                    continue;
                };
                if *used != user && parts.contains(used) {
                    let place = format!("{}, line {line}", file.display());
                    let of_user = edges.entry(user.clone()).or_default();
                    of_user.entry(used.clone()).or_insert(place);
                }
            }
        }
        edges
    }
}

/// The first step of a path, as a module.
fn part(file: &Path) -> Option<String> {
    let first = Path::new(file.components().next()?.as_os_str());
    Some(first.file_stem()?.to_string_lossy().into_owned())
}

/// A file as a module: a/b/mod.rs and a/b.rs are a::b.
fn module(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    let steps = path
        .components()
        .map(|step| step.as_os_str().to_string_lossy().into_owned());
    steps.filter(|step| step != "mod").collect()
}

/// What the code of a file names of its crate, by `crate::` and by `super::`, with the line: `use` trees are spread out,
/// comments and tests left out.
fn named(text: &str, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut code = String::new();
    let mut lines = Vec::new();
    let mut text_lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = text_lines.next() {
        let next = text_lines.peek().map_or("", |(_, line)| line.trim_start());
        if line.trim() == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{') {
            // Tests stand at the end of a file.
            break;
        }
        let line = line.split("//").next().unwrap_or_default();
        lines.extend(std::iter::repeat_n(number + 1, line.chars().count() + 1));
        code.push_str(line);
        code.push('\n');
    }
    let letters: Vec<char> = code.chars().collect();
    let [from_root, from_above] =
        ["crate::", "super::"].map(|start| start.chars().collect::<Vec<_>>());
    for place in 0..letters.len() {
        let before = place.checked_sub(1).map(|before| letters[before]);
        let boundary =
            before.is_none_or(|letter| !(letter.is_alphanumeric() || "_$:".contains(letter)));
        if !boundary {
            continue;
        }
        let (mut rest, mut path) = (&letters[place..], module.to_vec());
        if let Some(after) = rest.strip_prefix(from_root.as_slice()) {
            (rest, path) = (after, Vec::new());
        } else if rest.starts_with(&from_above) {
            while let Some(after) = rest.strip_prefix(from_above.as_slice()) {
                path.pop();
                rest = after;
            }
        } else {
            continue;
        }
        spread(&mut rest, &mut path, &mut |path| {
            found.push((lines[place], path.to_vec()));
        });
    }
    found
}

/// Reads one path or tree: `a::{b, c::D}` is a::b and a::c::D.
fn spread(rest: &mut &[char], path: &mut Vec<String>, found: &mut dyn FnMut(&[String])) {
    let depth = path.len();
    skip_spaces(rest);
    if let Some(inside) = rest.strip_prefix(&['{']) {
        *rest = inside;
        loop {
            skip_spaces(rest);
            if rest.is_empty() {
                return;
            }
            if let Some(after) = rest.strip_prefix(&['}']) {
                *rest = after;
                return;
            }
            if let Some(after) = rest.strip_prefix(&[',']) {
                *rest = after;
                continue;
            }
            let before = rest.len();
            spread(rest, path, found);
            if rest.len() == before {
                *rest = &rest[1..];
            }
        }
    }
    let end = rest
        .iter()
        .position(|letter| !(letter.is_alphanumeric() || *letter == '_'));
    let word: String = rest[..end.unwrap_or(rest.len())].iter().collect();
    if word.is_empty() {
        return;
    }
    *rest = &rest[word.chars().count()..];
    path.push(word);
    match rest.strip_prefix(&[':', ':']) {
        Some(after) if after.first().is_some_and(|next| *next != '<') => {
            *rest = after;
            spread(rest, path, found);
        }
        // A macro is named through the root by the language.
        Some(_) | None if rest.first() == Some(&'!') => {}
        _ => found(path),
    }
    path.truncate(depth);
}

fn skip_spaces(rest: &mut &[char]) {
    let end = rest.iter().position(|letter| !letter.is_whitespace());
    *rest = &rest[end.unwrap_or(rest.len())..];
}

/// A cycle, if there is one: (user, used, where).
fn cycle(edges: &Edges) -> Option<Vec<(String, String, String)>> {
    let mut done = BTreeSet::new();
    edges
        .keys()
        .find_map(|start| walk(edges, start, &mut Vec::new(), &mut done))
}

fn walk(
    edges: &Edges,
    at: &str,
    path: &mut Vec<(String, String, String)>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<(String, String, String)>> {
    if let Some(first) = path.iter().position(|(user, _, _)| user == at) {
        return Some(path[first..].to_vec());
    }
    if done.contains(at) {
        return None;
    }
    for (used, place) in edges.get(at).into_iter().flatten() {
        path.push((at.to_owned(), used.clone(), place.clone()));
        let found = walk(edges, used, path, done);
        if found.is_some() {
            return found;
        }
        path.pop();
    }
    done.insert(at.to_owned());
    None
}

fn told(cycle: &[(String, String, String)]) -> String {
    let steps: Vec<String> = cycle
        .iter()
        .map(|(user, used, place)| format!("{user} uses {used} ({place})"))
        .collect();
    format!(
        "folders use each other in a circle: {}. Move what is shared to the one above.",
        steps.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> PathBuf {
        let names: String = files
            .iter()
            .map(|(name, _)| name.replace('/', "-"))
            .collect();
        let folder =
            std::env::temp_dir().join(format!("xtask-folders-{}-{names}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        folder
    }

    fn checked(files: &[(&str, &str)]) -> Result<usize, String> {
        let folder = tree(files);
        let found = check_crate(&folder).map_err(|error| error.to_string());
        fs::remove_dir_all(folder).expect("removed");
        found
    }

    #[test]
    fn paths_are_read_from_trees_and_expressions() {
        let text = "\
use crate::a::{B, c::{self, D}}; use super::o::P;
pub use crate::{e::F, g};
// use crate::comment::No;
fn h() -> crate::i::J { crate::k::l::<u8>(m!($crate::no)) }
#[cfg(test)]
mod tests {
    use crate::test::No;
}
";
        let paths: Vec<(usize, String)> = named(text, &module(Path::new("m/n/mod.rs")))
            .into_iter()
            .map(|(line, path)| (line, path.join("::")))
            .collect();
        let expected = [
            (1, "a::B"),
            (1, "a::c::self"),
            (1, "a::c::D"),
            (1, "m::o::P"),
            (2, "e::F"),
            (2, "g"),
            (4, "i::J"),
            (4, "k::l"),
        ];
        let expected: Vec<(usize, String)> = expected
            .map(|(line, path)| (line, path.to_owned()))
            .to_vec();
        assert_eq!(paths, expected);
    }

    #[test]
    fn one_way_passes() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", ""),
            ("b/mod.rs", "mod x; use crate::a::A;"),
            ("b/x.rs", "use crate::b::Y;"),
            (
                "c.rs",
                "use crate::b::X; use crate::a::A;\n#[cfg(test)]\nmod tests {\n use crate::d::No;\n}",
            ),
        ];
        assert_eq!(checked(&files), Ok(3));
    }

    #[test]
    fn a_circle_is_found_and_told() {
        let error = checked(&[
            ("a/mod.rs", ""),
            ("a/one.rs", "\nuse crate::c::C;"),
            ("b.rs", "use crate::a::A;"),
            ("c.rs", "fn f() { crate::b::f() }"),
        ])
        .expect_err("a, c, b, a");
        for part in [
            "a uses c (a/one.rs, line 2)",
            "c uses b (c.rs, line 1)",
            "b uses a (b.rs, line 1)",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn folders_inside_a_folder_count_too() {
        let error = checked(&[
            ("a/mod.rs", "use crate::a::x::X; use crate::a::y::Y;"),
            ("a/x/mod.rs", "use crate::a::y::Y;"),
            ("a/y/mod.rs", "use crate::a::{T, x::X};"),
        ])
        .expect_err("x, y, x");
        assert!(error.contains("x uses y"), "{error}");
    }

    #[test]
    fn what_is_above_is_no_way_round() {
        let error = checked(&[
            ("a/mod.rs", ""),
            ("a/x/mod.rs", "use super::y::Y;"),
            ("a/y/mod.rs", "fn f() { super::super::a::x::f() }"),
        ])
        .expect_err("x, y, x");
        assert!(error.contains("x uses y"), "{error}");
    }

    #[test]
    fn the_root_is_no_way_round() {
        let error = checked(&[("a.rs", "use crate::Thing;")]).expect_err("through the root");
        assert!(
            error.contains("crate::Thing is named through the root"),
            "{error}"
        );
    }
}
