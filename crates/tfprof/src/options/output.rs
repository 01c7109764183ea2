//! `-output`: where an answer goes, and in which form. A form is known here by its word alone; `render::FORMS` lists them.

/// Where an answer goes, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// [`SCREEN`](Output::SCREEN), [`NOWHERE`](Output::NOWHERE), or the word of a form.
    pub form: String,
    /// Empty for the screen and for nowhere.
    pub outfile: String,
}

impl Default for Output {
    fn default() -> Self {
        Output { form: Output::SCREEN.to_owned(), outfile: String::new() }
    }
}

impl Output {
    pub const SCREEN: &str = "stdout";
    pub const NOWHERE: &str = "none";
    /// Text in a file: what a screen shows, without its colours.
    pub const TEXT: &str = "file";

    pub fn to_screen(&self) -> bool {
        self.form == Output::SCREEN
    }

    pub fn to_nowhere(&self) -> bool {
        self.form == Output::NOWHERE
    }

    /// Whether the target is a directory, for several pages.
    pub fn is_directory(&self) -> bool {
        self.outfile.ends_with(['/', '\\'])
    }

    /// Whether an answer in the form of this word goes to a file.
    pub fn takes_file(word: &str) -> bool {
        !matches!(word, Output::SCREEN | Output::NOWHERE)
    }

    /// The word of the form in `form` or `form:outfile=F`; nothing means the screen.
    pub fn word_of(text: &str) -> &str {
        match text.split_once(':').map_or(text, |(word, _)| word) {
            "" => Output::SCREEN,
            word => word,
        }
    }

    /// `form` or `form:outfile=F`; nothing means the screen. Any word may be a form.
    // As the original: a file that was named before stays until another one is.
    pub(super) fn parse(text: &str, before: &str) -> Result<Output, String> {
        let (word, pairs) = (Output::word_of(text), text.split_once(':').map_or("", |(_, pairs)| pairs));
        let takes_file = Output::takes_file(word);
        let mut outfile = if takes_file { before.to_owned() } else { String::new() };
        for pair in pairs.split(',').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("outfile", file)) if !file.is_empty() && takes_file => file.clone_into(&mut outfile),
                Some((key, file)) if !file.is_empty() && key != "outfile" => {
                    return Err(format!("unknown key `{key}` for the form `{word}`; expected {word}:outfile=FILE"));
                }
                Some(_) if !takes_file => return Err(format!("the form `{word}` takes no file")),
                _ => return Err(format!("expected {word}:outfile=FILE, found `{text}`")),
            }
        }
        if takes_file && outfile.is_empty() {
            return Err(format!("the form `{word}` needs a file: {word}:outfile=FILE (- is standard output)"));
        }
        Ok(Output { form: word.to_owned(), outfile })
    }

    pub(super) fn show(&self) -> String {
        let file = if self.outfile.is_empty() { String::new() } else { format!("outfile={}", self.outfile) };
        format!("{}:{file}", self.form)
    }
}
