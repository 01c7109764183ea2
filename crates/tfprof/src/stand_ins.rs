//! Files that stand for other files: pointers of git-LFS, and messages that TensorFlow split into chunks. We cannot read
//! them, but can say what they are.

/// The first bytes of a file that are enough to tell.
pub const HEAD: usize = 256;

const LFS: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The first bytes of a file of Riegeli records, which TensorFlow splits large messages into.
const RIEGELI: &[u8] = &[0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f];

/// The kind of stand-in that a file is; `None` if it is not one.
pub fn name(head: &[u8]) -> Option<String> {
    if head.starts_with(LFS) {
        let text = String::from_utf8_lossy(head);
        let size = text.lines().find_map(|line| line.strip_prefix("size ")?.trim().parse::<u64>().ok());
        let size = size.map(|size| format!(" of {size} bytes")).unwrap_or_default();
        return Some(format!("this is a git-LFS pointer to a file{size}, not the file; fetch it with `git lfs pull`"));
    }
    head.starts_with(RIEGELI).then(|| {
        "this is a message that TensorFlow split into chunks (.cpb); load it with TensorFlow and save it as one file"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_content_have_names() {
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        assert!(name(pointer.as_bytes()).is_some_and(|text| text.contains("git-LFS pointer to a file of 12345 bytes")));
        assert!(name(&pointer.as_bytes()[..45]).is_some_and(|text| text.contains("pointer to a file, not")));
        assert!(name(&[RIEGELI, &[0; 8]].concat()).is_some_and(|text| text.contains("split into chunks")));
        assert_eq!((name(b"version 1"), name(b"")), (None, None));
    }
}
