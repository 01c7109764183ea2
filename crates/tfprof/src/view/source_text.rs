//! The text of source lines on disk, for profiles that only have their numbers.
//!
//! A profile may come from anywhere and names any file, so only regular Python files of a bounded size are read, and no
//! control character of them reaches an output.

use crate::hash::UntrustedMap;
use std::fs::{self, File};
use std::io::Read;

/// Size limits in bytes: of a file, and of all files of a view.
const LARGEST: u64 = 4 << 20;
const ALL: u64 = 64 << 20;

/// The lines of files, read once.
#[derive(Debug, Default)]
pub struct SourceText {
    files: UntrustedMap<String, Vec<String>>,
    read: u64,
}

impl SourceText {
    /// A line of a file, counted from 1; `None` if it cannot be read.
    pub fn line(&mut self, file: &str, number: i32) -> Option<&str> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        if !self.files.contains_key(file) {
            let lines = self.read(file).unwrap_or_default();
            self.files.insert(file.to_owned(), lines);
        }
        self.files.get(file)?.get(at).map(|line| line.trim()).filter(|line| !line.is_empty())
    }

    fn read(&mut self, file: &str) -> Option<Vec<String>> {
        // A pipe is not even opened, which might wait for a writer.
        let size = fs::metadata(file).ok().filter(fs::Metadata::is_file)?.len();
        if file.strip_suffix(".py").is_none() || size > LARGEST || self.read + size > ALL {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(file).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
        self.read += bytes.len() as u64;
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        Some(String::from_utf8_lossy(&bytes).lines().map(|line| line.chars().map(plain).collect()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_regular_python_files_are_read() {
        let dir = std::env::temp_dir().join(format!("tfprof-source-text-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let file = dir.join(name);
            fs::write(&file, bytes).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let code = write("model.py", b"import x\n\n  y = \xff\x1b[31m(x)\r\n");
        let secret = write("secret", b"password\n");
        let large = write("large.py", &vec![b'\n'; LARGEST as usize + 1]);
        let mut text = SourceText::default();
        assert_eq!(text.line(&code, 1), Some("import x"));
        assert_eq!(text.line(&code, 2), None);
        assert_eq!(text.line(&code, 3), Some("y = \u{fffd} [31m(x)"));
        for number in [-1, 0, 4, i32::MAX] {
            assert_eq!(text.line(&code, number), None);
        }
        for file in [&secret, &large, "/dev/zero", dir.to_str().unwrap()] {
            assert_eq!(text.line(file, 1), None, "{file}");
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
